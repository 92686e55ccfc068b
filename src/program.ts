// Builds the command tree and runs one command, from arguments to exit code.
import type { Command } from 'commander';
import { CommanderError, Option } from 'commander';
import { invalidValue, wholeNumber } from './check-options.ts';
import { LONGEST_TIMER_MS } from './clock.ts';
import { PetstoreCommand, Program } from './command.ts';
import { api } from './commands/api.ts';
import { login } from './commands/auth/login.ts';
import { logout, status, switchTo } from './commands/auth/profiles.ts';
import { create } from './commands/categories/create.ts';
import { importCommand } from './commands/categories/import.ts';
import { list } from './commands/categories/list.ts';
import { completion, suggestions } from './commands/completion.ts';
import { doctor } from './commands/doctor.ts';
import { quota } from './commands/quota.ts';
import { sandbox } from './commands/sandbox/serve.ts';
import type { Context } from './context.ts';
import { PetstoreError } from './errors.ts';
import { escapeControls } from './escape.ts';
import { parseDuration } from './format.ts';
import { FORMATS, GLOBAL_OPTIONS } from './reference.ts';
import type { ParseError } from './usage-error.ts';

/** @returns the exit code (docs/cli.md, exit codes); never rejects */
export async function run(context: Context): Promise<number> {
  const { args, cleanups } = context;
  const flags = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  const isJson = (flag: string, at: number): boolean =>
    flag === '--json' || flag === '--format=json' || (flag === '--format' && flags[at + 1] === 'json');
  const json = flags.some(isJson);
  const program = createProgram(context);
  try {
    checkEncoding(args);
    await parseAndRun(program, json);
    return 0;
  } catch (error) {
    const { profile, verbose } = program.opts();
    const color = !flags.includes('--no-color');
    const { usedTarget: target, options: used } = program.session ?? {};
    const options = { profile, json: used?.json ?? json, verbose, color, target };
    const { reportError } = await import('./report-error.ts');
    if (!(error instanceof CommanderError)) return await reportError(error, context, options);
    const { usageError } = await import('./usage-error.ts');
    return await reportError(usageError(error as ParseError, context, profile), context, options);
  } finally {
    // A failed cleanup does not change the exit code.
    for (const cleanup of cleanups.reverse()) await cleanup().catch(() => undefined);
  }
}

async function parseAndRun(program: Program, json: boolean): Promise<void> {
  const { context } = program;
  const { args, version, stdout } = context;
  const isHelp = args.length === 0 || args[0] === 'help';
  try {
    await program.parseAsync(isHelp ? [...args.slice(1), '--help'] : args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
    const { code, command } = error as ParseError;
    if (code === 'commander.version') return stdout.write(`${json ? JSON.stringify({ version }) : version}\n`);
    const [word = ''] = command.args;
    // Commander shows the help of a group for an unknown command in it.
    if (command.commands.length > 0 && /^[^-]/.test(word)) {
      command.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' });
    }
    const { describeCommands, helpText } = await import('./commands/help.ts');
    await stdout.write(json ? `${JSON.stringify(describeCommands(command))}\n` : await helpText(command, context));
  }
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
    .description('list, create and import the categories that classify pets')
    .sections({
      examples: [
        'petstore categories list --search cat',
        'petstore categories create --name dog --description "Canis familiaris"',
        'petstore categories import species.csv',
      ],
    })
    .addCommand(list())
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
    .description('Command-line client for the pet store API: list, create and import pet categories.')
    .version(context.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .showSuggestionAfterError(false)
    // `run` prints help and errors.
    .configureOutput({ writeOut: () => undefined, writeErr: () => undefined })
    .sections({
      notes: `petstore waits when the quota is exhausted, shares it with other petstore processes, and never resends
a create that may have succeeded. Results go to stdout; everything else goes to stderr.`,
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
    .helpCommand('help [command...]', 'show help for a command, for example categories create');
  inherit(program);
  return program;
}

// A variable sets an option that is not typed; commander's own `env` reads process.env, and takes `0` for a set switch.
function addGlobalOptions(program: Program): void {
  const { env } = program.context;
  program.optionsGroup('Global options:');
  for (const { flags, description, variable = '', fallback } of GLOBAL_OPTIONS) {
    const option = new Option(flags, description);
    const name = option.attributeName();
    const parse = PARSERS[name];
    if (parse && fallback !== undefined) {
      option.argParser((text) => parse(text, `--${option.name()}`)).default(parse(fallback, variable), fallback);
    }
    program.addOption(option).hook('preAction', () => {
      if (!parse || !env[variable] || program.getOptionValueSource(name) === 'cli') return;
      program.setOptionValueWithSource(name, parse(env[variable], variable), 'env');
    });
  }
  program
    // Accepted before the command too, but listed only in the help of a command with several formats.
    .addOption(new Option('--format <format>', 'output format').choices(FORMATS).hideHelp())
    .hook('preAction', () => {
      const { json, format = json ? 'json' : 'table' } = program.opts();
      if (json && format !== 'json') {
        throw new PetstoreError('usage', `--json cannot be used with --format ${format}`, { hint: 'use one of them' });
      }
      program.setOptionValue('format', format).setOptionValue('json', format === 'json');
    });
}

type Parser = (text: string, from: string) => unknown;

/** The parsers of options that a variable may set; `from` is the option or the variable, for the error. */
const PARSERS: Readonly<Record<string, Parser>> = {
  maxWait: (text, from) => duration(text, from, 0),
  // With a timeout of 0 the outcome of a create would always be unknown.
  timeout: (text, from) => duration(text, from, 1),
  maxRetries: (text, from) => wholeNumber(text, from, 0, 999),
  quiet: (text) => !/^(?:0|false)$/.test(text),
};

function duration(text: string, from: string, least: number): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw invalidValue(text, from, 'use a duration such as 500ms, 30s, 2m or 1h', 'duration');
  if (ms >= least) return Math.min(ms, LONGEST_TIMER_MS);
  throw new PetstoreError('usage', `${from} must be greater than 0`, { hint: 'use a value such as 30s' });
}

// Commands added by `addCommand` inherit no settings. A thrown error carries the command that was being parsed.
function inherit(command: Command): void {
  command.exitOverride((error) => {
    throw Object.assign(error, { command });
  });
  for (const child of command.commands) {
    inherit(child.copyInheritedSettings(command).helpCommand(false));
  }
}
