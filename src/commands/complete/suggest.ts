// What Tab offers: the words typed so far and the command tree to candidates. Asked by the completion scripts.
import type { Command } from 'commander';
import { escapeControls } from '../../escape.ts';
import type { View } from '../../output/view.ts';
import type { CommandNode, OptionNode } from '../../reference/tree.ts';
import { describe } from '../../reference/tree.ts';
import type { Session } from '../../session.ts';

/** One candidate. */
export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** What may stand at the cursor. */
export interface Suggestions {
  readonly candidates: readonly Candidate[];
  /** True where the shell is to offer files too. */
  readonly files: boolean;
}

const NOTHING: Suggestions = { candidates: [], files: false };

/**
 * Suggests; it never fails, since a message in the middle of a command line helps nobody.
 * @param session for the names of the profiles
 * @param input the root of the tree, and the words after `petstore`, the last one being typed
 * @returns what may stand there
 */
export async function run(
  session: Session,
  input: { readonly program: Command; readonly words: readonly string[] },
): Promise<Suggestions> {
  const names = async (): Promise<readonly string[]> => {
    try {
      return (await session.profiles()).names();
    } catch {
      return ['production', 'staging', 'sandbox'];
    }
  };
  return suggest(describe(input.program), input.words, names);
}

/**
 * Suggests from plain data.
 * @param root the command tree
 * @param words typed after the program's name; the last is under the cursor and may be empty
 * @param profiles gives the names of the profiles; asked only where one is wanted
 * @returns candidates that begin with the last word
 */
export async function suggest(
  root: CommandNode,
  words: readonly string[],
  profiles: () => Promise<readonly string[]>,
): Promise<Suggestions> {
  const last = words.at(-1) ?? '';
  const place = walk(root, words.slice(0, -1));
  if (place.awaiting) return matching(await values(place.awaiting, profiles), last);
  if (!place.onlyOperands && last.startsWith('-')) return optionsAt(place, last, profiles);
  // After `help` stand the words of a command.
  const named = place.node === childOf(root, 'help') ? walk(root, words.slice(words.indexOf('help') + 1, -1)) : place;
  if (named !== place) return matching({ candidates: commandsOf(named.node), files: false }, last);
  if (place.operands === 0 && place.node.commands.length > 0) {
    return matching({ candidates: commandsOf(place.node), files: false }, last);
  }
  const argument = place.node.arguments[place.operands] ?? place.node.arguments.findLast((one) => one.variadic);
  return argument ? matching(await values({ ...argument, value: argument.name }, profiles), last) : NOTHING;
}

interface Position {
  readonly node: CommandNode;
  /** Options that may stand here: the command's own and those of the commands above it. */
  readonly options: readonly OptionNode[];
  readonly used: ReadonlySet<string>;
  readonly operands: number;
  readonly awaiting: OptionNode | undefined;
  readonly onlyOperands: boolean;
}

// Reads the finished words as commander does: options anywhere, a value after an option that takes one.
function walk(root: CommandNode, words: readonly string[]): Position {
  let node = root;
  let options = root.options;
  let operands = 0;
  let awaiting: OptionNode | undefined;
  let onlyOperands = false;
  const used = new Set<string>();
  for (const word of words) {
    if (awaiting) awaiting = undefined;
    else if (onlyOperands) operands++;
    else if (word === '--') onlyOperands = true;
    else if (word.startsWith('-') && word !== '-') {
      const option = find(options, word.replace(/=.*$/s, ''));
      if (option?.long) used.add(option.long);
      awaiting = option?.value && !word.includes('=') ? option : undefined;
    } else {
      const child = operands === 0 ? childOf(node, word) : undefined;
      if (!child) operands++;
      else {
        node = child;
        options = [...child.options, ...options];
      }
    }
  }
  return { node, options, used, operands, awaiting, onlyOperands };
}

function childOf(node: CommandNode, word: string): CommandNode | undefined {
  return node.commands.find((child) => child.path.at(-1) === word || child.aliases.includes(word));
}

function find(options: readonly OptionNode[], flag: string): OptionNode | undefined {
  return options.find((option) => option.long === flag || option.short === flag);
}

async function optionsAt(
  place: Position,
  last: string,
  profiles: () => Promise<readonly string[]>,
): Promise<Suggestions> {
  const equals = last.indexOf('=');
  if (equals > 0) {
    const flag = last.slice(0, equals);
    const option = find(place.options, flag);
    if (!option?.value) return NOTHING;
    const { candidates } = await values(option, profiles);
    return matching(
      { candidates: candidates.map((one) => ({ ...one, value: `${flag}=${one.value}` })), files: false },
      last,
    );
  }
  const free = place.options.filter((option) => option.long && (option.repeatable || !place.used.has(option.long)));
  const candidates = free.map((option) => ({ value: option.long ?? '', description: option.description }));
  return matching({ candidates: [...candidates, { value: '--help', description: 'show help' }], files: false }, last);
}

// What a value may be is told by its choices, else by its name in the definition: <file>, <profile>.
async function values(
  of: { readonly value?: string; readonly long?: string; readonly choices?: readonly string[] },
  profiles: () => Promise<readonly string[]>,
): Promise<Suggestions> {
  if (of.choices) return { candidates: of.choices.map((value) => ({ value, description: '' })), files: false };
  if (of.long === '--profile' || of.value === 'profile') {
    return { candidates: (await profiles()).map((value) => ({ value, description: 'profile' })), files: false };
  }
  return { candidates: [], files: of.value === 'file' };
}

function commandsOf(node: CommandNode): readonly Candidate[] {
  return node.commands.map((child) => ({ value: child.path.at(-1) ?? '', description: child.description }));
}

function matching({ candidates, files }: Suggestions, start: string): Suggestions {
  return { candidates: candidates.filter(({ value }) => value.startsWith(start)), files };
}

/** One candidate a line: value, tab, description; `:files` asks the shell for files. */
export const view: View<Suggestions> = {
  text: ({ candidates, files }) => [
    ...candidates.map(({ value, description }) => `${escapeControls(value)}\t${escapeControls(description)}\n`),
    ...(files ? [':files\n'] : []),
  ],
};
