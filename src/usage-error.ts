// What commander says of wrong usage, in our voice; a key typed in the wrong place is never repeated.
import type { Command, CommanderError } from 'commander';
import { closestMatch } from './did-you-mean.ts';
import { PetstoreError } from './errors.ts';
import { looksLikeKey } from './redact.ts';

/**
 * @param error what commander threw
 * @param args the arguments as given, to find what must not be repeated
 * @param program the command tree, to find a command that was looked for in the wrong place
 * @returns an error of kind `usage`
 */
export function usageError(error: CommanderError, args: readonly string[], program?: Command): PetstoreError {
  const mistyped = program && ABOUT_OPTIONS.includes(error.code) ? unknownOption(args, program) : undefined;
  let text = (mistyped ?? error).message.replace(/^error: /, '');
  for (const key of keysIn(args)) text = text.replaceAll(key, '[redacted]');
  if (error.code === 'commander.help') return nounAlone(args, program);
  const [message = '', suggestion] = text.split('\n');
  const nearest = /Did you mean (.*)\?\)?$/.exec(suggestion ?? '')?.[1];
  const word = /^unknown command '(.+)'$/.exec(message)?.[1];
  const elsewhere = !nearest && word && program ? commandNamed(word, program) : undefined;
  const meant = nearest ?? elsewhere;
  const hint = meant ? `did you mean ${meant}?` : 'see `petstore --help`, or --help after any command';
  return new PetstoreError('usage', message, { hint });
}

/**
 * @param args the arguments as given
 * @returns the words in them that may be keys, also what stands behind `=`, a blank or the like, or right after an option's letter
 */
export function keysIn(args: readonly string[]): readonly string[] {
  const words = args.flatMap((arg) => [
    arg,
    ...arg.split(/[\s=:,"'<>@]+/),
    arg.slice(arg.indexOf('=') + 1),
    arg.replace(/^-\w/, ''),
  ]);
  return words.filter(looksLikeKey);
}

// Commander looks for missing options before unknown ones, but `--nam dog` is a mistyped name rather than a missing one.
const ABOUT_OPTIONS = ['commander.unknownOption', 'commander.missingMandatoryOptionValue'];

function unknownOption(args: readonly string[], program: Command): CommanderError | undefined {
  let [command, words] = [program, [...args]];
  for (;;) {
    const { operands, unknown } = command.parseOptions(words);
    const [name, ...others] = operands;
    const child = command.commands.find((one) => one.name() === name || one.aliases().includes(name ?? ''));
    if (child) [command, words] = [child, [...others, ...unknown]];
    else return unknown[0] === undefined ? undefined : asUnknown(unknown[0], command);
  }
}

// What stands behind `=` is left out: it may be a key, and the nearest option is not found with it.
function asUnknown(flag: string, command: Command): CommanderError {
  try {
    // Commander's own words and nearest option; the function is not in its types.
    (command as unknown as { unknownOption(flag: string): void }).unknownOption(flag.replace(/=.*$/s, ''));
  } catch (error) {
    return error as CommanderError;
  }
  throw new Error('commander knows the option after all');
}

// `petstore categories`: commander would print its help as an error.
function nounAlone(args: readonly string[], program: Command | undefined): PetstoreError {
  const noun = program?.commands.find((one) => args.some((arg) => arg === one.name() || one.aliases().includes(arg)));
  const verbs = (noun ?? program)?.commands.map((one) => one.name()).filter((name) => !name.startsWith('_')) ?? [];
  const name = noun ? `petstore ${noun.name()}` : 'petstore';
  return new PetstoreError('usage', `${name} needs a command after it: ${verbs.join(', ')}`, {
    hint: `see \`${name} --help\``,
  });
}

// `petstore login` means `petstore auth login`.
function commandNamed(word: string, program: Command): string | undefined {
  const leaves = program.commands.flatMap((noun) =>
    noun.commands.flatMap((verb) =>
      [verb.name(), ...verb.aliases()].map((name) => ({ name, path: `petstore ${noun.name()} ${verb.name()}` })),
    ),
  );
  const near = closestMatch(
    word,
    leaves.map(({ name }) => name),
  );
  return leaves.find(({ name }) => name === near)?.path;
}
