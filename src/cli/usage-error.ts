// Converts commander's errors to the house style: each names the mistake, and its hint the command or option that was meant.
import type { Argument, Command, CommanderError, Option } from 'commander';
import type { PetstoreError } from '../errors.ts';
import { formatChoices } from '../text/format.ts';
import { looksLikeKey } from '../text/redact.ts';
import type { PetstoreCommand } from './command.ts';
import { rootOf } from './command.ts';
import { quoteForShell } from './shell-quote.ts';
import { PIPE_KEY, see, singleDashError, unknownCommandError, unknownOptionError, usage } from './unknown-name.ts';

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
  const single = singleDashError(command);
  if (single) return single;
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
    case 'commander.missingMandatoryOptionValue':
      // `--nam dog` is a mistyped `--name` rather than a missing one.
      return mistyped ?? usage(`${option?.long} is required`, option && operandHint(command, option));
    case 'commander.optionMissingArgument':
      return usage(`${option?.long} needs a value`, option && valueHint(command, option));
    case 'commander.missingArgument':
      return usage(`${argument?.name().toUpperCase()} is required`, argument && valueHint(command, argument));
    case 'commander.excessArguments': {
      const extra = args[command.registeredArguments.length] ?? '';
      return usage(`unexpected argument "${extra}"`, extraArgumentHint(command, extra));
    }
    default:
      return usage(message.replace(/^error: /, '').replaceAll("'", '"'), see(command));
  }
}

// For `create dog`, the operand is the value of the missing option.
function operandHint(command: Command, option: Option): string {
  const { args } = command;
  const { context } = rootOf(command);
  return args.length === 0
    ? valueHint(command, option)
    : `use ${option.long} ${quoteForShell(args.join(' '), context)}`;
}

// The value is the default or the one in an example of the command's help.
function valueHint(command: Command, wanted: Option | Argument): string {
  if (wanted.argChoices) return `use ${formatChoices(wanted.argChoices)}`;
  const flag = 'long' in wanted ? `${wanted.long} ` : '';
  const [, text = ''] = (command as PetstoreCommand).helpSections.examples.join('\n').split(flag);
  const value = wanted.defaultValueDescription ?? wanted.defaultValue ?? /^(?:'[^']*'|"[^"]*"|\S+)/.exec(text)?.[0];
  return VALUE_HINTS[wanted.name()] ?? (value ? `pass a value, for example ${flag}${value}` : see(command));
}

function extraArgumentHint(command: Command, word: string): string {
  const isTypedText = (option: Option): boolean =>
    option.required && !option.argChoices && command.getOptionValueSource(option.attributeName()) === 'cli';
  if (looksLikeKey(word)) return PIPE_KEY;
  if (command.name() === 'import') return 'import one file at a time';
  if (command.name() === 'get' || command.options.some(isTypedText)) return 'quote a value that contains spaces';
  return see(command);
}
