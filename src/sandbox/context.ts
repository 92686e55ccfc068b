// The options of a sandbox server, and the context of its request handler.
import type { LogFs } from '../append-log/generations.ts';
import type { Clock } from '../clock.ts';
import type { FaultKind, FaultRule } from './faults.ts';
import type { Limiter } from './limiter.ts';
import type { Limit } from './plans.ts';
import type { RetryAfterFormat } from './response.ts';
import type { Store } from './store.ts';

export interface ServerOptions {
  /** See `openLog`; any number of processes may share it. Undefined: in memory. */
  readonly dataFile: string | undefined;
  readonly clock: Clock;
  /** 0: any free port. */
  readonly port: number;
  readonly keys: readonly string[];
  /** All of them apply; none means unlimited. */
  readonly limits: readonly Limit[];
  readonly retryAfter?: RetryAfterFormat;
  readonly faults?: readonly FaultRule[];
  /** Seed for random faults (default: the clock's randomness). */
  readonly seed?: number | undefined;
  /** Deletes the categories and rate limit windows first. */
  readonly reset?: boolean;
  readonly fs?: LogFs;
  readonly onRequest?: (record: RequestRecord) => void;
}

export interface RequestRecord {
  readonly method: string;
  /** As received; escape it before printing it. */
  readonly path: string;
  /** Undefined if the connection was reset before the operation ran. */
  readonly status: number | undefined;
  readonly remaining: number;
  readonly fault: FaultKind | undefined;
}

export interface SandboxContext extends ServerOptions {
  readonly store: Store;
  readonly limiter: Limiter;
  /** The id of each key in logs. */
  readonly keyIds: ReadonlyMap<string, string>;
  readonly random: () => number;
  readonly closing: AbortSignal;
}
