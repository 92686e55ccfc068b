// The errors for unknown commands, options and help topics, and the one that was probably meant.
import type { Command, Option } from 'commander';
import { PetstoreError } from '../errors.ts';
import { closestMatch } from '../text/did-you-mean.ts';
import { commandPath, rootOf } from './command.ts';
import { HELP_TOPICS } from './reference.ts';

export const PIPE_KEY = 'pipe the key to `petstore auth login`';

/** The names that other programs use for a command or option. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  'petstore categories': ['category'],
  'petstore categories list': ['export'],
  'petstore categories get': ['show', 'view'],
  'petstore categories create': ['add', 'new'],
  'petstore auth status': ['ls', 'whoami'],
  'petstore auth switch': ['use'],
  '--format': ['--output', '-o'],
  '--json': ['--output', '-o'],
  '--search': ['--filter'],
};

/** The error for a word such as `-name`, which commander reads as several options, unless it is an option's value. */
export function singleDashError(command: Command): PetstoreError | undefined {
  const known = flagsOf(command);
  const takesValue = (word = ''): boolean =>
    command.options.some(({ required, long, short }) => required && [long, short].includes(word));
  const line = [...rootOf(command).context.args, '--'];
  const options = line.slice(0, line.indexOf('--'));
  const typed = options.find((word, at) => known.includes(`-${word}`) && !takesValue(line[at - 1]));
  return typed === undefined ? undefined : usage(`unknown option "${typed}"`, didYouMean(`-${typed}`));
}

export function unknownOptionError(command: Command, word: string): PetstoreError {
  // The text after `=` or after the letter of an option may be a key.
  const flag = word.startsWith('--') ? word.replace(/=.*$/s, '') : word.slice(0, 2);
  if (flagsOf(command).includes(flag)) return usage(`${flag} takes no value`, `use ${flag} without a value`);
  if (/^--(?:api[-_]?)?(?:key|token)$/i.test(flag)) return usage('there is no option for the API key', PIPE_KEY);
  if (/^(?:--version|-V)$/.test(flag)) return usage(`unknown option "${flag}"`, didYouMean('petstore --version'));
  const meant = closestFlag(command, flag);
  return usage(`unknown option "${flag}"`, meant === undefined ? see(command) : didYouMean(meant));
}

/** @param words begin with the one that is not a command of the group */
export function unknownCommandError(group: Command, words: readonly string[]): PetstoreError {
  const [word = ''] = words;
  const message = `unknown command "${word}"`;
  if (word === 'version') return usage(message, didYouMean('petstore --version'));
  if (/^(?:delete|remove|rm|update|edit|rename)$/.test(word) && group.name() !== 'auth') {
    return usage(`${message}: the service can only list and create categories`);
  }
  // `list-categories` and `categories:list` name a command, too.
  const parts = words.flatMap((one) => one.split(/[-:_]/));
  const meant = closestCommand(group, parts);
  return usage(message, meant && meant.name() !== 'help' ? didYouMean(commandPath(meant)) : see(group));
}

/** @param words after `help` and the name of the group; the first one is unknown */
export function unknownTopicError(group: Command, words: readonly string[]): PetstoreError {
  const [word = ''] = words;
  const topic = group.parent ? undefined : closestMatch(word, [...HELP_TOPICS.keys()]);
  const meant = closestCommand(group, words);
  const name = topic ?? (meant && commandPath(meant).replace('petstore ', ''));
  return usage(
    `unknown command or topic "${word}"`,
    name === undefined ? see(group) : didYouMean(`petstore help ${name}`),
  );
}

/** The option of the command, hidden ones excluded. */
function closestFlag(command: Command, word: string): string | undefined {
  const flags = flagsOf(command);
  return flags.find((flag) => SYNONYMS[flag]?.includes(word)) ?? closestMatch(word, flags);
}

/**
 * The command below the group, otherwise any command: `login` means `auth login`, `category list` means `categories list`.
 * @param words begin with the one that is not a command of the group
 */
function closestCommand(group: Command, words: readonly string[]): Command | undefined {
  const [word = '', ...rest] = words;
  const found = closestOf(subcommandsOf(group), word) ?? closestOf(commandsBelow(rootOf(group)), word);
  const below = found && rest.length > 0 && found.commands.length > 0 ? closestCommand(found, rest) : undefined;
  return below ?? found;
}

function closestOf(commands: readonly Command[], word: string): Command | undefined {
  const byName = (name: string) => commands.find((one) => namesOf(one).includes(name));
  const bySynonym = () => commands.find((one) => SYNONYMS[commandPath(one)]?.includes(word));
  return byName(word) ?? bySynonym() ?? byName(closestMatch(word, commands.flatMap(namesOf)) ?? '');
}

function namesOf(command: Command): readonly string[] {
  return [command.name(), ...command.aliases()];
}

/** The long options, hidden ones excluded. */
function flagsOf(command: Command): readonly string[] {
  const visible: readonly Option[] = command.createHelp().visibleOptions(command);
  return visible.flatMap(({ long }) => long ?? []);
}

function subcommandsOf(command: Command): readonly Command[] {
  return command.createHelp().visibleCommands(command);
}

function commandsBelow(command: Command): readonly Command[] {
  return subcommandsOf(command).flatMap((one) => [one, ...commandsBelow(one)]);
}

export function usage(message: string, hint?: string): PetstoreError {
  return new PetstoreError('usage', message, { hint });
}

function didYouMean(name: string): string {
  return `did you mean ${name.startsWith('-') ? name : `\`${name}\``}?`;
}

export function see(command: Command): string {
  return `see \`${commandPath(command)} --help\``;
}
