// Help: the text of `--help` and of `petstore help TOPIC`, and the command reference as JSON (`--help --json`).
import type { Argument, Command, Option } from 'commander';
import { Help } from 'commander';
import type { ErrorKind } from '../../error-kind.ts';
import { capitalize } from '../../text/format.ts';
import type { Program } from '../command.ts';
import { commandPath, findCommand, PetstoreCommand, rootOf } from '../command.ts';
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
  const layout = new Layout(Math.max(NARROWEST, Math.min(WIDEST, stdout.columns || 80)), bold);
  if (topic === 'exitCodes') return `${layout.lists(exitCodeItems(reference.exitCodes)).join()}\n`;
  const variables = ENVIRONMENT.map(({ name, meaning }): Item => ['Environment variables:', name, meaning]);
  if (topic) return `${layout.lists(variables).join()}\n`;
  return `${blocksOf(command, layout).join('\n\n')}\n`;
}

type Item = readonly [heading: string, term: string, description: string];

function exitCodeItems(codes: readonly { readonly code: number; readonly meaning: string }[]): readonly Item[] {
  return codes.map(({ code, meaning }) => ['Exit codes:', String(code), meaning]);
}

function blocksOf(command: Command, layout: Layout): readonly string[] {
  const help = command.createHelp();
  const { notes, output, examples } = sectionsOf(command);
  const args = help.visibleArguments(command).map((one): Item => ['Arguments:', one.name(), describe(one)]);
  const headingOf = (one: Command): string => one.helpGroup() || 'Commands:';
  const commands = help.visibleCommands(command).map((one): Item => [headingOf(one), one.name(), one.description()]);
  const options = help
    .visibleOptions(command)
    .map((one): Item => [one.helpGroupHeading ?? 'Options:', one.flags, describe(one)]);
  const termWidth = longestTerm([...args, ...commands, ...options]);
  const example = [layout.title('Examples:'), ...examples.map((line) => `  $ ${line}`)].join('\n');
  const names = globalOptionsOf(command).map(({ long }) => long);
  const globalOptions = layout.paragraph(`${names.join(', ')}; see \`petstore --help\`.`, 'Global options:');
  return [
    `${layout.title('Usage:')} ${help.commandUsage(command)}`,
    layout.paragraph(capitalize(command.description())),
    ...layout.lists([...args, ...commands], termWidth),
    // The first screen of `petstore --help` shows the commands and the examples.
    ...(command.parent ? [] : [example]),
    ...layout.lists(options, termWidth),
    ...(notes ? [layout.paragraph(notes)] : []),
    ...(output ? [layout.paragraph(output, 'Output:')] : []),
    ...layout.lists(exitCodeItems(exitCodesOf(command))),
    ...(command.parent ? [example, globalOptions] : []),
  ];
}

function longestTerm(items: readonly Item[]): number {
  return Math.max(...items.map(([, term]) => term.length));
}

/** Lays out text with commander's wrapping. */
class Layout {
  readonly title: (text: string) => string;
  readonly #help = new Help();
  readonly #width: number;

  constructor(width: number, title: (text: string) => string) {
    this.title = title;
    this.#width = width;
    this.#help.helpWidth = width;
    this.#help.minWidthToWrap = 10;
  }

  /** A list for each heading. */
  lists(items: readonly Item[], termWidth = longestTerm(items)): readonly string[] {
    return [...new Set(items.map(([heading]) => heading))].map((heading) => {
      const own = items.filter((item) => item[0] === heading);
      return [this.title(heading), ...own.map((item) => this.#item(item, termWidth))].join('\n');
    });
  }

  paragraph(text: string, title = ''): string {
    return this.#help.boxWrap(`${title} ${text}`.trimStart(), this.#width).replace(title, this.title(title));
  }

  #item([, term, description]: Item, termWidth: number): string {
    const isWide = this.#width - termWidth >= MIN_DESCRIPTION;
    if (isWide) return this.#help.formatItem(term, termWidth, description, this.#help);
    return `  ${term}\n${this.#help.boxWrap(description, this.#width - 6).replace(/^/gm, '      ')}`;
  }
}

/** The description of an option or argument with its choices and default; a switch has no default to show. */
function describe({ description, argChoices, defaultValue, defaultValueDescription }: Option | Argument): string {
  const fallback = defaultValueDescription ?? (typeof defaultValue === 'boolean' ? undefined : defaultValue);
  const facts: string[] = [];
  if (argChoices) facts.push(`choices: ${argChoices.map((choice) => `"${choice}"`).join(', ')}`);
  if (fallback !== undefined) facts.push(`default: ${fallback}`);
  return facts.length > 0 ? `${description} (${facts.join(', ')})` : description;
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
    arguments: command.registeredArguments.map((one) => ({ name: one.name(), description: describe(one) })),
    options: command.options.map(describeOption),
    ...sectionsOf(command),
    exitCodes: exitCodesOf(command).map(({ code }) => code),
  };
}

function describeOption(option: Option) {
  return { flags: option.flags, description: describe(option) };
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
