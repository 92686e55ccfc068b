// The command tree: options of every command, and all commands by group.
import type { Command } from 'commander';
import { Option } from 'commander';
import { api } from './commands/api.ts';
import { login } from './commands/auth/login.ts';
import { logout } from './commands/auth/logout.ts';
import { status } from './commands/auth/status.ts';
import { switchTo } from './commands/auth/switch.ts';
import { create } from './commands/categories/create.ts';
import { importRows } from './commands/categories/import.ts';
import { list } from './commands/categories/list.ts';
import type { CommandDefinition, CommandGroup } from './commands/command.ts';
import { commands, DefinedCommand } from './commands/commands.ts';
import { completion, suggestions } from './commands/completion.ts';
import { doctor } from './commands/doctor.ts';
import { help, helpWidth, PetstoreHelp } from './commands/help.ts';
import { quota } from './commands/quota.ts';
import { runCommand } from './commands/run-command.ts';
import { sandbox } from './commands/sandbox.ts';
import { colorLevel } from './io.ts';
import { FORMATS } from './output/render.ts';
import type { Context } from './session.ts';

const categories: CommandGroup = {
  name: 'categories',
  description: 'list, create and import the categories that classify pets',
  help: {
    examples: [
      'petstore categories list --search cat',
      'petstore categories create --name dog --description "Canis familiaris"',
      'petstore categories import species.csv',
    ],
  },
  commands: [list, create, importRows],
};

const auth: CommandGroup = {
  name: 'auth',
  description: 'log in, log out and switch between profiles',
  help: {
    examples: [
      'petstore auth login --url https://HOST/v1',
      'petstore auth login -p staging --url https://STAGING_HOST/v1',
      'petstore auth status',
    ],
  },
  commands: [login, logout, status, switchTo],
};

/** All commands, below the headings of `petstore --help`. */
const COMMANDS: Readonly<Record<string, readonly (CommandDefinition | CommandGroup)[]>> = {
  'Categories:': [categories, api],
  'Keys and limits:': [auth, quota, doctor],
  'Testing and scripting:': [sandbox, completion, commands, help, suggestions],
};

const GLOBAL_OPTIONS: readonly Option[] = [
  new Option(
    '-p, --profile <name>',
    'profile to use: its base URL, key and quota (environment: PETSTORE_PROFILE; default: the active one)',
  ),
  new Option('--json', 'print exactly one JSON document; errors are JSON on stderr'),
  // Defaults are only described: what is not given may be set by the environment.
  new Option(
    '--max-wait <duration>',
    'maximum wait for the rate limit; exit 5 if longer (environment: PETSTORE_MAX_WAIT)',
  ).default(undefined, '2m'),
  new Option(
    '--max-retries <number>',
    'retries of one request after the first attempt (environment: PETSTORE_MAX_RETRIES)',
  ).default(undefined, '4'),
  new Option(
    '--timeout <duration>',
    'timeout per attempt, from connect to last byte (environment: PETSTORE_TIMEOUT)',
  ).default(undefined, '30s'),
  new Option('-q, --quiet', 'hide spinner, quota line and notices (environment: PETSTORE_QUIET)'),
  new Option('-v, --verbose', 'show every request and response on stderr, with the key redacted'),
  new Option('--no-color', 'disable colour (environment: NO_COLOR, FORCE_COLOR)'),
  // Accepted everywhere, but shown only by `categories list`: other commands print table and json only.
  new Option('--format <format>', 'output format').choices(FORMATS).hideHelp(),
];

const ROOT: CommandGroup = {
  name: 'petstore',
  description: 'Command-line client for the pet store API: list, create and import pet categories.',
  options: GLOBAL_OPTIONS,
  help: {
    notes: `petstore waits for the rate limit where it must, shares it with other petstore processes, and never creates a
category twice. stdout carries the result and nothing else.`,
    exitCodes: `0 done, 1 bug in petstore, 2 wrong usage, 3 no key or key not accepted, 4 request rejected, 5 rate
limited, 6 service not reached, 7 service failed, 8 outcome of a create unknown, 9 local file error, 130 interrupted.`,
    examples: [
      'petstore categories list -p sandbox',
      'petstore auth login --url https://HOST/v1',
      'petstore help categories create',
    ],
  },
  commands: Object.values(COMMANDS).flat(),
};

/**
 * Builds the command tree.
 * @returns commander's root; `parseAsync` rejects with CommanderError or PetstoreError
 */
export function createProgram(context: Context, write: (text: string) => void = () => undefined): Command {
  const { stdout, env, args, version } = context;
  const program = new DefinedCommand(ROOT)
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .configureOutput({
      writeOut: write,
      // Errors are reported in one place.
      writeErr: () => undefined,
      getOutHelpWidth: () => helpWidth(stdout.columns),
      getOutHasColors: () => colorLevel(stdout, env, args.includes('--no-color')) > 0,
    });
  define(program, ROOT, context);
  for (const [heading, group] of Object.entries(COMMANDS)) {
    for (const command of program.commands) {
      if (group.some(({ name }) => name === command.name())) command.helpGroup(heading);
    }
  }
  return program;
}

function define(command: Command, definition: CommandDefinition | CommandGroup, context: Context): void {
  command.description(definition.description).helpCommand(false);
  command.createHelp = () => new PetstoreHelp();
  command.exitOverride((error) => {
    throw Object.assign(error, { command });
  });
  for (const option of definition.options ?? []) command.addOption(option);
  if ('action' in definition) {
    for (const alias of definition.aliases ?? []) command.alias(alias);
    for (const argument of definition.arguments ?? []) command.addArgument(argument);
    command.action(() => runCommand(definition, command, context));
    return;
  }
  command.usage('<command>');
  for (const child of definition.commands) {
    const subcommand = new DefinedCommand(child).copyInheritedSettings(command);
    define(subcommand, child, context);
    command.addCommand(subcommand, { hidden: 'hidden' in child && child.hidden === true });
  }
}
