// The command tree as data, for `petstore commands`, `--help --json`, the man page and docs/cli.md.
import type { Argument, Option } from 'commander';
import { Command } from 'commander';
import type { ErrorKind } from '../errors.ts';
import { EXIT_CODES } from '../errors.ts';
import type { Column } from '../output/view.ts';
import type { CommandDefinition, CommandGroup, HelpText } from './command.ts';
import { defineCommand } from './command.ts';

/** A commander command that knows its definition. */
export class DefinedCommand extends Command {
  readonly definition: CommandDefinition | CommandGroup;

  constructor(definition: CommandDefinition | CommandGroup) {
    super(definition.name);
    this.definition = definition;
  }
}

/** Everything a program needs to know to call this one. */
export type Reference = ReturnType<typeof describeCommands>;

const COLUMNS: readonly Column<ReturnType<typeof describeCommand>>[] = [
  { header: 'command', value: ({ usage }) => usage.replace(' [options]', ''), wrap: true },
  { header: 'description', value: ({ description }) => description, wrap: true },
];

export const commands = defineCommand<object, Reference>({
  name: 'commands',
  description: 'list all commands; with --json all options and exit codes too',
  help: {
    notes: 'For scripts and agents that would otherwise parse help texts.',
    output: `one row per command; with --json {"version", "description", "commands", "globalOptions", "environment",
"exitCodes"}. --help --json prints the same for one command.`,
    examples: ['petstore commands', "petstore commands --json | jq -r '.commands[].usage'"],
  },
  action: {
    run: async (session, { command }) => describeCommands(rootOf(command), session.context.version),
    view: { text: (reference, { table }) => table(COLUMNS, reference.commands), tables: true },
  },
});

const MEANINGS: Readonly<Record<ErrorKind, string>> = {
  internal: 'a bug in petstore',
  usage: 'wrong usage or invalid input; nothing was sent',
  auth: 'no key, or the service did not accept it (401)',
  rejected: 'the service rejected the request (400 and other 4xx)',
  rate_limited: 'rate limited for longer than --max-wait, or still after the last attempt',
  network: 'the service could not be reached; nothing was changed',
  service: 'the service failed a read (5xx), broke its contract, or redirects',
  unknown_outcome: 'a create was sent and no valid response was received; it may exist',
  storage: 'local file error: config, state or journal cannot be read or written',
  interrupted: 'interrupted (Ctrl-C), or a question was answered with no',
};

const EXIT_STATUSES = [
  { code: 0, meaning: 'done' },
  ...Object.entries(MEANINGS).map(([kind, meaning]) => ({ code: EXIT_CODES[kind as ErrorKind], kind, meaning })),
  { code: 143, kind: 'interrupted', meaning: 'terminated (SIGTERM); 129 after SIGHUP' },
];

const ENVIRONMENT = [
  { name: 'PETSTORE_API_KEY', meaning: 'API key; overrides a stored one' },
  { name: 'PETSTORE_BASE_URL', meaning: 'base URL of the service, ending in /v1; overrides a stored one' },
  { name: 'PETSTORE_KEY_COMMAND', meaning: 'command that prints the API key; see `petstore auth login --help`' },
  { name: 'PETSTORE_PROFILE', meaning: 'profile to use, as --profile' },
  { name: 'PETSTORE_MAX_WAIT', meaning: 'default of --max-wait' },
  { name: 'PETSTORE_MAX_RETRIES', meaning: 'default of --max-retries' },
  { name: 'PETSTORE_TIMEOUT', meaning: 'default of --timeout' },
  { name: 'PETSTORE_QUIET', meaning: 'as --quiet, when set to a non-empty value' },
  { name: 'PETSTORE_CONFIG_DIR', meaning: 'folder of profiles and keys' },
  { name: 'PETSTORE_STATE_DIR', meaning: 'folder of quota, journals and sandbox data' },
  { name: 'PETSTORE_STATE_URL', meaning: 'Valkey or Redis server that several machines share (docs/fleet.md)' },
  { name: 'PETSTORE_STATE_PASSWORD', meaning: 'password of the state server' },
  { name: 'NO_COLOR', meaning: 'disables colour when set to a non-empty value' },
  { name: 'FORCE_COLOR', meaning: 'enables colour (1 to 3) where the stream is not a terminal; 0 disables it' },
  { name: 'HTTPS_PROXY', meaning: 'proxy for https; HTTP_PROXY for http; loopback is never proxied' },
  { name: 'NO_PROXY', meaning: 'hosts that are reached without a proxy' },
  { name: 'NODE_EXTRA_CA_CERTS', meaning: 'file with additional certificate authorities' },
];

/**
 * Describes the tree, without hidden commands and options.
 * @param command whose commands to list: all for the root and for a command without actions below it
 */
export function describeCommands(command: Command, version: string) {
  const root = rootOf(command);
  const { help, description } = root.definition;
  return {
    version,
    description,
    notes: notesOf(help),
    examples: examplesOf(help),
    commands: leavesOf(command).map(describeCommand),
    globalOptions: describeOptions(root),
    environment: ENVIRONMENT,
    exitCodes: EXIT_STATUSES,
  };
}

/** Returns the root of a command's tree. */
export function rootOf(command: Command): DefinedCommand {
  return command.parent ? rootOf(command.parent) : (command as DefinedCommand);
}

/** Returns the words that call a command, without the program's name. */
export function pathOf(command: Command): readonly string[] {
  return command.parent ? [...pathOf(command.parent), command.name()] : [];
}

/** Returns the subcommands that help shows. */
export function visibleCommands(command: Command): readonly DefinedCommand[] {
  return command.createHelp().visibleCommands(command) as DefinedCommand[];
}

function leavesOf(command: Command): readonly DefinedCommand[] {
  return command.commands.length === 0 ? [command as DefinedCommand] : visibleCommands(command).flatMap(leavesOf);
}

function describeCommand(command: DefinedCommand) {
  const path = pathOf(command).join(' ');
  const { help } = command.definition;
  return {
    /** Without the program's name: `categories list`. */
    path,
    aliases: command.aliases(),
    description: command.description(),
    usage: `petstore ${path} ${command.usage()}`,
    arguments: command.registeredArguments.map(describeArgument),
    options: describeOptions(command),
    notes: notesOf(help),
    examples: examplesOf(help),
  };
}

function notesOf({ notes, output, exitCodes }: HelpText): string {
  return [notes, output && `Output: ${output}`, exitCodes && `Exit codes: ${exitCodes}`].filter(Boolean).join('\n\n');
}

function examplesOf({ examples }: HelpText): readonly string[] {
  return examples.map((line) => line.replace(/ {2,}#.*$/, ''));
}

function describeArgument(argument: Argument) {
  const { description, required, variadic, argChoices: choices } = argument;
  return { name: argument.name(), description, required, variadic, choices };
}

function describeOptions(command: Command) {
  return command.options.filter(({ hidden }) => !hidden).map(describeOption);
}

function describeOption(option: Option) {
  const { flags, short, long, description, mandatory, argChoices } = option;
  return {
    /** As help shows it: `-p, --profile <name>`. */
    flags,
    short,
    long,
    description,
    /** The name of its value; absent for a switch. */
    value: /<(.+?)>/.exec(flags)?.[1],
    required: mandatory,
    repeatable: isRepeatable(option),
    choices: argChoices,
    default: defaultOf(option),
  };
}

/** Only options that collect their values have a parser of their own. */
export function isRepeatable({ parseArg, argChoices }: Option): boolean {
  return parseArg !== undefined && argChoices === undefined;
}

/** Returns what counts when the option is not given, as it would be typed; switches have no default. */
export function defaultOf({ defaultValue, defaultValueDescription }: Option): string | undefined {
  return defaultValueDescription ?? (typeof defaultValue === 'string' ? defaultValue : undefined);
}
