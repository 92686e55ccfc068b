// Help: the text of `--help`, and the command reference as JSON (`--help --json`).
import type { Argument, Command, Option } from 'commander';
import { Help } from 'commander';
import { PetstoreCommand, pathOf, rootOf } from '../command.ts';
import { capitalize } from '../format.ts';
import type { Context } from '../io.ts';
import { hasColor } from '../io.ts';
import { loadStyle } from '../output/render.ts';
import type { GlobalOption } from '../reference.ts';
import { EXIT_CODES, GLOBAL_OPTIONS } from '../reference.ts';

/** Every environment variable that the program reads. */
export const ENVIRONMENT = [
  { name: 'PETSTORE_API_KEY', meaning: 'API key; overrides a saved one' },
  { name: 'PETSTORE_API_KEY_COMMAND', meaning: 'command that prints the API key; see `petstore auth login --help`' },
  { name: 'PETSTORE_BASE_URL', meaning: 'base URL of the service, ending in /v1; overrides a saved one' },
  { name: 'PETSTORE_PROFILE', meaning: 'same as --profile' },
  { name: 'PETSTORE_MAX_WAIT', meaning: 'same as --max-wait' },
  { name: 'PETSTORE_MAX_RETRIES', meaning: 'same as --max-retries' },
  { name: 'PETSTORE_TIMEOUT', meaning: 'same as --timeout' },
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

const SUCCESS = { code: 0, meaning: 'success' };
// Wider text is hard to read, and narrower text hard to follow.
const WIDEST = 100;
const NARROWEST = 40;
/** In a narrower terminal, descriptions stand below their terms. */
const MIN_DESCRIPTION = 30;

/** The text of a command's `--help`. */
export async function helpText(command: Command, { stdout, env, args }: Context): Promise<string> {
  const { bold } = await loadStyle(hasColor(stdout, env, !args.includes('--no-color')));
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
      const names = GLOBAL_OPTIONS.map(({ flags }) => longName(flags));
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

  override commandDescription = (command: Command): string => sentence(command.description());

  override argumentDescription = ({ description, argChoices: choices }: Argument): string =>
    describeOption({ description, choices });

  override optionDescription({ description, mandatory: required, argChoices: choices, ...option }: Option): string {
    const { variable } = GLOBAL_OPTIONS.find(({ flags }) => flags === option.flags) ?? {};
    return describeOption({ description, required, choices, variable, fallback: defaultOf(option) });
  }
}

/** The reference of all commands below the given one, with global options, environment variables and exit codes. */
export function describeCommands(command: Command) {
  const root = rootOf(command);
  return {
    version: root.context.version,
    description: root.description(),
    notes: sectionsOf(root).notes,
    examples: examplesOf(root),
    commands: leavesOf(command).map(describeCommand),
    globalOptions: GLOBAL_OPTIONS.map(({ flags, description, variable, fallback }) => {
      return { flags, long: longName(flags), description, env: variable, default: fallback };
    }),
    environment: ENVIRONMENT,
    exitCodes: [
      SUCCESS,
      ...Object.entries(EXIT_CODES).map(([kind, { code, meaning, retry }]) => ({ code, kind, meaning, retry })),
    ],
  };
}

// Commander's own `help` command has no reference.
function leavesOf(command: Command): readonly PetstoreCommand[] {
  if (!(command instanceof PetstoreCommand)) return [];
  return command.commands.length === 0 ? [command] : command.createHelp().visibleCommands(command).flatMap(leavesOf);
}

function describeCommand(command: PetstoreCommand) {
  const path = pathOf(command);
  const { notes, output } = sectionsOf(command);
  const codes = exitCodesOf(command).map(({ code }) => code);
  return {
    /** Without the program's name: `categories list`. */
    path: path.replace(/^petstore ?/, ''),
    aliases: command.aliases(),
    description: command.description(),
    usage: `${path} ${command.usage()}`,
    arguments: command.registeredArguments.map((one) => {
      const { description, required, argChoices: choices } = one;
      return { name: one.name(), description, required, choices };
    }),
    options: command.options
      .filter(({ hidden }) => !hidden)
      .map(({ flags, long, description, mandatory: required, argChoices: choices, ...option }) => {
        return { flags, long, description, required, choices, default: defaultOf(option) };
      }),
    notes: [notes, output && `Output: ${output}`, codes.length > 0 && `Exit codes: ${codes.join(', ')}.`]
      .filter(Boolean)
      .join('\n\n'),
    examples: examplesOf(command),
  };
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

function examplesOf(command: Command): readonly string[] {
  return sectionsOf(command).examples.map((line) => line.replace(/ {2,}#.*$/, ''));
}

/** The default of an option that takes a value; Boolean options have none. */
function defaultOf({
  defaultValue,
  defaultValueDescription,
}: Pick<Option, 'defaultValue' | 'defaultValueDescription'>) {
  return (
    defaultValueDescription ?? (/^(?:string|number)$/.test(typeof defaultValue) ? String(defaultValue) : undefined)
  );
}

function longName(flags: string): string | undefined {
  return /--[\w-]+/.exec(flags)?.[0];
}

function sentence(text: string): string {
  return `${capitalize(text)}${text.endsWith('.') ? '' : '.'}`;
}

interface DescribedOption extends Pick<GlobalOption, 'description' | 'variable' | 'fallback'> {
  readonly choices?: readonly string[] | undefined;
  readonly required?: boolean;
}

/** Appends the other facts to the description: `… (env: PETSTORE_MAX_WAIT; default: 2m)`. */
function describeOption({ description, required, choices, variable, fallback }: DescribedOption): string {
  const facts = [
    required && 'required',
    choices?.join(', '),
    variable && `env: ${variable}`,
    fallback && `default: ${fallback}`,
  ].filter(Boolean);
  return facts.length === 0 ? description : `${description} (${facts.join('; ')})`;
}
