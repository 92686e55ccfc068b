// Explains the errors of system calls.
import { getSystemErrorMap } from 'node:util';

/** @returns for example "not a directory"; the code if the system does not explain it */
export function systemReason(error: unknown): string {
  const { errno = 0, code, message } = error as NodeJS.ErrnoException;
  return getSystemErrorMap().get(errno)?.[1] ?? code ?? message;
}
