// `petstore completion`, and `petstore __complete`, which its scripts call for candidates; `:files` stands for the shell's file completion.
import type { Command, Option } from 'commander';
import { Argument } from 'commander';
import { invalidValueError } from '../../settings/check-options.ts';
import { escapeControls } from '../../text/escape.ts';
import { formatChoices } from '../../text/format.ts';
import type { Action } from '../command.ts';
import { actionHandler, findCommand, PetstoreCommand, rootOf, subcommandsOf } from '../command.ts';
import { withChoices } from '../global-options.ts';
import { HELP_TOPICS } from '../reference.ts';

const SHELLS = ['bash', 'zsh', 'fish', 'powershell'];

const scriptAction: Action<object, { readonly shell: string; readonly script: string }> = {
  async run(_session, _options, shell = '') {
    const { SCRIPTS } = await import('./completion-scripts.ts');
    const script = SCRIPTS.get(shell);
    if (!script) throw invalidValueError(shell, 'SHELL', `use ${formatChoices(SHELLS)}`);
    return { shell, script };
  },
  view: { text: ({ script }) => [script] },
};

/** Stands for the shell's own completion of files. */
const FILES = ':files';

type ProfileNames = () => Promise<readonly string[]>;

const suggestAction = (root: Command): Action<{ readonly atBlank?: true }, readonly string[]> => ({
  async run(session, { atBlank }, ...words) {
    return suggest(root, atBlank ? [...words, ''] : words, async () => (await session.profiles()).names());
  },
  view: { text: (candidates) => candidates.map((one) => `${escapeControls(one, '\t')}\n`) },
});

/**
 * Suggests completions of the last word, which is under the cursor.
 * @param words after the program's name, `--format=csv` split into three as bash does, or as one word
 * @param profiles called only to complete the name of a profile
 * @returns the candidates, each with a tab and its description, if it has one; or `:files`
 */
export async function suggest(root: Command, words: readonly string[], profiles: ProfileNames): Promise<string[]> {
  const last = words.at(-1)?.replace(/^=$/, '') ?? '';
  const [, prefix = '', flag] = /^((--[\w-]+)=)/.exec(last) ?? [];
  const typed = [...words.slice(0, -1), ...(flag === undefined ? [] : [flag])].filter((one) => one !== '=');
  const candidates = await candidatesAfter(root, typed, last.startsWith('-'), profiles);
  return candidates.includes(FILES)
    ? [FILES]
    : candidates.map((one) => `${prefix}${one}`).filter((one) => one.startsWith(last));
}

async function candidatesAfter(
  root: Command,
  typed: readonly string[],
  isFlag: boolean,
  profiles: ProfileNames,
): Promise<readonly string[]> {
  const { command, operands, awaiting } = readWords(root, typed);
  const value = awaiting ?? command.registeredArguments[operands.length];
  if (!awaiting && isFlag) return flagsOf(command);
  if (!awaiting && operands.length === 0 && command.commands.length > 0) return namesBelow(command);
  if (command.name() === 'help') return helpWords(root, operands);
  if (!value) return [];
  if (isProfile(value, command)) return (await profiles()).map((name) => `${name}\tprofile`);
  if (isFile(value)) return [FILES];
  return value.argChoices ?? [];
}

/** The command that the words name, the operands after it, and the option whose value comes next. */
function readWords(root: Command, words: readonly string[]) {
  let command = root;
  let operands: string[] = [];
  let awaiting: Option | undefined;
  for (const word of words) {
    const isValue = awaiting !== undefined;
    awaiting = isValue
      ? undefined
      : command.options.find((one) => one.required && [one.long, one.short].includes(word));
    if (isValue || word.startsWith('-')) continue;
    const child = operands.length === 0 ? findCommand(command, [word]).command : command;
    if (child === command) operands.push(word);
    else [command, operands] = [child, []];
  }
  return { command, operands, awaiting };
}

function helpWords(root: Command, words: readonly string[]): readonly string[] {
  const { command, rest } = findCommand(root, words);
  if (rest.length > 0) return [];
  return [...namesBelow(command), ...(command === root ? HELP_TOPICS.keys() : [])];
}

function isProfile(value: Option | Argument, command: Command): boolean {
  return value instanceof Argument ? command.parent?.name() === 'auth' : value.name() === 'profile';
}

/** Whether the value is a path, by its placeholder. */
function isFile(value: Option | Argument): boolean {
  return value instanceof Argument ? value.name() === 'file' : value.flags.endsWith('<file>');
}

function flagsOf(command: Command): readonly string[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map(({ long, description }) => `${long}\t${description}`);
}

function namesBelow(group: Command): readonly string[] {
  return subcommandsOf(group).flatMap((one) =>
    [one.name(), ...one.aliases()].map((name) => `${name}\t${one.description()}`),
  );
}

export const completion = (): PetstoreCommand =>
  new PetstoreCommand('completion')
    .description('print a completion script for a shell')
    .addArgument(withChoices(new Argument('<shell>', 'the shell'), SHELLS))
    .sections({
      notes: `The script completes commands, options, their values, profile names and files. To enable completion permanently, add
the line for your shell (below) to the startup file of the shell. The script calls petstore, so it needs no change after an upgrade. It works
with bash 3.2 (macOS) and newer.`,
      output: 'the script; with --json {"shell", "script"}.',
      exitCodes: ['usage'],
      examples: [
        'eval "$(petstore completion bash)"  # ~/.bashrc',
        'eval "$(petstore completion zsh)"  # ~/.zshrc, after compinit',
        'petstore completion fish | source  # ~/.config/fish/config.fish',
        'petstore completion powershell | Out-String | Invoke-Expression  # $PROFILE',
      ],
    })
    .action(actionHandler(async () => scriptAction));

export const suggestions = (): PetstoreCommand =>
  new PetstoreCommand('__complete')
    .description('list completions for the typed words')
    .argument('[words...]', 'the words after `petstore`, the last one under the cursor')
    .option('--at-blank', 'add an empty last word')
    .action(actionHandler(async (command) => suggestAction(rootOf(command))));
