// Help: the text of `--help` and of `petstore help TOPIC`, and the command reference as JSON (`--help --json`).
import type { Argument, Command, Option } from 'commander';
import { Help } from 'commander';
import { capitalize } from '../../text/format.ts';
import type { PetstoreCommand, Program } from '../command.ts';
import { commandPath, findCommand, rootOf, subcommandsOf } from '../command.ts';
import type { TypedOptions } from '../global-options.ts';
import { wantsJson } from '../global-options.ts';
import { loadStyle } from '../output/render.ts';
import { ENVIRONMENT, EXIT_CODES, GLOBAL_OPTIONS, HELP_TOPICS } from '../reference.ts';
import { unknownTopicError } from '../usage-error.ts';

const TOPIC_HEADINGS = { exitCodes: 'Exit codes:', environment: 'Environment variables:' };
const SUCCESS = { code: 0, meaning: 'success' };
// In cells: longer and shorter lines are hard to read.
const WIDEST = 100;
const NARROWEST = 40;
/** The smallest width of descriptions beside their terms; with less room, they stand below. */
const MIN_DESCRIPTION = 30;

export async function printVersion(program: Program): Promise<void> {
  const { stdout, version } = program.context;
  await stdout.write(`${wantsJson(program.opts()) ? JSON.stringify({ version }) : version}\n`);
}

/** Prints the help of a command; with --json the reference of the commands below it. */
export async function printHelp(command: Command): Promise<void> {
  await print(rootOf(command), describeCommands(command), (layout) => blocksOf(command, layout));
}

/**
 * Prints the help of the command or topic that the words name.
 * @throws PetstoreError `usage` if they name none
 */
export async function printTopic(program: Program, words: readonly string[]): Promise<void> {
  const { command, rest } = findCommand(program, words);
  const [word] = rest;
  if (word === undefined || command.commands.length === 0) return printHelp(command);
  const topics = command === program ? [...HELP_TOPICS] : [];
  const [, topic] = topics.find(([name]) => name === word) ?? [];
  if (topic === undefined) throw unknownTopicError(command, rest);
  const { [topic]: facts } = describeCommands(program);
  const items = facts.map(
    (one): Item => [TOPIC_HEADINGS[topic], 'name' in one ? one.name : String(one.code), one.meaning],
  );
  return print(program, { [topic]: facts }, (layout) => layout.lists(items));
}

async function print(program: Program, json: object, text: (layout: Layout) => readonly string[]): Promise<void> {
  const { stdout, env } = program.context;
  const options = program.opts<TypedOptions>();
  if (wantsJson(options)) return stdout.write(`${JSON.stringify(json)}\n`);
  const { bold } = await loadStyle(stdout, env, options.color);
  const layout = new Layout(Math.max(NARROWEST, Math.min(WIDEST, stdout.columns || 80)), bold);
  return stdout.write(`${text(layout).join('\n\n')}\n`);
}

type Item = readonly [heading: string, term: string, description: string];

function blocksOf(command: Command, layout: Layout): readonly string[] {
  const { usage, description, aliases, notes, output, examples, exitCodes, ...facts } = describeCommand(command);
  const args = facts.arguments.map((one): Item => ['Arguments:', one.name, one.description]);
  const headingOf = (one: Command): string => one.helpGroup() || 'Commands:';
  const commands = subcommandsOf(command).map((one): Item => [headingOf(one), one.name(), one.description()]);
  const options = command
    .createHelp()
    .visibleOptions(command)
    .filter((one) => !command.parent || !isGlobal(one))
    .map((one): Item => [one.helpGroupHeading ?? 'Options:', one.flags, describe(one)]);
  const termWidth = longestTerm([...args, ...commands, ...options]);
  const example = layout.examples(examples);
  const codes = exitCodes.join(', ');
  const globalFlags = rootOf(command)
    .options.filter(isGlobal)
    .flatMap(({ long }) => long ?? []);
  return [
    layout.paragraph(usage, 'Usage:'),
    layout.paragraph(capitalize(description)),
    ...(aliases.length > 0 ? [`${layout.title('Alias:')} ${aliases.join(', ')}`] : []),
    ...layout.lists([...args, ...commands], termWidth),
    // The first screen of `petstore --help` shows the commands and the examples.
    ...(command.parent ? [] : [example]),
    ...layout.lists(options, termWidth),
    ...(notes ? [layout.paragraph(notes)] : []),
    ...(output ? [layout.paragraph(output, 'Output:')] : []),
    ...(command.parent ? [example] : []),
    ...(codes ? [layout.paragraph(`0, ${codes}; see \`petstore help exit-codes\`.`, 'Exit codes:')] : []),
    ...(command.parent
      ? [layout.paragraph(`${globalFlags.join(', ')}; see \`petstore --help\`.`, 'Global options:')]
      : []),
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

  /** Command lines that can be copied even if they are wrapped. */
  examples(lines: readonly string[]): string {
    return [this.title('Examples:'), ...lines.map((line) => this.#example(line))].join('\n');
  }

  #example(line: string): string {
    let last = '  $';
    let above = '';
    for (const word of line.match(/ # .*|(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? []) {
      if (last.length + word.length + ' \\'.length < this.#width) {
        last += ` ${word}`;
        continue;
      }
      above += `${last}${word.startsWith(' #') ? '' : ' \\'}\n`;
      last = `      ${word.trimStart()}`;
    }
    return above + last;
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
  const { description, notes, examples } = describeCommand(root);
  return {
    version: root.context.version,
    description,
    notes,
    examples,
    commands: leavesOf(command).map(describeCommand),
    globalOptions: root.options.filter(isGlobal).map(describeOption),
    environment: ENVIRONMENT,
    exitCodes: [SUCCESS, ...Object.entries(EXIT_CODES).map(([kind, facts]) => ({ ...facts, kind }))],
  };
}

function leavesOf(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : subcommandsOf(command).flatMap(leavesOf);
}

function describeCommand(command: Command) {
  const path = commandPath(command);
  const { notes, output, examples, exitCodes = [] } = (command as PetstoreCommand).helpSections;
  return {
    /** Without the program's name: `categories list`. */
    path: path.replace(/^petstore ?/, ''),
    aliases: command.aliases(),
    description: command.description(),
    usage: `${path} ${command.usage()}`,
    arguments: command.registeredArguments.map((one) => ({ name: one.name(), description: describe(one) })),
    options: command.options.filter((one) => !one.hidden && !isGlobal(one)).map(describeOption),
    notes: unwrapped(notes),
    output: unwrapped(output),
    examples,
    exitCodes: exitCodes.map((kind) => EXIT_CODES[kind].code),
  };
}

function describeOption(option: Option) {
  return { flags: option.flags, description: describe(option) };
}

function isGlobal({ flags }: Option): boolean {
  return GLOBAL_OPTIONS.some((one) => one.flags === flags);
}

// Joins the lines of a paragraph; an indented line is kept.
function unwrapped(text = ''): string {
  return text.replace(/(\S)\n(?=\S)/g, '$1 ');
}
