// One check of `petstore doctor`, and how a thrown error becomes a failed one.
import { PetstoreError } from '../../errors.ts';

/** What was checked, and the result. */
export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  readonly remedy?: string | undefined;
  /** For the exit code. */
  readonly failure?: PetstoreError | undefined;
}

export function ok(name: string, detail: string): Check {
  return { name, status: 'ok', detail };
}

export function skipped(name: string, reason: string): Check {
  return { name, status: 'skipped', detail: reason };
}

export function skippedAll(names: readonly string[], reason: string): readonly Check[] {
  return names.map((name) => skipped(name, reason));
}

/**
 * Runs one check; a PetstoreError it throws is its failed result.
 * @throws errors of this program, and the interruption of the command
 */
export async function attempt(name: string, test: () => Promise<Check> | Check): Promise<Check> {
  try {
    return await test();
  } catch (error) {
    if (!(error instanceof PetstoreError) || error.kind === 'interrupted') throw error;
    return { name, status: 'failed', detail: error.message, remedy: error.hint, failure: error };
  }
}
