// What one check of the doctor is, and how a thrown error becomes a failed one.
import { PetstoreError } from '../../errors.ts';

/** What was checked and how it went. */
export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  /** What to do about it, where it is not in order. */
  readonly remedy?: string | undefined;
  /** The failure, for the exit code. */
  readonly failure?: PetstoreError | undefined;
}

/** @returns a check that found everything in order */
export function ok(name: string, detail: string): Check {
  return { name, status: 'ok', detail };
}

/** @returns a check that did not apply */
export function skipped(name: string, why: string): Check {
  return { name, status: 'skipped', detail: why };
}

/**
 * Runs one check.
 * @param name what it is called
 * @param test gives the check's result; what it throws makes the check a failed one
 * @returns the result
 * @throws the error itself where the command was interrupted, or where it is a fault of this program
 */
export async function attempt(name: string, test: () => Promise<Check> | Check): Promise<Check> {
  try {
    return await test();
  } catch (error) {
    if (!(error instanceof PetstoreError) || error.kind === 'interrupted') throw error;
    return { name, status: 'failed', detail: error.message, remedy: error.hint, failure: error };
  }
}
