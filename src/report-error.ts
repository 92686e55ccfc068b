// Prints an error to stderr: its message and hints as text, or one line of JSON.
import { PetstoreError, rephrase, withCommands } from './errors.ts';
import { escapeControls, terminalSafeJson } from './escape.ts';
import type { Context } from './io.ts';
import { hasColor } from './io.ts';
import { loadStyle } from './output/render.ts';
import { withoutTypedKeys } from './redact.ts';
import { commandWriter } from './shell-quote.ts';
import { systemReason } from './system-error.ts';

interface ReportOptions {
  /** The value of `--profile`, which hints repeat. */
  readonly profile?: string | undefined;
  readonly json: boolean;
  readonly verbose?: boolean;
  readonly color: boolean;
}

/**
 * Accepts any thrown value.
 * @returns the exit code (docs/cli.md, exit codes)
 */
export async function reportError(error: unknown, context: Context, options: ReportOptions): Promise<number> {
  const known = withoutKeys(withCommands(toKnownError(error), commandWriter(context, options.profile)), context.args);
  if (known.silent) return known.exitCode;
  const { stderr, env } = context;
  const { red } = await loadStyle(hasColor(stderr, env, options.color));
  await stderr.write(options.json ? jsonLine(known) : textLines(known, red));
  if (options.verbose && known.kind === 'internal') await stderr.write(stackTrace(known));
  return known.exitCode;
}

/** Converts any thrown value to an error of this program. */
export function toKnownError(error: unknown): PetstoreError {
  return error instanceof PetstoreError ? error : (storageError(error) ?? internalError(error));
}

// Redacts a key that was typed in place of another argument.
function withoutKeys(error: PetstoreError, args: readonly string[]): PetstoreError {
  if (error.kind !== 'usage') return error;
  return rephrase(error, withoutTypedKeys(error.message, args), error.hint && withoutTypedKeys(error.hint, args));
}

/** The verb for a system call in messages. */
const FILE_OPERATIONS: Readonly<Record<string, string>> = {
  open: 'open',
  read: 'read',
  scandir: 'read',
  stat: 'read',
  lstat: 'read',
  fstat: 'read',
  write: 'write',
  fsync: 'write',
  ftruncate: 'write',
  close: 'write',
  mkdir: 'create',
  link: 'create',
  unlink: 'delete',
  rename: 'rename',
  chmod: 'change the permissions of',
};

function storageError(error: unknown): PetstoreError | undefined {
  const { code, syscall, path } = (error ?? {}) as NodeJS.ErrnoException;
  const operation = FILE_OPERATIONS[syscall ?? ''];
  if (!/^E[A-Z]+$/.test(code ?? '') || operation === undefined) return undefined;
  const file = path === undefined ? 'a file' : escapeControls(path);
  return new PetstoreError('storage', `cannot ${operation} ${file} (${systemReason(error)})`, {
    hint: "check the directory's permissions and free space",
    cause: error,
  });
}

// Third-party messages may contain secrets: only the error's name is printed without --verbose.
function internalError(error: unknown): PetstoreError {
  const name = error instanceof Error ? error.name : typeof error;
  return new PetstoreError('internal', `unexpected ${name} (a bug in petstore)`, {
    hint: 'run the command again with --verbose and report the output',
    cause: error,
  });
}

function jsonLine(error: PetstoreError): string {
  return `${terminalSafeJson(JSON.stringify({ error }))}\n`;
}

function textLines(error: PetstoreError, red: (text: string) => string): string {
  const code = error.code === undefined || error.message.includes(error.code) ? '' : ` [${error.code}]`;
  const hint = error.hint === undefined ? '' : `hint: ${error.hint}\n`;
  return `${red('error:')} ${escapeControls(`${error.message}${code}\n${hint}`, '\n')}`;
}

function stackTrace(error: PetstoreError): string {
  const lines = [error.stack ?? ''];
  for (let { cause } = error; cause instanceof Error; { cause } = cause) {
    lines.push(`caused by ${cause.stack ?? cause.message}`);
  }
  return `${escapeControls(lines.join('\n'), '\n')}\n`;
}
