// Finds the command or option that a word probably means, also by the names that other programs use.
import type { Command, Option } from 'commander';
import { closestMatch } from '../text/did-you-mean.ts';
import { commandPath, rootOf } from './command.ts';

const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  'petstore categories': ['category'],
  'petstore categories list': ['export'],
  'petstore categories get': ['show', 'view'],
  'petstore categories create': ['add', 'new'],
  'petstore auth status': ['ls', 'list', 'whoami'],
  'petstore auth switch': ['use'],
  '--format': ['--output', '-o'],
  '--json': ['--output', '-o'],
  '--search': ['--filter'],
};

/** The option of the command, hidden ones excluded. */
export function closestFlag(command: Command, word: string): string | undefined {
  const flags = flagsOf(command);
  return flags.find((flag) => SYNONYMS[flag]?.includes(word)) ?? closestMatch(word, flags);
}

/**
 * The command below the group, otherwise any command: `login` means `auth login`, `category list` means `categories list`.
 * @param words begin with the one that is not a command of the group
 */
export function closestCommand(group: Command, words: readonly string[]): Command | undefined {
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
export function flagsOf(command: Command): readonly string[] {
  const visible: readonly Option[] = command.createHelp().visibleOptions(command);
  return visible.flatMap(({ long }) => long ?? []);
}

function subcommandsOf(command: Command): readonly Command[] {
  return command.createHelp().visibleCommands(command);
}

function commandsBelow(command: Command): readonly Command[] {
  return subcommandsOf(command).flatMap((one) => [one, ...commandsBelow(one)]);
}
