// One check of `petstore doctor`, and how checks run: a thrown error is a failed one, and skips those that need it.
import { PetstoreError } from '../../errors.ts';

export interface CheckResult {
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  readonly remedy?: string | undefined;
  /** For the exit code. */
  readonly failure?: PetstoreError | undefined;
}

export interface Check extends CheckResult {
  readonly name: string;
}

type Test = () => Promise<CheckResult> | CheckResult;

/** By name, in the order in which they run. */
export type Tests = Readonly<Record<string, Test>>;

export function ok(detail: string): CheckResult {
  return { status: 'ok', detail };
}

export function warning(detail: string, remedy: string): CheckResult {
  return { status: 'warning', detail, remedy };
}

export function skipped(reason: string): CheckResult {
  return { status: 'skipped', detail: reason };
}

/** @throws errors of this program, and the interruption of the command */
export async function check(name: string, test: Test): Promise<Check> {
  try {
    return { name, ...(await test()) };
  } catch (error) {
    if (!(error instanceof PetstoreError) || error.kind === 'interrupted') throw error;
    return { name, status: 'failed', detail: error.message, remedy: error.hint, failure: error };
  }
}

/** Runs checks of which each needs those before it: after a failed one, the rest is skipped. */
export async function checkInTurn(tests: Tests): Promise<readonly Check[]> {
  const checks: Check[] = [];
  for (const [name, test] of Object.entries(tests)) {
    const failed = checks.find(({ status }) => status === 'failed');
    checks.push(await check(name, failed ? () => skipped(`${failed.name} failed`) : test));
  }
  return checks;
}
