// The lock of a base URL: one import at a time, and how long the next one waits for the creates of the last (docs/import.md).
import { randomBytes } from 'node:crypto';
import type { Log, LogFormat } from '../append-log/log.ts';
import { DamagedRecordError } from '../append-log/log.ts';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import { currentProcess, livenessOf } from '../append-log/process-liveness.ts';
import type { Check } from '../append-log/record-shape.ts';
import { isCount, isNumber, isText, shape, tryParseJson } from '../append-log/record-shape.ts';
import type { Clock } from '../clock.ts';
import { sleepLong } from '../clock.ts';
import { PetstoreError } from '../errors.ts';

/** How often a run records that it is alive, in milliseconds of real time. */
const BEAT_MS = 3000;
/** How long creates that nobody waits for may be on their way, in milliseconds: after a kill, since the last record. */
export const ABANDONED_MS = 10_000;
/** A run whose process cannot be seen counts as dead after this long without a record, in milliseconds. */
const SILENCE_MS = 60_000;
/** A run on a state server must have read the lock within this time: half of SILENCE_MS. */
export const CONFIRMED_WITHIN_MS = 30_000;
const POLL_MS = 200;

export interface LockState {
  /** The run that imports; after it took the lock, it waits so long for the creates of earlier runs. */
  holder: (ProcessRef & { readonly run: string; readonly waitMs: number }) | undefined;
  /** The time of the last record by the log's clock: the holder's last sign of life. */
  at: number;
  /** How long after `at` creates may be on their way. */
  busyMs: number;
}

type LockRecord = { readonly run: string; readonly at: number } & (
  | { readonly kind: 'acquire'; readonly process: ProcessRef }
  | { readonly kind: 'beat' }
  | { readonly kind: 'release'; readonly busyMs: number }
  /** Another process has found the run dead; void if the run has written since `lastAt`. */
  | { readonly kind: 'expire'; readonly lastAt: number }
);

const FIELDS = { run: isText, at: isNumber };
const CHECKS: Readonly<Record<string, Check>> = {
  acquire: shape({ ...FIELDS, process: shape({ pid: isCount, start: isText, host: isText }) }),
  beat: shape(FIELDS),
  release: shape({ ...FIELDS, busyMs: isCount }),
  expire: shape({ ...FIELDS, lastAt: isNumber }),
};

export const lockFormat: LogFormat<LockState> = {
  initial: () => ({ holder: undefined, at: 0, busyMs: 0 }),
  apply(state, text) {
    const record = parse(text);
    const { holder, busyMs } = state;
    if (record.kind === 'acquire' ? holder : holder && holder.run !== record.run) return;
    if (record.kind === 'expire') {
      if (state.at === record.lastAt) state.holder = undefined;
      return;
    }
    if (record.kind === 'acquire') {
      // At most `busyMs`, if the clock was set back.
      const waitMs = Math.min(Math.max(0, state.at + busyMs - record.at), busyMs);
      Object.assign(state, { holder: { ...record.process, run: record.run, waitMs }, busyMs: ABANDONED_MS });
    } else if (record.kind === 'release') Object.assign(state, { holder: undefined, busyMs: record.busyMs });
    else if (!holder) return;
    state.at = record.at;
  },
  *snapshot({ holder, at, busyMs }) {
    const { run = '', waitMs = busyMs, ...process } = holder ?? {};
    yield JSON.stringify({ kind: 'release', run, at, busyMs: waitMs });
    if (holder) yield JSON.stringify({ kind: 'acquire', run, at, process });
  },
};

function parse(text: string): LockRecord {
  const value = tryParseJson(text) as LockRecord | undefined;
  const isValid = value && Object.hasOwn(CHECKS, value.kind) && CHECKS[value.kind]?.(value);
  if (!isValid) throw new DamagedRecordError('not a record of a lock');
  return value;
}

export interface LockOptions {
  readonly signal: AbortSignal;
  readonly processes?: { readonly self: ProcessRef; readonly livenessOf: typeof livenessOf };
  /** Called once, with the process that holds the lock. */
  readonly onWait?: (holder: ProcessRef) => void;
}

/** Every method throws PetstoreError `storage` if the log cannot be read or written. */
export class Lock {
  readonly #log: Log<LockState>;
  readonly #clock: Clock;
  readonly #run = randomBytes(6).toString('hex');
  #beating: NodeJS.Timeout | undefined;
  /** Until when creates may be on their way, by the monotonic clock. */
  #busyUntil = Number.NEGATIVE_INFINITY;

  /** @param log is closed with the lock */
  constructor(log: Log<LockState>, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** How long creates of this run or an earlier one may still be on their way, in milliseconds. */
  get busyMs(): number {
    return Math.max(0, this.#busyUntil - this.#clock.monotonic());
  }

  /** Waits until no other run imports to this base URL, and takes the lock. */
  async acquire({ signal, processes, onWait }: LockOptions): Promise<void> {
    const { self, livenessOf: judge } = processes ?? { self: currentProcess(), livenessOf };
    let seen = '';
    let since = 0;
    let isReported = false;
    for (;;) {
      const { holder, at: lastAt } = await this.#log.refresh();
      if (holder?.run === this.#run) break;
      if (!holder) {
        await this.#append({ kind: 'acquire', run: this.#run, process: self });
        continue;
      }
      const now = this.#clock.monotonic();
      // Measure the silence on this machine: the other one's clock may differ.
      if (seen !== `${holder.run} ${lastAt}`) since = now;
      seen = `${holder.run} ${lastAt}`;
      const state = judge(holder);
      if (state === 'dead' || (state === 'unknown' && now - since >= SILENCE_MS)) {
        await this.#append({ kind: 'expire', run: holder.run, lastAt });
        continue;
      }
      if (!isReported) onWait?.(holder);
      isReported = true;
      await this.#clock.sleep(POLL_MS, signal);
    }
    this.mayArrive(this.#log.last().holder?.waitMs ?? 0);
    // Use real time even if tests inject another clock. A failure shows at the next create.
    this.#beating = setInterval(() => {
      this.#append({ kind: 'beat', run: this.#run }).catch(() => undefined);
    }, BEAT_MS).unref();
  }

  /** Call after a create without a valid response, which may be on its way for so long. */
  mayArrive(ms: number): void {
    this.#busyUntil = Math.max(this.#busyUntil, this.#clock.monotonic() + ms);
  }

  /** Waits until no create of this run or an earlier one can still be on its way. */
  async settle(signal: AbortSignal): Promise<void> {
    await sleepLong(this.#clock, this.busyMs, signal);
  }

  /**
   * The last check before a create is sent.
   * @throws PetstoreError `storage` if another run has taken over or, on a state server, may have
   */
  assertHeld(): void {
    const state = this.#log.recent();
    if (state?.holder?.run === this.#run) return;
    const message = state
      ? 'another process has taken over this import'
      : `the lock of this import was not confirmed for ${CONFIRMED_WITHIN_MS / 1000}s`;
    throw new PetstoreError('storage', message, { hint: 'run the same command again to create the missing rows' });
  }

  /** Releases the lock; the next run waits for creates that may still be on their way. */
  async close(): Promise<void> {
    clearInterval(this.#beating);
    try {
      if (this.#log.last().holder?.run !== this.#run) return;
      await this.#append({ kind: 'release', run: this.#run, busyMs: Math.ceil(this.busyMs) });
    } finally {
      this.#log.close();
    }
  }

  async #append(record: object): Promise<void> {
    await this.#log.append(JSON.stringify({ ...record, at: Math.round(this.#clock.now()) }));
  }
}
