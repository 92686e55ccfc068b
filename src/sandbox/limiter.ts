// The rate limits of a sandbox: windows per key, shared by all processes with the same data.

import { FileLog } from '../append-log/file-log.ts';
import type { LogFs } from '../append-log/generations.ts';
import type { Limit } from './plans.ts';
import type { KeyUsages, LimitDecision, QuotaStatus } from './rate-windows.ts';
import { formatLimits, newKeyUsage, quotaStatus, unlimited, windowsFormat } from './rate-windows.ts';
import type { DataPaths } from './store.ts';

const ROTATE_AT_BYTES = 64 * 1024;

export class Limiter {
  readonly #log: FileLog<KeyUsages, LimitDecision | undefined>;
  readonly #limits: readonly Limit[];

  constructor(
    { dir, windowsName: name }: DataPaths,
    limits: readonly Limit[],
    { reset = false, fs }: { readonly reset?: boolean; readonly fs?: LogFs | undefined } = {},
  ) {
    this.#log = new FileLog(windowsFormat, { dir, name, rotateAtBytes: ROTATE_AT_BYTES, rejectForeign: true, fs });
    this.#limits = limits;
    if (reset) this.#log.append('reset');
  }

  /**
   * Counts one request.
   * @param key its fingerprint
   * @param now epoch milliseconds
   * @throws errors of the file system; the request is then not counted
   */
  admit(key: string, now: number): LimitDecision {
    if (this.#limits.length === 0) return { status: unlimited(now) };
    const decision = this.#log.append(`r ${key} ${Math.floor(now)} ${formatLimits(this.#limits)}`);
    if (!decision) throw new Error('a request record without a decision');
    return decision;
  }

  /** Counts nothing; without a valid key everything remains. */
  status(key: string | undefined, now: number): QuotaStatus {
    const usage = key === undefined || this.#limits.length === 0 ? undefined : this.#log.refresh().byKey.get(key);
    return quotaStatus(usage ?? newKeyUsage(), now, this.#limits);
  }

  close(): void {
    this.#log.close();
  }
}
