// Quotes words of a command line for the shell that a user is likely to paste it into.
import type { Environment } from './environment.ts';

/** On Windows, words are quoted for PowerShell and cmd.exe, unless `SHELL` names a POSIX shell such as Git Bash. */
export function quoteForShell(word: string, context: { readonly platform: string; readonly env: Environment }): string {
  if (context.platform !== 'win32' || context.env['SHELL']) {
    return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
  }
  if (/^[\w+=:./\\-]+$/.test(word)) return word;
  // Only PowerShell has quotes in which nothing is expanded.
  if (/["$`%]/.test(word)) return `'${word.replaceAll("'", "''")}'`;
  return `"${word.replace(/\\+$/, '$&$&')}"`;
}
