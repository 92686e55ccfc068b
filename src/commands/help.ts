// Help: the text of `--help` and of `petstore help TOPIC`, and the command reference as JSON (`--help --json`).
import type { Command, Option } from 'commander';
import { Help } from 'commander';
import type { Program } from '../command.ts';
import { commandPath, findCommand, PetstoreCommand, rootOf } from '../command.ts';
import type { ErrorKind } from '../error-kind.ts';
import { capitalize } from '../format.ts';
import type { TypedOptions } from '../global-options.ts';
import { wantsJson } from '../global-options.ts';
import { loadStyle } from '../output/render.ts';
import { ENVIRONMENT, EXIT_CODES, GLOBAL_OPTIONS, HELP_TOPICS } from '../reference.ts';
import { unknownCommandError } from '../usage-error.ts';

const GLOBAL_FLAGS = GLOBAL_OPTIONS.map(({ flags }) => flags);
const SUCCESS = { code: 0, meaning: 'success' };
// Wider text is hard to read, and narrower text hard to follow.
const WIDEST = 100;
const NARROWEST = 40;
/** In a narrower terminal, descriptions stand below their terms. */
const MIN_DESCRIPTION = 30;

/**
 * The help of the command or topic that the words name.
 * @throws PetstoreError `usage` if they name none
 */
export async function help(program: Program, words: readonly string[], options: TypedOptions): Promise<string> {
  const { command, rest } = findCommand(program, words);
  const topic = command.parent ? undefined : [...HELP_TOPICS].find(([name]) => name === rest[0])?.[1];
  if (!topic && rest.length > 0 && command.commands.length > 0) throw unknownCommandError(command, rest);
  const reference = describeCommands(command);
  if (wantsJson(options)) return `${JSON.stringify(topic ? { [topic]: reference[topic] } : reference)}\n`;
  const { stdout, env } = program.context;
  const { bold } = await loadStyle(stdout, env, options.color);
  const layout = new PetstoreHelp();
  layout.styleTitle = bold;
  layout.helpWidth = Math.max(NARROWEST, Math.min(WIDEST, stdout.columns || 80));
  if (topic === 'exitCodes') return `${layout.list('Exit codes:', exitCodeTerms(reference.exitCodes))}\n`;
  const variables = ENVIRONMENT.map(({ name, meaning }): Term => [name, meaning]);
  if (topic) return `${layout.list('Environment variables:', variables)}\n`;
  return layout.formatHelp(command, layout);
}

type Term = readonly [term: string, description: string];

function exitCodeTerms(codes: readonly { readonly code: number; readonly meaning: string }[]): readonly Term[] {
  return codes.map(({ code, meaning }) => [String(code), meaning]);
}

/** Commander's layout, with subcommands before options, and with the sections of PetstoreCommand. */
class PetstoreHelp extends Help {
  override minWidthToWrap = 10;

  override formatHelp(command: Command, help: Help): string {
    const blocks = super.formatHelp(command, help).trimEnd().split('\n\n');
    const isOptions = (block: string): boolean => /^\S*(?:Global o|O)ptions:/.test(block);
    const { notes, output, examples } = sectionsOf(command);
    const parts = blocks.filter((block) => !isOptions(block));
    const example = [this.styleTitle('Examples:'), ...examples.map((line) => `  $ ${line}`)].join('\n');
    // The first screen of `petstore --help` shows the commands and the examples.
    if (!command.parent) parts.push(example);
    parts.push(...blocks.filter(isOptions));
    if (notes) parts.push(this.#prose(notes));
    if (output) parts.push(this.#prose(output, 'Output:'));
    const codes = exitCodeTerms(exitCodesOf(command));
    if (codes.length > 0) parts.push(this.list('Exit codes:', codes));
    if (command.parent) {
      const names = globalOptionsOf(command).map(({ long }) => long);
      parts.push(example, this.#prose(`${names.join(', ')}; see \`petstore --help\`.`, 'Global options:'));
    }
    return `${parts.join('\n\n')}\n`;
  }

  list(title: string, terms: readonly Term[]): string {
    const width = Math.max(...terms.map(([term]) => term.length));
    return [this.styleTitle(title), ...terms.map(([term, text]) => this.formatItem(term, width, text, this))].join(
      '\n',
    );
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

  /** Shows no default for a switch. */
  override optionDescription(option: Option): string {
    return super.optionDescription(
      Object.assign(option, { defaultValue: option.defaultValue || option.defaultValueDescription }),
    );
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
  return rootOf(command).options.filter(({ flags }) => GLOBAL_FLAGS.includes(flags));
}

function sectionsOf(command: Command) {
  const { notes, output, examples } = (command as PetstoreCommand).helpSections;
  return { notes: unwrapped(notes), output: unwrapped(output), examples };
}

// Joins the lines of a paragraph; an indented line is kept.
function unwrapped(text = ''): string {
  return text.replace(/(\S)\n(?=\S)/g, '$1 ');
}

function exitCodesOf(command: Command): readonly { readonly code: number; readonly meaning: string }[] {
  const { exitCodes = [] } = (command as PetstoreCommand).helpSections;
  return Object.entries(EXIT_CODES).flatMap(([kind, facts]) => (exitCodes.includes(kind as ErrorKind) ? [facts] : []));
}
