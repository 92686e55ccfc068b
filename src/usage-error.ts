// Converts commander's errors to usage errors: commander's words in the program's style, with suggestions.
import type { Command, CommanderError } from 'commander';
import { commandPath, rootOf } from './command.ts';
import type { Context } from './context.ts';
import { closestMatch } from './did-you-mean.ts';
import { PetstoreError } from './errors.ts';
import { looksLikeKey } from './redact.ts';
import type { FormatCommand } from './shell-quote.ts';
import { createCommandFormatter } from './shell-quote.ts';

/** Commander's error with the command that was being parsed, which program.ts adds by `exitOverride`. */
export interface ParseError extends CommanderError {
  readonly command: Command;
}

/** The words of other programs for our commands. */
const SYNONYMS: Readonly<Record<string, string>> = {
  category: 'categories',
  add: 'create',
  new: 'create',
  whoami: 'auth status',
  'auth list': 'auth status',
  version: '--version',
};

/** @param profile the value of `--profile`, which the commands of hints repeat */
export function usageError(parseError: ParseError, context: Context, profile: string | undefined): PetstoreError {
  const { code, command, message } = parseError;
  const petstore = createCommandFormatter(context, profile);
  const [what = '', choices] = message.replace(/^error: |\. Expected .*$/gs, '').split('. Allowed choices are ');
  const word = /'([^']*)'/.exec(what)?.[1] ?? '';
  const mistyped = command.args.find((one) => /^-./.test(one));
  if (code === 'commander.help') {
    const names = visibleCommands(command).map((one) => one.name());
    return error(`missing subcommand after \`${commandPath(command)}\``, use(names.join(', ')));
  }
  if (code === 'commander.unknownOption') return unknownOption(command, word);
  // `--nam dog` is a mistyped `--name` rather than a missing one.
  if (code === 'commander.missingMandatoryOptionValue' && mistyped) return unknownOption(command, mistyped);
  const hints: Partial<Record<string, string | undefined>> = {
    'commander.unknownCommand': meantCommand(command, command.args.slice(command.args.indexOf(word)), petstore),
    'commander.missingMandatoryOptionValue': meantArgument(command, petstore),
    'commander.missingArgument': word === 'file' ? 'pass a file, or - to read stdin' : meantArgument(command, petstore),
    'commander.conflictingOption': 'use one of them',
    'commander.invalidArgument': choices && use(choices.replace(/\.$/, '')),
  };
  // Commander calls the value of an argument "command-argument value".
  const plain = what.replace(/^command-argument value ('.*') is invalid for argument '(.*)'$/s, 'invalid $2 $1');
  return error(plain.replace(/'([^']*)'/g, '"$1"'), hints[code] ?? help(command));
}

function error(message: string, hint: string): PetstoreError {
  return new PetstoreError('usage', message, { hint });
}

function help(command: Command): string {
  return `see \`${commandPath(command)} --help\``;
}

/** @param list separated by commas */
function use(list: string): string {
  return `use ${list.replace(/, ([^,]*)$/, ' or $1')}`;
}

function unknownOption(command: Command, word: string): PetstoreError {
  // The text after `=` or after an option's letter may be a key.
  const flag = /^-\w|/.exec(word)?.[0] || word.replace(/=.*$/s, '');
  const options = [...command.options, ...rootOf(command).options].filter(({ hidden }) => !hidden);
  const known = ['--help', ...options.flatMap(({ long }) => long ?? [])];
  const starts = known.filter((long) => long.startsWith(flag));
  const match = starts.length === 1 ? starts[0] : closestMatch(flag, known);
  return error(`unknown option "${flag}"`, match ? `did you mean \`${match}\`?` : help(command));
}

// Searches all commands: `petstore login` means `petstore auth login`, `category list` means `categories list`.
function meantCommand(parent: Command, words: readonly string[], petstore: FormatCommand): string | undefined {
  const [word = '', ...rest] = words;
  const [, ...path] = commandPath(parent).split(' ');
  const synonym = SYNONYMS[[...path, word].join(' ')] ?? SYNONYMS[word] ?? word;
  if (/[ -]/.test(synonym)) return didYouMean(petstore, synonym.split(' '));
  const others = commandsBelow(rootOf(parent));
  const near = closestCommand(visibleCommands(parent), synonym) ?? closestCommand(others, synonym);
  if (near && near.commands.length > 0) return meantCommand(near, rest, petstore) ?? help(near);
  return near && suggest(near, rest, petstore);
}

// Without arguments, names stand for those that the command requires.
function suggest(command: Command, typed: readonly string[], petstore: FormatCommand): string {
  const [, ...path] = commandPath(command).split(' ');
  const options = command.options.filter(({ mandatory }) => mandatory).flatMap(({ long }) => [long ?? '', 'NAME']);
  const args = command.registeredArguments.filter(({ required }) => required).map((one) => one.name().toUpperCase());
  return didYouMean(petstore, [...path, ...(typed.length > 0 ? typed : [...options, ...args])]);
}

function commandsBelow(command: Command): readonly Command[] {
  return visibleCommands(command).flatMap((one) => [one, ...commandsBelow(one)]);
}

/** The command whose name or alias is closest to the word. */
function closestCommand(commands: readonly Command[], word: string): Command | undefined {
  const namesOf = (one: Command): string[] => [one.name(), ...one.aliases()];
  const match = closestMatch(word, commands.flatMap(namesOf));
  return commands.find((one) => match !== undefined && namesOf(one).includes(match));
}

// `categories create dog` means `categories create --name dog`, and `api categories` means `api GET categories`.
function meantArgument(command: Command, petstore: FormatCommand): string | undefined {
  const [value = '', ...others] = command.args;
  const isPath = command.name() === 'api' && !/^[A-Z]+$/.test(value);
  const missing = isPath ? 'GET' : command.options.find(({ mandatory }) => mandatory)?.long;
  if (!missing || value === '' || others.length > 0 || looksLikeKey(value)) return undefined;
  const words = [...rootOf(command).context.args];
  words.splice(words.lastIndexOf(value), 0, missing);
  return didYouMean(petstore, words);
}

function didYouMean(petstore: FormatCommand, words: readonly string[]): string {
  return `did you mean ${petstore(...words)}?`;
}

function visibleCommands(command: Command): readonly Command[] {
  return command.createHelp().visibleCommands(command);
}
