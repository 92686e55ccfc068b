// The errors of wrong usage: each names the mistake, and most have a hint that names the correction.
import type { Argument, Command, CommanderError, Option } from 'commander';
import { PetstoreError } from '../errors.ts';
import { closestMatch } from '../text/did-you-mean.ts';
import { formatChoices } from '../text/format.ts';
import { looksLikeKey } from '../text/redact.ts';
import type { PetstoreCommand } from './command.ts';
import { commandPath, rootOf, subcommandsOf } from './command.ts';
import { PIPE_KEY } from './profiles/store.ts';
import { HELP_TOPICS } from './reference.ts';
import { quoteForShell } from './shell-quote.ts';

/** After `--`, every word is an argument. */
const BEFORE_DASHES = 'put options before --';

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

/** The hints for a missing value, by the name of the option or argument. */
const VALUE_HINTS: Readonly<Record<string, string>> = {
  file: 'pass a file, or - to read stdin',
  profile: 'run `petstore auth status` to list the profiles',
};

/** Commander's error with the command that was being parsed, which program.ts adds. */
export interface ParseError extends CommanderError {
  readonly command: Command;
}

/** @returns undefined if the line asks for help and has no mistake */
export function usageError({ code, message, command }: ParseError): PetstoreError | undefined {
  const { args } = command;
  const single = singleDashWord(command);
  if (single !== undefined) return usage(`unknown option "${single}"`, didYouMean(`-${single}`));
  const flag = args.find((word) => /^-./.test(word));
  const mistyped = flag === undefined ? undefined : unknownOptionError(command, flag);
  // Commander quotes the flags of an option and the name of an argument.
  const option = command.options.find(({ flags }) => message.includes(`'${flags}'`));
  const argument = command.registeredArguments.find((one) => message.includes(`'${one.name()}'`));
  switch (code) {
    case 'commander.help':
    case 'commander.helpDisplayed':
      if (command.commands.length > 0 && /^[^-]/.test(args[0] ?? '')) return unknownCommandError(command, args);
      return flag === undefined || /^(?:-h|--help)$/.test(flag) ? undefined : mistyped;
    case 'commander.unknownCommand':
      return unknownCommandError(command, args);
    case 'commander.unknownOption':
      return mistyped;
    case 'commander.missingMandatoryOptionValue': {
      // `--nam dog` is a mistyped `--name`, and the operand of `create dog` the value of a missing `--name`.
      const value = args.length > 0 && quoteForShell(args.join(' '), rootOf(command).context);
      const hint = value ? `use ${option?.long} ${value}` : valueHint(command, option);
      return mistyped ?? usage(`${option?.long} is required`, hint);
    }
    case 'commander.optionMissingArgument':
      return usage(`${option?.long} needs a value`, valueHint(command, option));
    case 'commander.missingArgument':
      return usage(`${argument?.name().toUpperCase()} is required`, valueHint(command, argument));
    case 'commander.excessArguments': {
      const extra = args[command.registeredArguments.length] ?? '';
      return usage(`unexpected argument "${extra}"`, extraArgumentHint(command, extra));
    }
    default:
      return usage(message.replace(/^error: /, '').replaceAll("'", '"'), see(command));
  }
}

// A word such as `-name`, which commander reads as several options, unless it is an option's value.
function singleDashWord(command: Command): string | undefined {
  const known = flagsOf(command);
  const takesValue = (word = ''): boolean =>
    command.options.some(({ required, long, short }) => required && [long, short].includes(word));
  const line = [...rootOf(command).context.args, '--'];
  const options = line.slice(0, line.indexOf('--'));
  return options.find((word, at) => known.includes(`-${word}`) && !takesValue(line[at - 1]));
}

function unknownOptionError(command: Command, word: string): PetstoreError {
  // The text after `=` or after the letter of an option may be a key.
  const flag = word.startsWith('--') ? word.replace(/=.*$/s, '') : word.slice(0, 2);
  const flags = flagsOf(command);
  if (flag === word && flags.includes(flag)) return usage(`unexpected argument "${flag}"`, BEFORE_DASHES);
  if (flags.includes(flag)) return usage(`${flag} takes no value`, `use ${flag} without a value`);
  if (/^--(?:api[-_]?)?(?:key|token)$/i.test(flag)) return usage('there is no option for the API key', PIPE_KEY);
  const isVersion = /^(?:--version|-V)$/.test(flag);
  const bySynonym = flags.find((one) => SYNONYMS[one]?.includes(flag));
  const meant = isVersion ? 'petstore --version' : (bySynonym ?? closestMatch(flag, flags));
  return usage(`unknown option "${flag}"`, meant === undefined ? see(command) : didYouMean(meant));
}

/** @param words begin with the one that is not a command of the group */
function unknownCommandError(group: Command, words: readonly string[]): PetstoreError {
  const [word = ''] = words;
  const message = `unknown command "${word}"`;
  if (word === 'version') return usage(message, didYouMean('petstore --version'));
  if (/^(?:delete|remove|rm|update|edit|rename)$/.test(word) && group.name() !== 'auth') {
    return usage(`${message}: the service can only list and create categories`);
  }
  const meant = closestCommand(group, words);
  return usage(message, meant && meant.name() !== 'help' ? didYouMean(commandPath(meant)) : see(group));
}

/** @param words after `help` and the name of the group; the first one is unknown */
export function unknownTopicError(group: Command, words: readonly string[]): PetstoreError {
  const [word = ''] = words;
  const topic = group.parent ? undefined : closestMatch(word, [...HELP_TOPICS.keys()]);
  const meant = closestCommand(group, words);
  const name = topic ?? (meant && commandPath(meant).replace('petstore ', ''));
  const hint = name === undefined ? see(group) : didYouMean(`petstore help ${name}`);
  return usage(`unknown command or topic "${word}"`, hint);
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
  const namesOf = (one: Command): readonly string[] => [one.name(), ...one.aliases()];
  const byName = (name: string) => commands.find((one) => namesOf(one).includes(name));
  const bySynonym = () => commands.find((one) => SYNONYMS[commandPath(one)]?.includes(word));
  return byName(word) ?? bySynonym() ?? byName(closestMatch(word, commands.flatMap(namesOf)) ?? '');
}

/** The long options, hidden ones excluded. */
function flagsOf(command: Command): readonly string[] {
  const visible: readonly Option[] = command.createHelp().visibleOptions(command);
  return visible.flatMap(({ long }) => long ?? []);
}

function commandsBelow(command: Command): readonly Command[] {
  return subcommandsOf(command).flatMap((one) => [one, ...commandsBelow(one)]);
}

// The value is the default or the one in an example of the command's help.
function valueHint(command: Command, wanted: Option | Argument | undefined): string {
  if (wanted?.argChoices) return `use ${formatChoices(wanted.argChoices)}`;
  const flag = wanted && 'long' in wanted ? `${wanted.long} ` : '';
  const [, text = ''] = (command as PetstoreCommand).helpSections.examples.join('\n').split(flag);
  const value = wanted?.defaultValueDescription ?? wanted?.defaultValue ?? /^(?:'[^']*'|"[^"]*"|\S+)/.exec(text)?.[0];
  return VALUE_HINTS[wanted?.name() ?? ''] ?? (value ? `pass a value, for example ${flag}${value}` : see(command));
}

function extraArgumentHint(command: Command, word: string): string {
  const isTypedText = (option: Option): boolean =>
    option.required && !option.argChoices && command.getOptionValueSource(option.attributeName()) === 'cli';
  if (looksLikeKey(word)) return PIPE_KEY;
  if (flagsOf(command).includes(word)) return BEFORE_DASHES;
  if (command.name() === 'import') return 'import one file at a time';
  const mayHaveSpaces = command.name() === 'get' || command.options.some(isTypedText);
  return mayHaveSpaces ? 'quote a value that contains spaces' : see(command);
}

function usage(message: string, hint?: string): PetstoreError {
  return new PetstoreError('usage', message, { hint });
}

function didYouMean(name: string): string {
  return `did you mean ${name.startsWith('-') ? name : `\`${name}\``}?`;
}

function see(command: Command): string {
  return `see \`${commandPath(command)} --help\``;
}
