// The text of a key command; messages show only its program, since an argument may be a key.
import { parseArgsStringToArgv } from 'string-argv';
import { PetstoreError } from '../../errors.ts';

export interface KeyCommand {
  readonly line: string;
  /** The option, the variable or the profile that contains it, for messages. */
  readonly source: string;
  /** The name of the profile, if it is saved in one. */
  readonly profile?: string;
}

/** The program that the command runs. */
export function programOf({ line }: Pick<KeyCommand, 'line'>): string {
  return parseArgsStringToArgv(line)[0] ?? '';
}

/**
 * Splits the command into words, without a shell.
 * @throws PetstoreError `auth` if it is empty, incomplete or an API key
 */
export function parseKeyCommand({ line, source }: KeyCommand): string[] {
  const words = parseArgsStringToArgv(line);
  if (/^(?:[spr]k|sandbox)_/.test(words[0] ?? '')) {
    const hint =
      source === '--key-command' ? 'pipe the key to `petstore auth login`' : 'set PETSTORE_API_KEY to the key';
    throw new PetstoreError('auth', `${source} looks like an API key`, { hint });
  }
  if (/["']/.test(line.replace(/"[^"]*"|'[^']*'/g, ''))) {
    throw new PetstoreError('auth', `${source} has an unclosed quote`, { hint: 'add the missing quote' });
  }
  if (words.length > 0) return words;
  throw new PetstoreError('auth', `${source} is empty`, { hint: `set ${source} to a command that prints the API key` });
}

/** How to correct a command that does not print the key. */
export function correctionHint({ source, profile }: KeyCommand): string {
  if (profile === undefined) return `correct ${source}`;
  return `run \`petstore auth login ${profile} --key-command COMMAND\` to replace the key command`;
}

/** Whether the command uses shell syntax, but does not name a shell. */
export function hasShellSyntax({ line }: KeyCommand): boolean {
  const isShell = /^\S*(?:sh|cmd|powershell)(?:\.exe)?"?\s/i.test(line);
  return !isShell && /[|$<>&`]/.test(line);
}
