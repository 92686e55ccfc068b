// Formats command lines to paste, for the shell that a user is likely to use.
import type { Context } from './context.ts';

type ShellContext = Pick<Context, 'platform' | 'env'>;

/** Formats a command line: `petstore`, the words quoted for the shell, and the profile that was typed, in backquotes. */
export type FormatCommand = (...words: readonly string[]) => string;

/** @param profile the value of `-p`, which is added to each command */
export function createCommandFormatter(context: ShellContext, profile: string | undefined): FormatCommand {
  const typed = profile === undefined ? [] : ['-p', profile];
  return (...words) => {
    const own = words.some((word) => /^(?:-p|--profile|--help$|--version$)/.test(word)) ? [] : typed;
    return `\`petstore ${[...words, ...own].map((word) => quoteForShell(word, context)).join(' ')}\``;
  };
}

/** Formats the assignment of an environment variable. */
export function assignmentForShell(name: string, value: string, context: ShellContext): string {
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
