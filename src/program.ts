// Builds the command tree and runs one command, from arguments to exit code.
import type { Command } from 'commander';
import { CommanderError, Help, Option } from 'commander';
import { bold, fill, PetstoreCommand, Program } from './command.ts';
import { api } from './commands/api.ts';
import { login } from './commands/auth/login.ts';
import { logout } from './commands/auth/logout.ts';
import { status } from './commands/auth/status.ts';
import { switchTo } from './commands/auth/switch.ts';
import { create } from './commands/categories/create.ts';
import { importRows } from './commands/categories/import.ts';
import { list } from './commands/categories/list.ts';
import { completion, suggestions } from './commands/completion.ts';
import { doctor } from './commands/doctor.ts';
import { defaultOf, describeCommands, help, WELCOME } from './commands/help.ts';
import { quota } from './commands/quota.ts';
import { sandbox } from './commands/sandbox.ts';
import { PetstoreError } from './errors.ts';
import { escapeControls } from './escape.ts';
import { capitalize } from './format.ts';
import type { Context } from './io.ts';
import { colorLevel } from './io.ts';
import { FORMATS } from './output/render.ts';
import { wrapParagraphs } from './output/wrap.ts';
import { describeOption, EXIT_CODES, GLOBAL_OPTIONS } from './reference.ts';
import { reportError } from './report-error.ts';
import type { ParseError } from './usage-error.ts';
import { usageError } from './usage-error.ts';

/** @returns the exit code (docs/cli.md, exit codes); never rejects */
export async function run(context: Context): Promise<number> {
  const end = context.args.indexOf('--');
  const flags = end < 0 ? context.args : context.args.slice(0, end);
  const isJson = (flag: string, at: number): boolean =>
    flag === '--json' || flag === '--format=json' || (flag === '--format' && flags[at + 1] === 'json');
  const json = flags.some(isJson);
  const verbose = flags.includes('--verbose') || flags.includes('-v');
  const output: string[] = [];
  const program = createProgram(context, (text) => output.push(text));
  try {
    return await parseAndRun(program, output, json);
  } catch (error) {
    const profile = program.opts()['profile'];
    return await reportError(error, context, { profile, json, verbose, noColor: flags.includes('--no-color') });
  } finally {
    // A failed cleanup does not change the exit code.
    for (const cleanup of context.cleanups) await cleanup().catch(() => undefined);
  }
}

async function parseAndRun(program: Program, output: string[], json: boolean): Promise<number> {
  const { args, stdout, version } = program.context;
  if (args.length === 0) {
    await stdout.write(wrapParagraphs(WELCOME, stdout.columns));
    return 0;
  }
  checkEncoding(args);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const { exitCode, code, command } = error as ParseError;
    if (exitCode !== 0) throw usageError(error as ParseError);
    const document = code === 'commander.version' ? { version } : describeCommands(command);
    if (json) output.splice(0, output.length, `${JSON.stringify(document)}\n`);
  }
  // This is a help or version text: commands write their results themselves.
  if (output.length > 0) await stdout.write(output.join(''));
  return program.exitCode;
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
    .addCommand(importRows());

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
export function createProgram(context: Context, write: (text: string) => void = () => undefined): Program {
  const { stdout, env, args, version } = context;
  const program = new Program(context);
  program.optionsGroup('Global options:');
  // Defaults appear in descriptions only, because the environment may set an option that is not typed.
  for (const option of GLOBAL_OPTIONS) program.option(option.flags, describeOption(option));
  program
    // Accepted before the command too, but listed only in the help of a command with several formats.
    .addOption(new Option('--format <format>', 'output format').choices(FORMATS).hideHelp())
    .optionsGroup('Options:')
    .description('Command-line client for the pet store API: list, create and import pet categories.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .configureHelp({
      styleTitle: bold,
      minWidthToWrap: 10,
      formatItem,
      subcommandTerm: (command) => command.name(),
      commandDescription: (command) => sentence(command.description()),
      argumentDescription: ({ description, argChoices: choices }) => describeOption({ description, choices }),
      optionDescription: ({ description, mandatory: required, argChoices: choices, ...option }) =>
        describeOption({ description, required, choices, fallback: defaultOf(option) }),
    })
    .configureOutput({
      writeOut: write,
      // `run` reports all errors.
      writeErr: () => undefined,
      getOutHelpWidth: () => Math.max(40, Math.min(100, stdout.columns || 80)),
      getOutHasColors: () => colorLevel(stdout, env, args.includes('--no-color')) > 0,
    })
    .sections({
      notes: `petstore waits when the rate limit is exhausted, shares it with other petstore processes, and never resends
a create that may have succeeded. Results go to stdout; everything else goes to stderr.`,
      exitCodes: `\n${exitCodes()}`,
      examples: [
        'petstore categories list -p sandbox',
        'petstore auth login --url https://HOST/v1',
        'petstore help categories create',
      ],
    })
    .addHelpText('afterAll', ({ command }) => (command.parent ? globalOptions(command) : ''))
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
    .addCommand(help())
    .addCommand(suggestions(), { hidden: true });
  inherit(program);
  return program;
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

function globalOptions(command: Command): string {
  const names = GLOBAL_OPTIONS.map(({ flags }) => /--[\w-]+/.exec(flags)?.[0]);
  return `\n${fill(command, `Global options: ${names.join(', ')}; see \`petstore --help\`.`)}`;
}

// Put descriptions below their terms if the terminal is too narrow for two columns.
function formatItem(term: string, termWidth: number, description: string, help: Help): string {
  const width = help.helpWidth ?? 80;
  if (width - termWidth >= 30) return Help.prototype.formatItem.call(help, term, termWidth, description, help);
  return `  ${term}\n${help.boxWrap(description, width - 6).replace(/^/gm, '      ')}`;
}

function sentence(text: string): string {
  return `${capitalize(text)}${text.endsWith('.') ? '' : '.'}`;
}

function exitCodes(): string {
  const row = (code: number, meaning: string): string => `  ${String(code).padEnd(3)}  ${meaning}`;
  return [row(0, 'success'), ...Object.values(EXIT_CODES).map(({ code, meaning }) => row(code, meaning))].join('\n');
}
