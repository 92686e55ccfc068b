// Formats command lines to paste, for the shell that a user is likely to use.
import type { Context } from './context.ts';

type ShellContext = Pick<Context, 'platform' | 'env'>;

/** `-p`, also with its value or after other letters (`-qp staging`), or `--profile`. */
const PROFILE = /^(?:-\w*p|--profile(?:=|$))/;

/**
 * Formats a command line: `petstore` and the words, quoted for the shell, in backquotes.
 * @param profile the value of `-p`, which is added unless the words name a profile
 */
export function formatCommand(words: readonly string[], profile: string | undefined, context: ShellContext): string {
  const added = profile === undefined || words.some((word) => PROFILE.test(word)) ? [] : ['-p', profile];
  return `\`petstore ${[...words, ...added].map((word) => quoteForShell(word, context)).join(' ')}\``;
}

/** Formats the assignment of an environment variable. */
export function formatAssignment(name: string, value: string, context: ShellContext): string {
  if (isPosix(context)) return `export ${name}=${quoteForShell(value, context)}`;
  return `$env:${name} = '${value.replaceAll("'", "''")}'`;
}

// Git Bash and other POSIX shells on Windows set SHELL.
function isPosix({ platform, env }: ShellContext): boolean {
  return platform !== 'win32' || Boolean(env['SHELL']);
}

export function quoteForShell(word: string, context: ShellContext): string {
  if (isPosix(context)) return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
  if (/^[\w+=:./\\-]+$/.test(word)) return word;
  // Only PowerShell has quotes in which nothing is expanded.
  if (/["$`%]/.test(word)) return `'${word.replaceAll("'", "''")}'`;
  return `"${word.replace(/\\+$/, '$&$&')}"`;
}
