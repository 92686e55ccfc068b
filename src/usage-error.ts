// Turns commander's errors into usage errors with a suggestion; a key typed in the wrong place is never repeated.
import type { Command, CommanderError } from 'commander';
import { pathOf, rootOf } from './command.ts';
import { closestMatch } from './did-you-mean.ts';
import { PetstoreError, rephrase } from './errors.ts';
import { escapeControls } from './escape.ts';
import { looksLikeKey, withoutSecretKeys } from './redact.ts';

/** Commander's error, and the command that was being parsed: `exitOverride` in program.ts adds it. */
export interface ParseError extends CommanderError {
  readonly command: Command;
}

/** @param args the arguments as typed */
export function usageError(error: ParseError, args: readonly string[]): PetstoreError {
  const { code, command } = error;
  if (code === 'commander.help') return missingSubcommand(command);
  const mistyped = ABOUT_OPTIONS.includes(code) ? unknownOption(command) : undefined;
  let text = (mistyped ?? error).message.replace(/^error: /, '');
  const keys = keysIn(args);
  for (const key of keys) text = text.replaceAll(key, '[redacted]');
  const [message = '', suggestion] = text.split('\n');
  const match = /Did you mean (.*)\?\)?$/.exec(suggestion ?? '')?.[1];
  const word = /^unknown command '(.+)'$/.exec(message)?.[1];
  const meant = match ?? (word && commandNamed(word, rootOf(command)));
  const option = !mistyped && MISPLACED_VALUE.includes(code) ? optionFor(command, keys) : undefined;
  const help = `see \`${pathOf(command)} --help\``;
  const hint = meant ? `did you mean ${meant}?` : option ? `did you mean \`${option}\`? ${help}` : help;
  return new PetstoreError('usage', message, { hint });
}

/** Redacts typed keys in a usage error; a path is repeated, since it is needed to find the mistake. */
export function withoutTypedKeys(error: unknown, args: readonly string[]): unknown {
  if (!(error instanceof PetstoreError) || error.kind !== 'usage') return error;
  const keys = keysIn(args).filter((word) => !/\/|\.[a-z]{1,6}$/.test(word));
  const redact = (text: string): string =>
    withoutSecretKeys(keys.reduce((left, key) => left.replaceAll(wholeWord(key), '[redacted]'), text));
  return rephrase(error, redact(error.message), error.hint && redact(error.hint));
}

// A mistyped name is not a key because a listed name starts with it.
function wholeWord(key: string): RegExp {
  return new RegExp(`(?<![\\w-])${key.replace(/[^\w]/g, '\\$&')}(?![\\w-])`, 'g');
}

// The typed words that may be keys, including what follows `=`, a separator, or an option's letter.
function keysIn(args: readonly string[]): readonly string[] {
  const words = args.flatMap((arg) => [
    arg,
    ...arg.split(/[\s=:,"'<>@]+/),
    arg.slice(arg.indexOf('=') + 1),
    arg.replace(/^-\w/, ''),
  ]);
  return words.filter(looksLikeKey);
}

// Commander reports a missing option before an unknown one, but `--nam dog` is a mistyped name.
const ABOUT_OPTIONS = ['commander.unknownOption', 'commander.missingMandatoryOptionValue'];

function unknownOption(command: Command): CommanderError | undefined {
  const option = command.args.find((word) => /^-./.test(word));
  if (option === undefined) return undefined;
  try {
    // Not in commander's types. A value after `=` may be a key, and hides the closest option.
    (command as unknown as { unknownOption(flag: string): void }).unknownOption(option.replace(/=.*$/s, ''));
  } catch (error) {
    return error as CommanderError;
  }
  return undefined;
}

const MISPLACED_VALUE = ['commander.excessArguments', 'commander.missingMandatoryOptionValue'];

// `categories create dog` means the value of the required option.
function optionFor(command: Command, keys: readonly string[]): string | undefined {
  const required = command.options.find((option) => option.mandatory);
  const [value, ...others] = command.args;
  if (!required?.long || value === undefined || others.length > 0 || keys.includes(value)) return undefined;
  return `${pathOf(command)} ${required.long} ${/^[\w.-]+$/.test(value) ? value : JSON.stringify(escapeControls(value))}`;
}

function missingSubcommand(command: Command): PetstoreError {
  const names = command
    .createHelp()
    .visibleCommands(command)
    .map((one) => one.name());
  const hint = `use one of ${names.join(', ')}; see \`${pathOf(command)} --help\``;
  return new PetstoreError('usage', `missing subcommand after \`${pathOf(command)}\``, { hint });
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
