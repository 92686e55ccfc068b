// Builds the command tree and runs one command, from arguments to exit code.
import type { Command } from 'commander';
import { CommanderError } from 'commander';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../text/escape.ts';
import { PetstoreCommand, Program, rootOf } from './command.ts';
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
import { addGlobalOptions } from './global-options.ts';
import { reportError } from './report-error.ts';
import type { ParseError } from './usage-error.ts';

/** @returns the exit code (docs/cli.md, exit codes); never rejects */
export async function run(context: Context): Promise<number> {
  // Even a message about a mistyped command never shows the key.
  context.redactor.add(context.env['PETSTORE_API_KEY'] ?? '');
  const program = createProgram(context, context.args);
  try {
    await program.parseAsync(context.args, { from: 'user' }).catch((error: unknown) => printOrThrow(program, error));
    return 0;
  } catch (error) {
    return await reportError(error, context, program.opts());
  } finally {
    // A failed cleanup does not change the exit code.
    for (const cleanup of context.cleanups.reverse()) await cleanup().catch(() => undefined);
  }
}

/** Prints the version or the help for which commander stopped. @throws PetstoreError `usage`; other errors unchanged */
async function printOrThrow(program: Program, error: unknown): Promise<void> {
  if (!(error instanceof CommanderError)) throw error;
  const { printHelp, printVersion } = await import('./commands/help.ts');
  const isHelp = error.code.startsWith('commander.help');
  if (isHelp && program.opts<TypedOptions>().version) return printVersion(program);
  // Help and usage errors name other commands.
  addCommands(program, Object.keys(COMMANDS));
  const { usageError } = await import('./usage-error.ts');
  const mistake = usageError(error as ParseError);
  if (mistake) throw mistake;
  return printHelp((error as ParseError).command);
}

// Node replaces invalid UTF-8 with U+FFFD, which would be sent as part of a name.
function checkEncoding({ args }: Context): void {
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
    .sections({ examples: ['petstore auth login --url https://HOST/v1', 'petstore auth status'] })
    .addCommand(login())
    .addCommand(logout())
    .addCommand(status())
    .addCommand(switchTo());

const help = (): PetstoreCommand =>
  new PetstoreCommand('help')
    .description('show help for a command or topic')
    .argument('[words...]', 'a command, exit-codes or environment')
    .sections({
      output: 'the help; with --json the same facts as one document.',
      exitCodes: ['usage'],
      examples: ['petstore help categories list', 'petstore help exit-codes'],
    })
    .action(async function (this: Command, words: readonly string[]) {
      const { printTopic } = await import('./commands/help.ts');
      await printTopic(rootOf(this), words);
    });

const COMMANDS: Readonly<Record<string, readonly [helpGroup: string, make: () => Command]>> = {
  categories: ['Categories:', categories],
  auth: ['Keys and limits:', auth],
  quota: ['Keys and limits:', quota],
  doctor: ['Keys and limits:', doctor],
  sandbox: ['Testing and scripting:', sandbox],
  completion: ['Testing and scripting:', completion],
  __complete: ['', suggestions],
  api: ['Other:', api],
  help: ['Other:', help],
};

/**
 * @param words only the commands that they name are built, because building all of them delays the start by a few
 *   milliseconds; all if they name none
 * @returns the root command; its `parseAsync` rejects with CommanderError or PetstoreError
 */
export function createProgram(context: Context, words: readonly string[] = []): Program {
  const program = new Program(context);
  program
    .optionsGroup('Options:')
    .description('Client for the pet store API: list, get, create and import pet categories')
    .option('-V, --version', 'print the version')
    .hook('preSubcommand', () => {
      if (program.opts<TypedOptions>().version) program.help();
    })
    .hook('preAction', () => checkEncoding(context))
    .helpOption('-h, --help', 'show help')
    // A word after an option that needs a value is its value, even if it is a global option.
    .enablePositionalOptions()
    .showSuggestionAfterError(false)
    // `run` prints help and errors.
    .configureOutput({ writeOut: () => undefined, writeErr: () => undefined })
    .sections({
      notes: `petstore waits when the quota is exhausted. By default, the processes of one user on one machine share the quota. An
import checks the list before it repeats a create that may have succeeded. Results go to stdout; everything else goes to
stderr. A duration is, for example, 500ms, 30s or 1m30s. For more, run \`petstore COMMAND --help\`, \`petstore help exit-codes\` or
\`petstore help environment\`.`,
      examples: [
        'petstore categories list -p sandbox  # without an account',
        'petstore auth login --url https://HOST/v1',
        'petstore categories import species.csv',
      ],
    });
  configure(program, program);
  const names = Object.keys(COMMANDS);
  const typed = names.filter((name) => words.includes(name));
  // Help and completion list other commands, in this order.
  const needsAll = typed.length === 0 || ['help', '--help', '-h', '__complete'].some((word) => words.includes(word));
  addCommands(program, needsAll ? names : typed);
  return program;
}

/** Adds the commands of these names that the program lacks. */
function addCommands(program: Program, names: readonly string[]): void {
  for (const [name, [helpGroup, make]] of Object.entries(COMMANDS)) {
    if (!names.includes(name) || program.commands.some((command) => command.name() === name)) continue;
    const command = make().helpGroup(helpGroup).copyInheritedSettings(program);
    program.addCommand(command, { hidden: name === '__complete' });
    configure(command, program);
  }
}

// Commands added by `addCommand` inherit no settings. A thrown error carries the command that was being parsed.
function configure(command: Command, root: Program): void {
  command.helpCommand(false).exitOverride((error) => {
    throw Object.assign(error, { command });
  });
  addGlobalOptions(command, root);
  for (const child of command.commands) configure(child.copyInheritedSettings(command), root);
}
