// Builds the command tree and runs one command, from arguments to exit code.
import type { Command } from 'commander';
import { CommanderError } from 'commander';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../text/escape.ts';
import { PetstoreCommand, Program } from './command.ts';
import { api } from './commands/api.ts';
import { login } from './commands/auth/login.ts';
import { logout, status, switchTo } from './commands/auth/profiles.ts';
import { create } from './commands/categories/create.ts';
import { get } from './commands/categories/get.ts';
import { importCommand } from './commands/categories/import.ts';
import { list } from './commands/categories/list.ts';
import { completion, suggestions } from './commands/completion.ts';
import { doctor } from './commands/doctor.ts';
import { quota } from './commands/quota.ts';
import { sandbox } from './commands/sandbox/serve.ts';
import type { Context } from './context.ts';
import type { TypedOptions } from './global-options.ts';
import { addGlobalOptions, wantsJson } from './global-options.ts';
import type { ParseError } from './usage-error.ts';

/** @returns the exit code (docs/cli.md, exit codes); never rejects */
export async function run(context: Context): Promise<number> {
  const program = createProgram(context);
  try {
    await runLine(program);
    return 0;
  } catch (error) {
    const { reportError } = await import('./report-error.ts');
    const { usageError } = await import('./usage-error.ts');
    const options = program.opts<TypedOptions>();
    const shown = error instanceof CommanderError ? usageError(error as ParseError) : error;
    return await reportError(shown, context, { ...options, json: wantsJson(options) });
  } finally {
    // A failed cleanup does not change the exit code.
    for (const cleanup of context.cleanups.reverse()) await cleanup().catch(() => undefined);
  }
}

/** @throws CommanderError or PetstoreError */
async function runLine(program: Program): Promise<void> {
  const { args, version, stdout } = program.context;
  // The root command knows only the global options; commander finds them anywhere in the line.
  const { operands, unknown } = program.parseOptions([...args]);
  checkEncoding(args);
  const options = program.opts<TypedOptions>();
  const json = wantsJson(options);
  if (options.version) return stdout.write(`${json ? JSON.stringify({ version }) : version}\n`);
  // `-yh` is two switches.
  const isHelp = operands[0] === 'help' || unknown.some((word) => /^(?:--help|-\w?h)$/.test(word));
  if (isHelp || args.length === 0) {
    const { help } = await import('./commands/help.ts');
    return stdout.write(await help(program, operands, options));
  }
  await program.parseAsync(args, { from: 'user' });
}

// Node replaces invalid UTF-8 with U+FFFD, which would be sent as part of a name.
function checkEncoding(args: readonly string[]): void {
  const broken = args.find((arg) => arg.includes('\ufffd'));
  if (broken === undefined) return;
  const message = `argument "${escapeControls(broken.slice(0, 40))}" is not valid UTF-8`;
  throw new PetstoreError('usage', message, { hint: 'check the encoding of the terminal or script' });
}

const categories = (): PetstoreCommand =>
  new PetstoreCommand('categories')
    .description('list, get, create and import pet categories')
    .sections({
      examples: [
        'petstore categories list --search cat',
        'petstore categories create --name dog --description "Canis familiaris"',
        'petstore categories import species.csv',
      ],
    })
    .addCommand(list())
    .addCommand(get())
    .addCommand(create())
    .addCommand(importCommand());

const auth = (): PetstoreCommand =>
  new PetstoreCommand('auth')
    .description('log in, log out and switch between profiles')
    .sections({
      examples: ['petstore auth login --url https://HOST/v1', 'petstore auth status'],
    })
    .addCommand(login())
    .addCommand(logout())
    .addCommand(status())
    .addCommand(switchTo());

/** @returns the root command; its `parseAsync` rejects with CommanderError or PetstoreError */
export function createProgram(context: Context): Program {
  const program = new Program(context);
  addGlobalOptions(program);
  program
    .optionsGroup('Options:')
    .description('Client for the pet store API: list, get, create and import pet categories')
    .option('-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .showSuggestionAfterError(false)
    // `run` prints help and errors.
    .configureOutput({ writeOut: () => undefined, writeErr: () => undefined })
    .sections({
      notes: `petstore waits when the quota is exhausted, shares it with other petstore processes, and never resends
a create that may have succeeded. Results go to stdout; everything else goes to stderr.
For the options and examples of a command, run \`petstore COMMAND --help\`. For exit codes and environment
variables, run \`petstore help exit-codes\` or \`petstore help environment\`.`,
      examples: [
        'petstore categories list -p sandbox  # without an account',
        'petstore auth login --url https://HOST/v1',
        'petstore categories create --help',
      ],
    })
    .commandsGroup('Categories:')
    .addCommand(categories())
    .addCommand(api())
    .commandsGroup('Keys and limits:')
    .addCommand(auth())
    .addCommand(quota())
    .addCommand(doctor())
    .commandsGroup('Testing and scripting:')
    .addCommand(sandbox())
    .addCommand(completion())
    .addCommand(suggestions(), { hidden: true })
    .commandsGroup('Help:')
    .helpCommand('help [topic]', 'show help for a command or topic');
  inherit(program);
  return program;
}

// Commands added by `addCommand` inherit no settings. A thrown error carries the command that was being parsed.
function inherit(command: Command): void {
  command.exitOverride((error) => {
    throw Object.assign(error, { command });
  });
  for (const child of command.commands) inherit(child.copyInheritedSettings(command).helpCommand(false));
}
