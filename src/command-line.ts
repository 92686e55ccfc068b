// Reads a command line as commander does, without running it: help, completion and errors need this much of it.
import type { Command, Option } from 'commander';

export interface CommandLine {
  /** The last command that the words name. */
  readonly command: Command;
  /** The values of the given options by their long names; empty for a switch. `petstore help` counts as `--help`. */
  readonly options: ReadonlyMap<string, string>;
  /** Words that only look like options. */
  readonly unknown: readonly string[];
  readonly operands: readonly string[];
  /** The option whose value is the next word. */
  readonly awaiting: Option | undefined;
}

export function readCommandLine(root: Command, words: readonly string[]): CommandLine {
  const options = new Map<string, string>();
  const unknown: string[] = [];
  const operands: string[] = [];
  let command = root;
  let awaiting: Option | undefined;
  let isEnd = false;

  function readOption(word: string): void {
    const isLong = word.startsWith('--');
    const flag = flagOf(word);
    const hasMore = word.length > flag.length;
    if (/^(?:-h|--help)$/.test(word)) return void options.set('--help', '');
    const option = findOption(optionsOf(command), word);
    if (!option || (hasMore && isLong && !option.required)) return void unknown.push(isLong ? word : flag);
    if (option.required && !hasMore) awaiting = option;
    else options.set(longName(option), option.required ? word.slice(flag.length + (isLong ? 1 : 0)) : '');
    // `-qv` is two switches.
    if (hasMore && !option.required) readOption(`-${word.slice(2)}`);
  }

  for (const word of words) {
    const isOperand = isEnd || !/^-./.test(word);
    const child = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    // Commander reads the global options first, so a global option is never the value of another one.
    const isValue = awaiting && (root.options.includes(awaiting) || !findOption(root.options, word));
    if (awaiting && isValue) {
      options.set(longName(awaiting), word);
      awaiting = undefined;
    } else if (word === '--' && !isEnd) isEnd = true;
    else if (!isOperand) readOption(word);
    else if (child && operands.length === 0) command = child;
    else if (command === root && operands.length === 0 && word === 'help') options.set('--help', '');
    else operands.push(word);
  }
  return { command, options, unknown, operands, awaiting };
}

function flagOf(word: string): string {
  return word.startsWith('--') ? word.replace(/=.*$/s, '') : word.slice(0, 2);
}

function findOption(options: readonly Option[], word: string): Option | undefined {
  const flag = flagOf(word);
  return options.find(({ long, short }) => long === flag || short === flag);
}

/** The options of the command and of its parents, hidden ones included. */
export function optionsOf(command: Command): readonly Option[] {
  return [...command.options, ...(command.parent ? optionsOf(command.parent) : [])];
}

function longName(option: Option): string {
  return option.long ?? option.flags;
}
