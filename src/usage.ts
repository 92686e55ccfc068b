// What commander says of wrong usage, in our voice; a key typed in the wrong place is never repeated.
import type { CommanderError } from 'commander';
import { PetstoreError } from './errors.ts';

const LONGEST_ECHO = 60;

/**
 * @param error what commander threw
 * @param args the arguments as given, to find what must not be repeated
 * @returns an error of kind `usage`
 */
export function usageError(error: CommanderError, args: readonly string[]): PetstoreError {
  let text = error.message.replace(/^error: /, '');
  for (const word of args.flatMap((arg) => [arg, ...arg.split('=').slice(1)])) {
    if (looksLikeKey(word)) text = text.replaceAll(word, '[redacted]');
  }
  const [message = '', suggestion] = text.split('\n');
  const nearest = /Did you mean (.*)\?\)?$/.exec(suggestion ?? '')?.[1];
  const hint = nearest ? `did you mean ${nearest}?` : 'see `petstore --help`, or --help after any command';
  return new PetstoreError('usage', message, { hint });
}

/**
 * @param word one argument
 * @returns true where it may be an API key: long, no blanks, and not a plain word or option
 */
export function looksLikeKey(word: string): boolean {
  if (word.length > LONGEST_ECHO) return true;
  if (/^(?:sk|pk|key|api|sandbox|petstore|live|test)[_-]\S{4,}$/i.test(word)) return true;
  return word.length >= 16 && /^[\w.+/=~-]+$/.test(word) && /\d/.test(word) && /[a-z]/i.test(word);
}
