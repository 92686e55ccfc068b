// Converts commander's errors to usage errors: each names the mistake, and its hint the command or option that was meant.
import type { Argument, Command, CommanderError, Option } from 'commander';
import { PetstoreError } from '../errors.ts';
import { closestMatch } from '../text/did-you-mean.ts';
import { formatChoices } from '../text/format.ts';
import { looksLikeKey } from '../text/redact.ts';
import { commandPath, rootOf } from './command.ts';

/** The names that other programs use for our commands. */
const SYNONYMS: Readonly<Record<string, string>> = {
  category: 'categories',
  add: 'create',
  new: 'create',
  show: 'get',
  view: 'get',
  use: 'switch',
  whoami: 'status',
};

/** The hints for a missing value, by the placeholder of an option or the name of an argument. */
const VALUE_HINTS: Readonly<Record<string, string>> = {
  '<duration>': 'use a duration such as 30s or 2m',
  file: 'pass a file, or - to read stdin',
  path: 'pass a method and a path, for example GET categories',
};

/** Commander's error with the command that was being parsed, which program.ts adds. */
export interface ParseError extends CommanderError {
  readonly command: Command;
}

export function usageError({ code, message, command }: ParseError): PetstoreError {
  const { args } = command;
  // Commander's messages contain the flags of options (`option '--name <name>' argument missing`) or one quoted word.
  const [flag = '', other = ''] = message.match(/--[\w-]+/g) ?? [];
  const word = /'(.*?)'/s.exec(message)?.[1] ?? '';
  // `-profile dog` is `-p rofile` to commander.
  const single = rootOf(command).context.args.find((arg) => flagsOf(command).includes(`-${arg}`));
  if (single !== undefined) return error(`unknown option "${single}"`, didYouMean(`-${single}`));
  switch (code) {
    case 'commander.help':
      return error(
        `missing subcommand after \`${commandPath(command)}\``,
        use(subcommandsOf(command).map((one) => one.name())),
      );
    case 'commander.unknownCommand':
      return unknownCommandError(command, args);
    case 'commander.unknownOption':
      return unknownOptionError(command, word);
    case 'commander.missingMandatoryOptionValue': {
      // `--nam dog` is a mistyped `--name` rather than a missing one.
      const mistyped = args.find((arg) => /^-./.test(arg));
      if (mistyped !== undefined) return unknownOptionError(command, mistyped);
      return error(`${flag} is required`, args.length > 0 ? `use ${flag}` : `pass a name, for example ${flag} dog`);
    }
    case 'commander.optionMissingArgument': {
      const option = optionsOf(command).find(({ long }) => long === flag);
      return error(`${flag} needs a value`, valueHint(command, option, option?.flags.replace(/^.* /, '')));
    }
    case 'commander.missingArgument': {
      const argument = command.registeredArguments.find((one) => one.name() === word);
      return error(`${word.toUpperCase()} is required`, valueHint(command, argument, word));
    }
    case 'commander.excessArguments': {
      const extra = args[command.registeredArguments.length] ?? '';
      return error(`unexpected argument "${extra}"`, extraArgumentHint(command, extra));
    }
    case 'commander.conflictingOption':
      return error(`${flag} and ${other} cannot be combined`, 'use one of them');
    default:
      return error(message.replace(/^error: /, ''), see(command));
  }
}

function unknownOptionError(command: Command, word: string): PetstoreError {
  const known = flagsOf(command);
  // The text after `=` or after the letter of an option may be a key.
  const flag = word.startsWith('--') ? word.replace(/=.*$/s, '') : word.slice(0, 2);
  if (known.includes(flag)) return error(`${flag} takes no value`, `use ${flag} without a value`);
  if (/^--(?:api[-_]?)?(?:key|token)$/i.test(flag)) {
    return error('there is no option for the API key', pipeKey(command));
  }
  const match = closestMatch(flag, known);
  return error(`unknown option "${flag}"`, match ? didYouMean(match) : see(command));
}

/** @param words begin with the one that is not a command of the group */
export function unknownCommandError(group: Command, words: readonly string[]): PetstoreError {
  const [word = ''] = words;
  const message = `unknown command "${word}"`;
  if (word === 'version') return error(message, didYouMean('petstore --version'));
  if (/^(?:delete|remove|rm|update|edit|rename)$/.test(word) && group.name() !== 'auth') {
    return error(`${message}: the service can only list and create categories`, see(group));
  }
  // `list-categories` and `categories:list` name a command, too.
  const parts = words.flatMap((one) => one.split(/[-:_]/));
  return error(message, commandHint(group, parts));
}

// Searches all commands: `petstore login` means `petstore auth login`, `category list` means `categories list`.
function commandHint(parent: Command, [word = '', ...rest]: readonly string[]): string {
  const name = SYNONYMS[word] ?? word;
  const near = closestCommand(subcommandsOf(parent), name) ?? closestCommand(commandsBelow(rootOf(parent)), name);
  if (!near || near.name() === 'help') return see(parent);
  return near.commands.length > 0 ? commandHint(near, rest) : didYouMean(commandPath(near));
}

function closestCommand(commands: readonly Command[], word: string): Command | undefined {
  const namesOf = (one: Command): string[] => [one.name(), ...one.aliases()];
  const match = closestMatch(word, commands.flatMap(namesOf));
  return commands.find((one) => match !== undefined && namesOf(one).includes(match));
}

function valueHint(command: Command, wanted: Option | Argument | undefined, kind = ''): string {
  return wanted?.argChoices ? use(wanted.argChoices) : (VALUE_HINTS[kind] ?? see(command));
}

function extraArgumentHint(command: Command, word: string): string {
  const names = command.registeredArguments.map((one) => one.name());
  const isTypedText = (option: Option): boolean =>
    option.required && !option.argChoices && command.getOptionValueSource(option.attributeName()) === 'cli';
  if (looksLikeKey(word)) return pipeKey(command);
  if (names.includes('file')) return 'import one file at a time';
  if (names.includes('name') || command.options.some(isTypedText)) return 'quote a value that contains spaces';
  return see(command);
}

function error(message: string, hint: string): PetstoreError {
  return new PetstoreError('usage', message, { hint });
}

function didYouMean(word: string): string {
  return `did you mean ${word.startsWith('-') ? word : `\`${word}\``}?`;
}

function see(command: Command): string {
  return `see \`${commandPath(command)} --help\``;
}

function use(words: readonly string[]): string {
  return `use ${formatChoices(words)}`;
}

// A typed key is redacted when the error is printed.
function pipeKey(command: Command): string {
  return `pipe the key to ${commandPath(command) === 'petstore auth login' ? 'stdin' : '`petstore auth login`'}`;
}

/** The options of the command and of its parents, hidden ones included. */
function optionsOf(command: Command): readonly Option[] {
  return [...command.options, ...(command.parent ? optionsOf(command.parent) : [])];
}

function flagsOf(command: Command): readonly string[] {
  const visible = optionsOf(command).filter(({ hidden }) => !hidden);
  return ['--help', ...visible.flatMap(({ long }) => long ?? [])];
}

function subcommandsOf(command: Command): readonly Command[] {
  return command.createHelp().visibleCommands(command);
}

function commandsBelow(command: Command): readonly Command[] {
  return subcommandsOf(command).flatMap((one) => [one, ...commandsBelow(one)]);
}
