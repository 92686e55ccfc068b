// What Tab offers for the words typed so far. Called by the completion scripts.
import type { Argument, Command, Option } from 'commander';
import { escapeControls } from '../../escape.ts';
import type { Action } from '../command.ts';
import { isRepeatable, pathOf, rootOf, visibleCommands } from '../commands.ts';

interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** What may stand at the cursor. */
export interface Suggestions {
  readonly candidates: readonly Candidate[];
  /** Whether the shell should offer files too. */
  readonly files: boolean;
}

type ProfileNames = () => Promise<readonly string[]>;

const NOTHING: Suggestions = { candidates: [], files: false };

export const suggestAction: Action<{ readonly atBlank?: true }, Suggestions> = {
  async run(session, { args, options, command }) {
    const profiles: ProfileNames = async () => {
      try {
        return (await session.profiles()).names();
      } catch {
        // An error message in the middle of a command line helps nobody.
        return ['production', 'staging', 'sandbox'];
      }
    };
    return suggest(rootOf(command), options.atBlank ? [...args, ''] : args, profiles);
  },
  /** One candidate a line: value, tab, description; `:files` asks the shell for files. */
  view: {
    text: ({ candidates, files }) => [
      ...candidates.map(({ value, description }) => `${escapeControls(value)}\t${escapeControls(description)}\n`),
      ...(files ? [':files\n'] : []),
    ],
  },
};

/**
 * Suggests candidates that begin with the last word.
 * @param words after the program's name; the last is under the cursor and may be empty
 * @param profiles called only where a profile is wanted
 */
export async function suggest(root: Command, words: readonly string[], profiles: ProfileNames): Promise<Suggestions> {
  const last = words.at(-1) ?? '';
  const position = walk(root, words.slice(0, -1));
  const { command, operands } = position;
  if (position.awaiting) return matching(await optionValues(position.awaiting, profiles), last);
  if (!position.onlyOperands && last.startsWith('-')) return suggestOptions(position, last, profiles);
  if (command.name() === 'help') {
    const target = walk(root, words.slice(words.indexOf('help') + 1, -1)).command;
    return matching({ candidates: subcommands(target), files: false }, last);
  }
  if (operands === 0 && command.commands.length > 0) {
    return matching({ candidates: subcommands(command), files: false }, last);
  }
  const known = command.registeredArguments;
  const argument = known[operands] ?? known.findLast((one) => one.variadic);
  return argument ? matching(await argumentValues(argument, profiles), last) : NOTHING;
}

interface Position {
  readonly command: Command;
  /** Those of the command and of the commands above it. */
  readonly options: readonly Option[];
  readonly used: ReadonlySet<Option>;
  readonly operands: number;
  /** The option whose value is under the cursor. */
  readonly awaiting: Option | undefined;
  readonly onlyOperands: boolean;
}

// Reads the finished words as commander does: options anywhere, a value after an option that takes one.
function walk(root: Command, words: readonly string[]): Position {
  let command = root;
  let options = visibleOptions(root);
  let operands = 0;
  let awaiting: Option | undefined;
  let onlyOperands = false;
  const used = new Set<Option>();
  for (const word of words) {
    if (awaiting) awaiting = undefined;
    else if (onlyOperands) operands++;
    else if (word === '--') onlyOperands = true;
    else if (word.startsWith('-') && word !== '-') {
      const option = options.find((one) => isFlag(one, word.replace(/=.*$/s, '')));
      if (option) used.add(option);
      awaiting = option?.required && !word.includes('=') ? option : undefined;
    } else {
      const child =
        operands === 0
          ? command.commands.find((one) => one.name() === word || one.aliases().includes(word))
          : undefined;
      if (!child) operands++;
      else {
        command = child;
        options = [...visibleOptions(child), ...options];
      }
    }
  }
  return { command, options, used, operands, awaiting, onlyOperands };
}

function isFlag({ long, short }: Option, flag: string): boolean {
  return flag === long || flag === short;
}

function visibleOptions(command: Command): readonly Option[] {
  return command.options.filter(({ hidden }) => !hidden);
}

function subcommands(command: Command): readonly Candidate[] {
  return visibleCommands(command).map((one) => ({ value: pathOf(one).at(-1) ?? '', description: one.description() }));
}

async function suggestOptions({ options, used }: Position, last: string, profiles: ProfileNames): Promise<Suggestions> {
  const [flag = '', value] = last.split('=', 2);
  if (value !== undefined) {
    const option = options.find((one) => isFlag(one, flag));
    if (!option?.required) return NOTHING;
    const { candidates } = await optionValues(option, profiles);
    const joined = candidates.map((one) => ({ ...one, value: `${flag}=${one.value}` }));
    return matching({ candidates: joined, files: false }, last);
  }
  const free = options.filter((option) => !used.has(option) || isRepeatable(option));
  const candidates = free.map(({ long, description }) => ({ value: long ?? '', description }));
  return matching({ candidates: [...candidates, { value: '--help', description: 'show help' }], files: false }, last);
}

function optionValues({ long, flags, argChoices }: Option, profiles: ProfileNames): Promise<Suggestions> {
  return values(long === '--profile' ? 'profile' : (/<(.+?)>/.exec(flags)?.[1] ?? ''), argChoices, profiles);
}

function argumentValues(argument: Argument, profiles: ProfileNames): Promise<Suggestions> {
  return values(argument.name(), argument.argChoices, profiles);
}

// The name of a value in its definition says what it may be: <file>, <profile>.
async function values(
  name: string,
  choices: readonly string[] | undefined,
  profiles: ProfileNames,
): Promise<Suggestions> {
  if (choices) return { candidates: choices.map((value) => ({ value, description: '' })), files: false };
  if (name === 'profile') {
    return { candidates: (await profiles()).map((value) => ({ value, description: 'profile' })), files: false };
  }
  return { candidates: [], files: name === 'file' };
}

function matching({ candidates, files }: Suggestions, start: string): Suggestions {
  return { candidates: candidates.filter(({ value }) => value.startsWith(start)), files };
}
