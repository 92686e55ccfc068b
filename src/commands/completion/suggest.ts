// What Tab offers for the words typed so far. Called by the completion scripts.
import type { Command, Option } from 'commander';
import type { Action } from '../../command.ts';
import { escapeControls } from '../../escape.ts';
import { BUILT_IN } from '../../profiles/store.ts';

interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** Asks the shell to offer files too. */
const FILES: Candidate = { value: ':files', description: '' };

type ProfileNames = () => Promise<readonly string[]>;

export const suggestAction = (root: Command): Action<{ readonly atBlank?: true }, readonly Candidate[]> => ({
  async run(session, options, ...args) {
    const profiles: ProfileNames = async () => {
      try {
        return (await session.profiles()).names();
      } catch {
        // An error message in the middle of a command line helps nobody.
        return BUILT_IN;
      }
    };
    return suggest(root, options.atBlank ? [...args, ''] : args, profiles);
  },
  /** One candidate a line: value, tab, description. */
  view: {
    text: (candidates) =>
      candidates.map((one) =>
        one === FILES ? `${one.value}\n` : `${escapeControls(one.value)}\t${escapeControls(one.description)}\n`,
      ),
  },
});

/**
 * Suggests what begins with the last word.
 * @param words after the program's name; the last is under the cursor and may be empty
 * @param profiles called only where a profile is wanted
 */
export async function suggest(
  root: Command,
  words: readonly string[],
  profiles: ProfileNames,
): Promise<readonly Candidate[]> {
  const last = words.at(-1) ?? '';
  const candidates = await candidatesAfter(root, words.slice(0, -1), last, profiles);
  return candidates.filter((one) => one === FILES || one.value.startsWith(last));
}

async function candidatesAfter(
  root: Command,
  words: readonly string[],
  last: string,
  profiles: ProfileNames,
): Promise<readonly Candidate[]> {
  const position = walk(root, words);
  const { command, operands, awaiting, onlyOperands } = position;
  if (awaiting) return optionValues(awaiting, profiles);
  if (!onlyOperands && last.startsWith('-')) return optionsAt(position, last, profiles);
  if (command.name() === 'help') return subcommands(walk(root, words.slice(words.indexOf('help') + 1)).command);
  if (operands === 0 && command.commands.length > 0) return subcommands(command);
  const known = command.registeredArguments;
  const argument = known[operands] ?? known.findLast((one) => one.variadic);
  return argument ? values(argument.name(), argument.argChoices, profiles) : [];
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
  const visible = command.createHelp().visibleCommands(command);
  return visible.map((one) => ({ value: one.name(), description: one.description() }));
}

async function optionsAt({ options, used }: Position, last: string, profiles: ProfileNames): Promise<Candidate[]> {
  const [flag = '', value] = last.split('=', 2);
  if (value !== undefined) {
    const option = options.find((one) => isFlag(one, flag));
    const candidates = option?.required ? await optionValues(option, profiles) : [];
    // The shells would offer files without the option in front.
    return candidates.filter((one) => one !== FILES).map((one) => ({ ...one, value: `${flag}=${one.value}` }));
  }
  const free = options.filter((option) => !used.has(option) || option.parseArg);
  const candidates = free.map(({ long, description }) => ({ value: long ?? '', description }));
  return [...candidates, { value: '--help', description: 'show help' }];
}

function optionValues({ long, flags, argChoices }: Option, profiles: ProfileNames): Promise<readonly Candidate[]> {
  return values(long === '--profile' ? 'profile' : (/<(.+?)>/.exec(flags)?.[1] ?? ''), argChoices, profiles);
}

// The name of a value in its definition says what it may be: <file>, <profile>.
async function values(
  name: string,
  choices: readonly string[] | undefined,
  profiles: ProfileNames,
): Promise<readonly Candidate[]> {
  if (choices) return choices.map((value) => ({ value, description: '' }));
  if (name === 'profile') return (await profiles()).map((value) => ({ value, description: 'profile' }));
  return name === 'file' ? [FILES] : [];
}
