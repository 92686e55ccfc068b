// Suggests completions for the words typed so far; called by the completion scripts.
import type { Argument, Command, Option } from 'commander';
import type { Action } from '../../command.ts';
import { escapeControls } from '../../escape.ts';
import { BUILT_IN } from '../../profiles/store.ts';
import { FAULT_KINDS } from '../../sandbox/faults.ts';

interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** The line that makes a script offer files too. */
const FILES = ':files';

type ProfileNames = () => Promise<readonly string[]>;

export const suggestAction = (root: Command): Action<{ readonly atBlank?: true }, readonly Candidate[]> => ({
  async run(session, { atBlank }, ...words) {
    // If the profiles cannot be read, suggest the built-in ones: the scripts show no errors.
    const names: ProfileNames = async () => (await session.profiles()).names();
    return suggest(root, atBlank ? [...words, ''] : words, () => names().catch(() => BUILT_IN));
  },
  /** Prints one candidate per line: value, tab, description. */
  view: {
    text: (candidates) =>
      candidates.map((one) => `${escapeControls([one.value, one.description].filter(Boolean).join('\t'), '\t')}\n`),
  },
});

/**
 * Suggests completions of the last word.
 * @param words after the program's name, `--format=csv` split into three as bash does; the last is under the cursor
 * @param profiles called only if the last word is a profile
 */
export async function suggest(
  root: Command,
  words: readonly string[],
  profiles: ProfileNames,
): Promise<readonly Candidate[]> {
  const last = words.at(-1)?.replace(/^=$/, '') ?? '';
  const candidates = await candidatesAt(read(root, words.slice(0, -1)), last, profiles);
  return candidates.filter(({ value }) => value === FILES || value.startsWith(last));
}

async function candidatesAt(
  { command, options, operands, awaiting }: Position,
  last: string,
  profiles: ProfileNames,
): Promise<readonly Candidate[]> {
  if (awaiting) return values(awaiting, profiles);
  if (last.startsWith('-')) return options.map(({ long, description }) => ({ value: long ?? '', description }));
  if (operands === 0 && command.commands.length > 0) return subcommands(command);
  const argument = command.registeredArguments[operands];
  return argument ? values(argument, profiles) : [];
}

interface Position {
  readonly command: Command;
  /** The options of the command and of its parents. */
  readonly options: readonly Option[];
  readonly operands: number;
  /** The option whose value is under the cursor. */
  readonly awaiting: Option | undefined;
}

// Parses the words before the last as commander does: options anywhere, a value after an option that takes one.
function read(root: Command, words: readonly string[]): Position {
  let command = root;
  let options = optionsOf(root);
  let operands = 0;
  let awaiting: Option | undefined;
  for (const word of words.filter((one) => one !== '=')) {
    if (awaiting) awaiting = undefined;
    else if (word.startsWith('-') && word !== '-') {
      const [flag] = word.split('=');
      const option = options.find(({ long, short }) => long === flag || short === flag);
      if (option?.required && !word.includes('=')) awaiting = option;
    } else {
      const child = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
      // The words after `petstore help` name a command.
      if (command === root && operands === 0 && word === 'help') continue;
      if (child && operands === 0) {
        command = child;
        options = optionsOf(child);
      } else operands++;
    }
  }
  return { command, options, operands, awaiting };
}

function optionsOf(command: Command): readonly Option[] {
  const help = Object.assign(command.createHelp(), { showGlobalOptions: true });
  return [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
}

function subcommands(command: Command): readonly Candidate[] {
  const visible = command.createHelp().visibleCommands(command);
  return visible.flatMap((one) =>
    [one.name(), ...one.aliases()].map((value) => ({ value, description: one.description() })),
  );
}

// The placeholder of a value determines its candidates: <file>, <profile>, <fault>.
async function values(of: Option | Argument, profiles: ProfileNames): Promise<readonly Candidate[]> {
  const name = 'flags' in of ? (/<(.+?)>/.exec(of.flags)?.[1] ?? '') : of.name();
  const isProfile = name === 'profile' || of.name() === 'profile';
  const all =
    of.argChoices ?? (isProfile ? await profiles() : name === 'fault' ? FAULT_KINDS : name === 'file' ? [FILES] : []);
  return all.map((value) => ({ value, description: isProfile ? 'profile' : '' }));
}
