// Runs the checks of `petstore doctor`: each cause fails one check, and checks that depend on it are skipped.
import type { PetstoreError } from '../../errors.ts';
import { toPetstoreError } from '../../report-error.ts';

export interface CheckResult {
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  readonly hint?: string | undefined;
}

export interface Check extends CheckResult {
  readonly id: string;
  readonly label: string;
  /** The error that determines the exit code. */
  readonly failure?: PetstoreError | undefined;
}

/** A test fails by throwing; a chained check is skipped after another chained check has failed. */
export type CheckDefinition = readonly [
  id: string,
  label: string,
  test: () => Promise<CheckResult> | CheckResult,
  chained?: boolean,
];

export const ok = (detail: string): CheckResult => ({ status: 'ok', detail });
export const warning = (detail: string, hint: string): CheckResult => ({ status: 'warning', detail, hint });
export const skipped = (detail: string): CheckResult => ({ status: 'skipped', detail });

/**
 * Runs the checks in order.
 * @param hintOf the hint of a failure, as the command line shows it
 * @throws internal errors and interruptions
 */
export async function runChecks(
  definitions: readonly CheckDefinition[],
  hintOf: (error: PetstoreError) => string | undefined,
): Promise<readonly Check[]> {
  const checks: Check[] = [];
  let broken: Check | undefined;
  const run = async ([id, label, test, chained]: CheckDefinition): Promise<Check> => {
    if (chained && broken) return { id, label, ...skipped(`${broken.label} failed`) };
    try {
      return { id, label, ...(await test()) };
    } catch (thrown) {
      const failure = toPetstoreError(thrown);
      if (failure.kind === 'internal' || failure.kind === 'interrupted') throw thrown;
      const same = checks.find((one) => one.failure && causeOf(one.failure) === causeOf(failure));
      const failed: Check = { id, label, status: 'failed', detail: failure.message, hint: hintOf(failure), failure };
      if (chained) broken = same ?? failed;
      return same ? { id, label, ...skipped(`${same.label} failed`) } : failed;
    }
  };
  for (const definition of definitions) checks.push(await run(definition));
  return checks;
}

// A full disk that affects two directories is one cause.
function causeOf({ kind, message, cause }: PetstoreError): string {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return kind === 'storage' && code !== undefined ? code : message;
}
