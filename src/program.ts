// Builds the command tree and runs one command, from arguments to exit code.
import type { Command } from 'commander';
import { CommanderError, Option } from 'commander';
import { invalidValue, wholeNumber } from './check-options.ts';
import { LONGEST_TIMER_MS } from './clock.ts';
import { PetstoreCommand, Program } from './command.ts';
import type { CommandLine } from './command-line.ts';
import { readCommandLine } from './command-line.ts';
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
import { PetstoreError } from './errors.ts';
import { escapeControls } from './escape.ts';
import { parseDuration } from './format.ts';
import { FORMATS, GLOBAL_OPTIONS } from './reference.ts';

/** @returns the exit code (docs/cli.md, exit codes); never rejects */
export async function run(context: Context): Promise<number> {
  const program = createProgram(context);
  const line = readCommandLine(program, context.args);
  try {
    checkEncoding(context.args);
    await runLine(program, line);
    return 0;
  } catch (error) {
    const { reportError } = await import('./report-error.ts');
    const shown = error instanceof CommanderError ? (await import('./usage-error.ts')).usageError(error, line) : error;
    const { options } = line;
    return await reportError(shown, context, {
      // `auth login NAME` is `--profile NAME`.
      profile: program.opts()['profile'],
      json: isJson(line),
      verbose: options.has('--verbose'),
      color: !options.has('--no-color'),
    });
  } finally {
    // A failed cleanup does not change the exit code.
    for (const cleanup of context.cleanups.reverse()) await cleanup().catch(() => undefined);
  }
}

function isJson({ options }: CommandLine): boolean {
  return options.has('--json') || options.get('--format') === 'json';
}

/** @throws CommanderError or PetstoreError */
export async function runLine(program: Program, line: CommandLine): Promise<void> {
  const { args, version, stdout } = program.context;
  const json = isJson(line);
  if (line.options.has('--version')) return stdout.write(`${json ? JSON.stringify({ version }) : version}\n`);
  if (line.options.has('--help') || args.length === 0) {
    const { help } = await import('./commands/help.ts');
    return stdout.write(await help(line, program.context, json));
  }
  setDefaults(program, line);
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
    .description('list, create and import pet categories')
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
    .description('Command-line client for the pet store API: list and create pet categories.')
    .version(context.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .showSuggestionAfterError(false)
    .exitOverride()
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

function addGlobalOptions(program: Program): void {
  program.optionsGroup('Global options:');
  for (const { flags, description, fallback } of GLOBAL_OPTIONS) {
    const option = new Option(flags, description);
    const name = `--${option.name()}`;
    const parse = PARSERS[option.attributeName()];
    if (parse && fallback !== undefined) {
      option.argParser((text) => parse(text, name)).default(parse(fallback, name), fallback);
    }
    program.addOption(option);
  }
  // Accepted before the command too, but listed only in the help of a command with several formats.
  program.addOption(new Option('--format <format>', 'output format').choices(FORMATS).hideHelp());
}

// Sets the options that follow from a variable or from each other. Commander's own `env` reads process.env, and takes `0`
// for a set switch.
function setDefaults(program: Program, { options }: CommandLine): void {
  const { env } = program.context;
  for (const { flags, variable = '' } of GLOBAL_OPTIONS) {
    const option = new Option(flags);
    const text = env[variable];
    const parse = PARSERS[option.attributeName()];
    if (parse && text && !options.has(option.long ?? '')) {
      program.setOptionValueWithSource(option.attributeName(), parse(text, variable), 'env');
    }
  }
  const json = options.has('--json');
  const format = options.get('--format') ?? (json ? 'json' : 'table');
  if (json && format !== 'json') {
    throw new PetstoreError('usage', `--json and --format ${format} cannot be combined`, { hint: 'use one of them' });
  }
  program.setOptionValue('format', format).setOptionValue('json', format === 'json');
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

// Commands added by `addCommand` inherit no settings.
function inherit(command: Command): void {
  for (const child of command.commands) inherit(child.copyInheritedSettings(command).helpCommand(false));
}
