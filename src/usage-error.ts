// Converts commander's errors to usage errors with suggestions, in the program's own wording.
import type { Command, CommanderError, Option } from 'commander';
import { pathOf, rootOf } from './command.ts';
import { closestMatch } from './did-you-mean.ts';
import type { WriteCommand } from './errors.ts';
import { PetstoreError } from './errors.ts';
import { escapeControls } from './escape.ts';
import { looksLikeKey } from './redact.ts';

/** Commander's error with the command that was being parsed, which program.ts adds by `exitOverride`. */
export interface ParseError extends CommanderError {
  readonly command: Command;
}

type CommandHint = (petstore: WriteCommand) => string;
type Explanation = readonly [message: string, hint?: string | CommandHint | undefined];

export function usageError(error: ParseError): PetstoreError {
  const [message, hint = `see \`${pathOf(error.command)} --help\``] = explain(error);
  return new PetstoreError('usage', message, typeof hint === 'string' ? { hint } : { commandHint: hint });
}

// Rewrites commander's messages, which name only the wrong word or option.
function explain({ code, command, message }: ParseError): Explanation {
  const option = /option '.*?(--[\w-]+)/.exec(message)?.[1] ?? '';
  const word = /'([^']*)'/.exec(message)?.[1] ?? '';
  switch (code) {
    case 'commander.help':
      return missingSubcommand(command);
    case 'commander.unknownCommand':
      return unknownCommand(command, word);
    case 'commander.unknownOption':
      return unknownOption(command, word);
    case 'commander.missingMandatoryOptionValue': {
      // `--nam dog` is a mistyped `--name` rather than a missing one.
      const mistyped = command.args.find((one) => /^-./.test(one));
      return mistyped ? unknownOption(command, mistyped) : [`${option} is required`, meantOption(command)];
    }
    case 'commander.optionMissingArgument':
      return [`${option} requires a value`, useOneOf(optionNamed(command, option)?.argChoices)];
    case 'commander.conflictingOption': {
      const other = /with option '.*?(--[\w-]+)/.exec(message)?.[1];
      return [`${option} and ${other} cannot be combined`, 'use one of them'];
    }
    case 'commander.missingArgument':
      return [`missing argument <${word}>`, meantMethod(command)];
    case 'commander.excessArguments': {
      const extra = command.args[command.registeredArguments.length] ?? '';
      return [`unexpected argument ${quoted(extra)} for \`${pathOf(command)}\``, meantOption(command)];
    }
    case 'commander.invalidArgument':
      return invalidValue(command, option, message);
    default:
      return [message.replace(/^error: /, '')];
  }
}

function unknownCommand(command: Command, word: string): Explanation {
  // `petstore login` means `petstore auth login`.
  const others = rootOf(command).commands.flatMap((parent) => parent.commands);
  const near = closestCommand(visibleCommands(command), word) ?? closestCommand(others, word);
  return [`unknown command ${quoted(word)}`, near && didYouMean(near)];
}

/** The command whose name or alias is closest to the word. */
function closestCommand(commands: readonly Command[], word: string): Command | undefined {
  const named = commands.flatMap((one) => [one.name(), ...one.aliases()].map((name) => ({ name, one })));
  const match = closestMatch(
    word,
    named.map(({ name }) => name),
  );
  return named.find(({ name }) => name === match)?.one;
}

function unknownOption(command: Command, word: string): Explanation {
  // The text after `=` or after an option's letter may be a key.
  const flag = /^-\w|/.exec(word)?.[0] || word.replace(/=.*$/s, '');
  const known = [...command.options, ...rootOf(command).options].filter(({ hidden }) => !hidden);
  const match = closestMatch(flag, ['--help', ...known.flatMap(({ long }) => long ?? [])]);
  return [`unknown option ${quoted(flag)}`, match && `did you mean \`${match}\`?`];
}

function invalidValue(command: Command, flag: string, message: string): Explanation {
  const value = /(?:argument|value) '(.*)' is invalid/s.exec(message)?.[1] ?? '';
  const option = optionNamed(command, flag);
  if (option) return [`invalid value ${quoted(value)} for ${flag}`, useOneOf(option.argChoices)];
  const argument = command.registeredArguments.find(({ argChoices }) => argChoices);
  return [`unknown ${argument?.name()} ${quoted(value)}`, useOneOf(argument?.argChoices)];
}

function optionNamed(command: Command, flag: string): Option | undefined {
  return [...command.options, ...rootOf(command).options].find(({ long }) => long === flag);
}

function useOneOf(choices: readonly string[] | undefined): string | undefined {
  return choices && `use ${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;
}

// In `categories create dog`, `dog` is meant as the value of the required option.
function meantOption(command: Command): CommandHint | undefined {
  const required = command.options.find((option) => option.mandatory);
  const [value, ...others] = command.args;
  if (!required?.long || value === undefined || others.length > 0 || looksLikeKey(value)) return undefined;
  return didYouMean(command, required.long, escapeControls(value));
}

// `petstore api categories` means `petstore api GET categories`.
function meantMethod(command: Command): CommandHint | undefined {
  const [first, second] = command.registeredArguments;
  const [path = ''] = command.args;
  if (first?.name() !== 'method' || !second || path === '' || /^[A-Z]+$/.test(path) || looksLikeKey(path))
    return undefined;
  return didYouMean(command, 'GET', escapeControls(path));
}

function didYouMean(command: Command, ...words: readonly string[]): CommandHint {
  const [, ...path] = pathOf(command).split(' ');
  return (petstore) => `did you mean ${petstore(...path, ...words)}?`;
}

function missingSubcommand(command: Command): Explanation {
  const names = visibleCommands(command).map((one) => one.name());
  return [`missing subcommand after \`${pathOf(command)}\``, useOneOf(names)];
}

function visibleCommands(command: Command): readonly Command[] {
  return command.createHelp().visibleCommands(command);
}

function quoted(word: string): string {
  return looksLikeKey(word) ? '"[redacted]"' : `"${escapeControls(word.slice(0, 60))}"`;
}
