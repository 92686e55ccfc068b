// Quotes words of a command line for the shell that a user is likely to paste it into.
import type { Environment } from './io.ts';

interface ShellContext {
  readonly platform: string;
  readonly env: Environment;
}

/** Whether the shell is PowerShell or cmd.exe; Git Bash and other POSIX shells on Windows set `SHELL`. */
export function isWindowsShell({ platform, env }: ShellContext): boolean {
  return platform === 'win32' && !env['SHELL'];
}

export function quoteForShell(word: string, context: ShellContext): string {
  if (!isWindowsShell(context)) return quoteForPosix(word);
  if (/^[\w+=:./\\-]+$/.test(word)) return word;
  // Only PowerShell has quotes in which nothing is expanded.
  if (/["$`%]/.test(word)) return quoteForPowerShell(word);
  return `"${word.replace(/\\+$/, '$&$&')}"`;
}

export function quoteForPosix(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

export function quoteForPowerShell(word: string): string {
  return `'${word.replaceAll("'", "''")}'`;
}
