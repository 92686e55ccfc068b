// Explains the errors of system calls, and converts thrown values to errors of this program.
import { getSystemErrorMap } from 'node:util';
import { PetstoreError } from './errors.ts';
import { escapeControls } from './escape.ts';

/** @returns for example "not a directory"; the code if the system does not explain it */
export function systemReason(error: unknown): string {
  const { errno = 0, code, message } = error as NodeJS.ErrnoException;
  return getSystemErrorMap().get(errno)?.[1] ?? code ?? message;
}

/** Whether a system call failed; Node.js marks wrong arguments by other codes. */
export function isSystemError(error: unknown): boolean {
  return /^E[A-Z0-9]+$/.test(String((error as NodeJS.ErrnoException | undefined)?.code));
}

/**
 * The error of a file system call.
 * @param variable names the directory that the file is in, for example PETSTORE_STATE_DIR
 */
export function storageError(cause: unknown, doing: string, path: string, variable?: string): PetstoreError {
  const full = /^(?:ENOSPC|EDQUOT)$/.test((cause as NodeJS.ErrnoException).code ?? '');
  const writable = variable ? `set ${variable} to a directory that you can write to` : undefined;
  const hint = full ? 'free some disk space' : writable;
  return new PetstoreError('storage', `cannot ${doing} ${escapeControls(path)} (${systemReason(cause)})`, {
    hint,
    cause,
  });
}

/**
 * Converts any thrown value to an error of this program.
 * @param stateDir for the hint about a file in it
 */
export function toPetstoreError(error: unknown, stateDir?: string): PetstoreError {
  if (error instanceof PetstoreError) return error;
  const { syscall = '', path } = (error ?? {}) as NodeJS.ErrnoException;
  // Errors of an open file have no path.
  const isFile = path !== undefined || /^(?:read|write|close|f[a-z]+)$/.test(syscall);
  const variable = stateDir && path?.startsWith(stateDir) ? 'PETSTORE_STATE_DIR' : undefined;
  if (isFile && isSystemError(error)) return storageError(error, 'access', path ?? 'a file', variable);
  // Third-party messages may contain secrets: only the error's name is printed without --verbose.
  const name = error instanceof Error ? error.name : typeof error;
  return new PetstoreError('internal', `unexpected ${name} (a bug in petstore)`, {
    hint: 'run the command again with --verbose and report the output',
    cause: error,
  });
}
