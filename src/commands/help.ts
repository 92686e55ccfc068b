// Help: the text of `--help`, and the command reference as JSON (`--help --json`).
import type { Command, Option } from 'commander';
import { Help } from 'commander';
import { commandPath, PetstoreCommand, rootOf } from '../command.ts';
import type { Context } from '../context.ts';
import { capitalize } from '../format.ts';
import { loadStyle } from '../output/render.ts';
import { EXIT_CODES, GLOBAL_OPTIONS } from '../reference.ts';

/** The environment variables that the program reads, apart from those of global options. */
export const ENVIRONMENT = [
  { name: 'PETSTORE_API_KEY', meaning: 'API key; overrides a saved one' },
  { name: 'PETSTORE_API_KEY_COMMAND', meaning: 'command that prints the API key; see `petstore auth login --help`' },
  { name: 'PETSTORE_BASE_URL', meaning: 'base URL of the service, ending in /v1; overrides a saved one' },
  { name: 'PETSTORE_QUIET', meaning: 'same as --quiet unless empty, 0 or false' },
  { name: 'PETSTORE_CONFIG_DIR', meaning: 'directory for profiles and keys (default on Linux: ~/.config/petstore)' },
  {
    name: 'PETSTORE_STATE_DIR',
    meaning: 'directory for quota, import locks and sandbox data (default on Linux: ~/.local/state/petstore)',
  },
  {
    name: 'PETSTORE_STATE_URL',
    meaning: 'Valkey or Redis server that several machines share, for example rediss://user@host:6379/0',
  },
  { name: 'PETSTORE_STATE_PASSWORD', meaning: 'password of the state server' },
  { name: 'NO_COLOR', meaning: 'disables color if non-empty' },
  { name: 'FORCE_COLOR', meaning: 'enables color (1 to 3) if the stream is not a terminal; 0 disables it' },
  { name: 'HTTPS_PROXY', meaning: 'proxy for https' },
  { name: 'HTTP_PROXY', meaning: 'not used: http is allowed on loopback only, which is never proxied' },
  { name: 'NO_PROXY', meaning: 'hosts that are reached without a proxy' },
  { name: 'NODE_EXTRA_CA_CERTS', meaning: 'file with additional certificate authorities' },
];

const VARIABLES = new Map(GLOBAL_OPTIONS.map(({ flags, variable }) => [flags, variable]));
const SUCCESS = { code: 0, meaning: 'success' };
// Wider text is hard to read, and narrower text hard to follow.
const WIDEST = 100;
const NARROWEST = 40;
/** In a narrower terminal, descriptions stand below their terms. */
const MIN_DESCRIPTION = 30;

/** The text of a command's `--help`. */
export async function helpText(command: Command, { stdout, env, args }: Context): Promise<string> {
  const { bold } = await loadStyle(stdout, env, !args.includes('--no-color'));
  const help = new PetstoreHelp();
  help.styleTitle = bold;
  help.helpWidth = Math.max(NARROWEST, Math.min(WIDEST, stdout.columns || 80));
  return help.formatHelp(command, help);
}

/** Commander's layout, with subcommands before options, and with the sections of PetstoreCommand. */
class PetstoreHelp extends Help {
  override minWidthToWrap = 10;

  override formatHelp(command: Command, help: Help): string {
    const blocks = super.formatHelp(command, help).trimEnd().split('\n\n');
    const isOptions = (block: string): boolean => /^\S*(?:Global o|O)ptions:/.test(block);
    const parts = [...blocks.filter((block) => !isOptions(block)), ...blocks.filter(isOptions)];
    const { notes, output, examples } = sectionsOf(command);
    if (notes) parts.push(this.#prose(notes));
    if (output) parts.push(this.#prose(output, 'Output:'));
    const codes = exitCodesOf(command).map(({ code, meaning }) => this.formatItem(String(code), 3, meaning, help));
    if (codes.length > 0) parts.push([this.styleTitle('Exit codes:'), ...codes].join('\n'));
    parts.push([this.styleTitle('Examples:'), ...examples.map((line) => `  $ ${line}`)].join('\n'));
    if (command.parent) {
      const names = globalOptionsOf(command).map(({ long }) => long);
      parts.push(this.#prose(`${names.join(', ')}; see \`petstore --help\`.`, 'Global options:'));
    }
    return `${parts.join('\n\n')}\n`;
  }

  #prose(text: string, title = ''): string {
    const { helpWidth = 80 } = this;
    return this.boxWrap(`${title} ${text}`.trimStart(), helpWidth).replace(title, this.styleTitle(title));
  }

  override formatItem(term: string, termWidth: number, description: string, help: Help): string {
    const { helpWidth = 80 } = this;
    if (helpWidth - termWidth >= MIN_DESCRIPTION) return super.formatItem(term, termWidth, description, help);
    return `  ${term}\n${this.boxWrap(description, helpWidth - 6).replace(/^/gm, '      ')}`;
  }

  override subcommandTerm = (command: Command): string => command.name();

  override commandDescription = (command: Command): string => capitalize(command.description());

  /** Shows the variable, which commander would read if it was set in the definition, and no default for a switch. */
  override optionDescription(option: Option): string {
    const defaultValue = option.defaultValue || undefined;
    return super.optionDescription(Object.assign(option, { envVar: VARIABLES.get(option.flags), defaultValue }));
  }
}

/** The reference of all commands below the given one, with global options, environment variables and exit codes. */
export function describeCommands(command: Command) {
  const root = rootOf(command);
  const { notes, examples } = sectionsOf(root);
  return {
    version: root.context.version,
    description: root.description(),
    notes,
    examples,
    commands: leavesOf(command).map(describeCommand),
    globalOptions: globalOptionsOf(command).map(describeOption),
    environment: ENVIRONMENT,
    exitCodes: [SUCCESS, ...Object.entries(EXIT_CODES).map(([kind, facts]) => ({ ...facts, kind }))],
  };
}

// Commander's own `help` command has no reference.
function leavesOf(command: Command): readonly PetstoreCommand[] {
  if (!(command instanceof PetstoreCommand)) return [];
  return command.commands.length === 0 ? [command] : command.createHelp().visibleCommands(command).flatMap(leavesOf);
}

function describeCommand(command: PetstoreCommand) {
  const path = commandPath(command);
  return {
    /** Without the program's name: `categories list`. */
    path: path.replace(/^petstore ?/, ''),
    aliases: command.aliases(),
    description: command.description(),
    usage: `${path} ${command.usage()}`,
    arguments: command.registeredArguments.map((one) => {
      return { name: one.name(), description: new PetstoreHelp().argumentDescription(one) };
    }),
    options: command.options.map(describeOption),
    ...sectionsOf(command),
    exitCodes: exitCodesOf(command).map(({ code }) => code),
  };
}

function describeOption(option: Option) {
  return { flags: option.flags, description: new PetstoreHelp().optionDescription(option) };
}

function globalOptionsOf(command: Command): readonly Option[] {
  return rootOf(command).options.filter(({ flags }) => VARIABLES.has(flags));
}

function sectionsOf(command: Command) {
  const { notes, output, examples } = (command as PetstoreCommand).helpSections;
  return { notes: unwrapped(notes), output: unwrapped(output), examples };
}

// Joins the lines of a paragraph; a line that is indented stays.
function unwrapped(text = ''): string {
  return text.replace(/(\S)\n(?=\S)/g, '$1 ');
}

function exitCodesOf(command: Command): readonly { readonly code: number; readonly meaning: string }[] {
  if (!command.parent) return [SUCCESS, ...Object.values(EXIT_CODES)];
  return ((command as PetstoreCommand).helpSections.exitCodes ?? []).map((kind) => EXIT_CODES[kind]);
}
