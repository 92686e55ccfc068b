// Turns commander's errors into usage errors with a suggestion; a key typed in the wrong place is never repeated.
import type { Command, CommanderError } from 'commander';
import { closestMatch } from './did-you-mean.ts';
import { PetstoreError } from './errors.ts';
import { escapeControls } from './escape.ts';
import { looksLikeKey } from './redact.ts';

/** @param args the arguments as typed */
export function usageError(error: CommanderError, args: readonly string[], program?: Command): PetstoreError {
  const target = program && parse(args, program);
  if (error.code === 'commander.help') return missingSubcommand(target?.command);
  const mistyped = target && ABOUT_OPTIONS.includes(error.code) ? unknownOption(target) : undefined;
  let text = (mistyped ?? error).message.replace(/^error: /, '');
  const keys = keysIn(args);
  for (const key of keys) text = text.replaceAll(key, '[redacted]');
  const [message = '', suggestion] = text.split('\n');
  const match = /Did you mean (.*)\?\)?$/.exec(suggestion ?? '')?.[1];
  const word = /^unknown command '(.+)'$/.exec(message)?.[1];
  const meant = match ?? (word && program ? commandNamed(word, program) : undefined);
  const option = target && MISPLACED_VALUE.includes(error.code) ? optionFor(target, keys) : undefined;
  const help = `see \`${target ? pathOf(target.command) : 'petstore'} --help\``;
  const hint = meant ? `did you mean ${meant}?` : option ? `did you mean \`${option}\`? ${help}` : help;
  return new PetstoreError('usage', message, { hint });
}

/** The typed words that may be keys, including what follows `=`, a separator, or an option's letter. */
export function keysIn(args: readonly string[]): readonly string[] {
  const words = args.flatMap((arg) => [
    arg,
    ...arg.split(/[\s=:,"'<>@]+/),
    arg.slice(arg.indexOf('=') + 1),
    arg.replace(/^-\w/, ''),
  ]);
  return words.filter(looksLikeKey);
}

interface ParsedCommand {
  readonly command: Command;
  readonly operands: readonly string[];
  readonly unknown: readonly string[];
}

/** The command that the arguments name, as far as they do. */
export function commandOf(args: readonly string[], program: Command): Command {
  return parse(args, program).command;
}

function parse(args: readonly string[], program: Command): ParsedCommand {
  let [command, words] = [program, [...args]];
  for (;;) {
    const { operands, unknown } = parseOptions(command, words);
    const [name, ...others] = operands;
    const child = command.commands.find((one) => one.name() === name || one.aliases().includes(name ?? ''));
    if (!child) return { command, operands, unknown };
    [command, words] = [child, [...others, ...unknown]];
  }
}

function parseOptions(
  command: Command,
  words: string[],
): Pick<ParsedCommand, 'operands' | 'unknown'> & { unknown: string[] } {
  try {
    return command.parseOptions(words);
  } catch {
    // The value of an option is invalid, which is the error to report.
    return { operands: [], unknown: [] };
  }
}

// Commander reports a missing option before an unknown one, but `--nam dog` is a mistyped name.
const ABOUT_OPTIONS = ['commander.unknownOption', 'commander.missingMandatoryOptionValue'];

function unknownOption({ command, unknown }: ParsedCommand): CommanderError | undefined {
  if (unknown[0] === undefined) return undefined;
  try {
    // Not in commander's types. A value after `=` may be a key, and hides the closest option.
    (command as unknown as { unknownOption(flag: string): void }).unknownOption(unknown[0].replace(/=.*$/s, ''));
  } catch (error) {
    return error as CommanderError;
  }
  return undefined;
}

const MISPLACED_VALUE = ['commander.excessArguments', 'commander.missingMandatoryOptionValue'];

// `categories create dog` means the value of the required option.
function optionFor({ command, operands }: ParsedCommand, keys: readonly string[]): string | undefined {
  const required = command.options.find((option) => option.mandatory);
  const [value] = operands;
  if (!required?.long || value === undefined || operands.length > 1 || keys.includes(value)) return undefined;
  return `${pathOf(command)} ${required.long} ${/^[\w.-]+$/.test(value) ? value : JSON.stringify(escapeControls(value))}`;
}

function missingSubcommand(command: Command | undefined): PetstoreError {
  const names = command?.commands.map((one) => one.name()).filter((name) => !name.startsWith('_')) ?? [];
  const path = command ? pathOf(command) : 'petstore';
  const hint = `use one of ${names.join(', ')}; see \`${path} --help\``;
  return new PetstoreError('usage', `missing subcommand after \`${path}\``, { hint });
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

// `petstore login` means `petstore auth login`.
function commandNamed(word: string, program: Command): string | undefined {
  const subcommands = program.commands.flatMap((parent) =>
    parent.commands.flatMap((one) => [one.name(), ...one.aliases()].map((name) => ({ name, path: pathOf(one) }))),
  );
  const match = closestMatch(
    word,
    subcommands.map(({ name }) => name),
  );
  return subcommands.find(({ name }) => name === match)?.path;
}
