// Rate limits: windows per key, kept in a log that all processes on the same data count in together.
import { createHash } from 'node:crypto';
import type { LogFs } from '../append-log/generations.ts';
import type { DataPaths } from './paths.ts';
import type { Limit } from './plans.ts';
import type { KeyUsages, LimitDecision, QuotaStatus } from './rate-windows.ts';
import { newKeyUsage, quotaStatus, unlimited, windowsFormat } from './rate-windows.ts';
import { TappedLog } from './tapped-log.ts';

const SEAL_AT = 64 * 1024;

/** The windows of one sandbox, shared with every process on the same data. */
export class Limiter {
  readonly #log: TappedLog<KeyUsages, LimitDecision>;
  readonly #limits: readonly Limit[];
  readonly #limitText: string;

  /**
   * @param place where the windows are kept
   * @param limits all of them hold at once; none: nothing is limited, and nothing is kept
   * @param options `reset`: forgets every window and ban; `fs`: the file system, which tests make fail
   * @throws errors of the file system as they come
   */
  constructor(
    place: DataPaths,
    limits: readonly Limit[],
    options: { readonly reset?: boolean; readonly fs?: LogFs | undefined } = {},
  ) {
    this.#log = new TappedLog(windowsFormat, {
      dir: place.dir,
      name: place.windowsName,
      rotateAtBytes: SEAL_AT,
      durable: false,
      fs: options.fs,
    });
    this.#limits = limits;
    this.#limitText = limits.map(({ count, ms }) => `${count}/${ms}`).join(',');
    if (options.reset) this.#log.append('reset');
  }

  /**
   * Asks for one request; it is counted where it passes, and remembered against the key where it does not.
   * @param key the caller's fingerprint, see `fingerprint`
   * @param now epoch milliseconds
   * @returns whether it passes, and where the caller stands after it
   * @throws errors of the file system: nothing was counted
   */
  admit(key: string, now: number): LimitDecision {
    if (this.#limits.length === 0) return { standing: unlimited(now) };
    const verdict = this.#log.append(`r ${key} ${Math.floor(now)} ${this.#limitText}`);
    if (!verdict) throw new Error('a request met no verdict');
    return verdict;
  }

  /**
   * @param key the caller's fingerprint; undefined for a caller without a valid key, who has no window: all is left
   * @param now epoch milliseconds
   * @returns where the caller stands; nothing is counted
   */
  standing(key: string | undefined, now: number): QuotaStatus {
    const caller = key === undefined || this.#limits.length === 0 ? undefined : this.#log.state().byKey.get(key);
    return quotaStatus(caller ?? newKeyUsage(), now, this.#limits);
  }

  close(): void {
    this.#log.close();
  }
}

/**
 * @param key an API key
 * @returns what stands for it in the windows' log: the key itself is in no file
 */
export function fingerprint(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}
