// The lock of a base URL: one import at a time, and the drain of its creates (docs/import.md): how long the service may still
// process those that were sent.
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { FileLog } from '../append-log/file-log.ts';
import type { Log, LogFormat } from '../append-log/log.ts';
import { mkdirSwept, UNUSED_MS } from '../append-log/mkdirp.ts';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import { currentProcess, livenessOf } from '../append-log/process-liveness.ts';
import type { StateServer } from '../append-log/state-server.ts';
import type { Clock } from '../clock.ts';
import { isSystemError, PetstoreError, storageError } from '../errors.ts';

/** How often a run records that it is alive, in milliseconds. */
export const BEAT_MS = 3000;
/** The drain of a run without an end, in milliseconds since its last record. */
export const DRAIN_MS = 10_000;
/** A run whose process cannot be seen counts as dead after this long without a record, in milliseconds. */
const SILENCE_MS = 60_000;
/** A run on a state server must have read the lock within this time: half of SILENCE_MS. */
const CONFIRMED_WITHIN_MS = 30_000;
const POLL_MS = 200;
const ROTATE_AT_BYTES = 64 * 1024;
const ROTATE_AT_RECORDS = 1000;

export interface LockState {
  /** The run that imports, and the drain of earlier runs at the time at which it took the lock. */
  holder?: (ProcessRef & { readonly run: string; readonly drainMs: number }) | undefined;
  /** The time of the last record by the log's clock: the holder's last sign of life. */
  at: number;
  /** The drain at the time `at`. */
  drainMs: number;
}

// `acquire` takes a free lock or that of a dead run; void if the lock has another revision: another run took it first, or
// the dead one has written.
type LockRecord = { readonly run: string; readonly at: number } & (
  | { readonly kind: 'acquire'; readonly process: ProcessRef; readonly revision: string }
  | { readonly kind: 'beat' | 'release'; readonly drainMs: number }
  | { readonly kind: 'state'; readonly state: LockState }
);

// Changes with the holder and its signs of life; '' if the lock is free.
function revisionOf({ holder, at }: LockState): string {
  return holder ? `${holder.run} ${at}` : '';
}

export const lockFormat: LogFormat<LockState> = {
  initial: () => ({ at: 0, drainMs: 0 }),
  apply(state, text, serverTime) {
    const record = JSON.parse(text) as LockRecord;
    const { holder } = state;
    if (record.kind === 'state') {
      Object.assign(state, record.state);
      return;
    }
    const { run } = record;
    const at = serverTime ?? record.at;
    if (record.kind === 'acquire') {
      if (record.revision !== revisionOf(state)) return;
      // At most `drainMs`, if the clock was set back.
      const drainMs = Math.min(Math.max(0, state.at + state.drainMs - at), state.drainMs);
      Object.assign(state, { holder: { ...record.process, run, drainMs }, at, drainMs: Math.max(DRAIN_MS, drainMs) });
    } else if (holder?.run !== run) return;
    else if (record.kind === 'beat') Object.assign(state, { at, drainMs: Math.max(DRAIN_MS, record.drainMs) });
    else Object.assign(state, { holder: undefined, at, drainMs: record.drainMs });
  },
  snapshot: (state) => [JSON.stringify({ kind: 'state', state })],
};

export interface LockOptions {
  readonly signal: AbortSignal;
  readonly liveness?: { readonly self: ProcessRef; readonly livenessOf: typeof livenessOf };
  /** Called once, with the process that holds the lock. */
  readonly onWait?: (holder: ProcessRef) => void;
  /** Starts to call `beat` every BEAT_MS, and returns how to end that; by default in real time. */
  readonly startBeat?: (beat: () => void) => () => void;
}

function startBeat(beat: () => void): () => void {
  const timer = setInterval(beat, BEAT_MS).unref();
  return () => clearInterval(timer);
}

export class Lock {
  readonly #log: Log<LockState>;
  readonly #clock: Clock;
  readonly #toError: (error: unknown) => unknown;
  readonly #run = randomBytes(6).toString('hex');
  #stopBeat: () => void = () => undefined;
  /** Why the last beat was not recorded. */
  #failure: unknown;
  /** The end of the drain, by the monotonic clock. */
  #drainedAt = Number.NEGATIVE_INFINITY;

  /**
   * @param log is closed with the lock
   * @param toError converts the errors of the log, to PetstoreError `storage`
   */
  constructor(log: Log<LockState>, clock: Clock, toError: (error: unknown) => unknown = (error) => error) {
    this.#log = log;
    this.#clock = clock;
    this.#toError = toError;
  }

  /** The drain of this run and of earlier ones, in milliseconds from now. */
  get drainMs(): number {
    return Math.max(0, this.#drainedAt - this.#clock.monotonic());
  }

  /** Waits until no other run imports to this base URL, and takes the lock. */
  async acquire(options: LockOptions): Promise<void> {
    try {
      await this.#acquire(options);
      this.extendDrain(this.#log.cached().holder?.drainMs ?? 0);
      // This process may have been suspended while it took the lock, and is about to count as dead.
      await this.#append(this.#record('beat'));
    } catch (error) {
      throw this.#toError(error);
    }
    this.#stopBeat = (options.startBeat ?? startBeat)(() => this.#beat());
  }

  async #acquire({ signal, liveness, onWait }: LockOptions): Promise<void> {
    const { self, livenessOf: judge } = liveness ?? { self: currentProcess(), livenessOf };
    let seen = '';
    let since = 0;
    let isReported = false;
    for (;;) {
      const state = await this.#log.refresh();
      const { holder } = state;
      if (holder?.run === this.#run) return;
      const now = this.#clock.monotonic();
      // Measure the silence on this machine: the other one's clock may differ.
      if (revisionOf(state) !== seen) since = now;
      seen = revisionOf(state);
      const holderIs = holder ? judge(holder) : 'dead';
      if (holderIs === 'dead' || (holderIs === 'unknown' && now - since >= SILENCE_MS)) {
        await this.#append({ kind: 'acquire', process: self, revision: seen });
        continue;
      }
      if (holder && !isReported) onWait?.(holder);
      isReported = true;
      await this.#clock.sleep(POLL_MS, signal);
    }
  }

  /** Call after a create without a valid response, which the service may process for so long. */
  extendDrain(ms: number): void {
    this.#drainedAt = Math.max(this.#drainedAt, this.#clock.monotonic() + ms);
    // The next run must know even if this one is killed before the next beat.
    if (ms > DRAIN_MS) this.#beat();
  }

  /**
   * The last check before a create is sent.
   * @throws PetstoreError `storage` if another run has taken over or may have, or if the last beat was not recorded
   */
  assertHeld(): void {
    let state: LockState | undefined;
    try {
      if (this.#failure) throw this.#failure;
      state = this.#log.freshState();
    } catch (error) {
      throw this.#toError(error);
    }
    if (state?.holder?.run === this.#run) return;
    const message = state
      ? 'another process has taken over this import'
      : `the lock of this import was not confirmed for ${CONFIRMED_WITHIN_MS / 1000}s`;
    throw new PetstoreError('storage', message, { hint: 'run the same command again to create the missing rows' });
  }

  /** Releases the lock; the next run waits for the drain. Throws the log's own errors. */
  async close(): Promise<void> {
    this.#stopBeat();
    try {
      if (this.#log.cached().holder?.run === this.#run) await this.#append(this.#record('release'));
    } finally {
      this.#log.close();
    }
  }

  #beat(): void {
    const end = (failure?: unknown): void => {
      this.#failure = failure;
    };
    this.#append(this.#record('beat')).then(() => end(), end);
  }

  #record(kind: 'beat' | 'release'): object {
    return { kind, drainMs: Math.ceil(this.drainMs) };
  }

  async #append(record: object): Promise<void> {
    const at = Math.round(this.#clock.now());
    await this.#log.append(JSON.stringify({ run: this.#run, at, ...record }));
  }
}

interface LockPlace {
  readonly clock: Clock;
  /** Used if there is no server. */
  readonly stateDir: () => string;
  /** Closed by the caller. */
  readonly server?: StateServer | undefined;
}

/**
 * @param identity the target of the import: the base URL, or the sandbox's data
 * @throws PetstoreError `storage`; the methods of the lock do so too, or `usage` if a server rejects its first script
 */
export async function openLock(identity: string, { server, stateDir, clock }: LockPlace): Promise<Lock> {
  const name = createHash('sha256').update(identity).digest('hex').slice(0, 32);
  if (server) {
    const { StreamLog } = await import('../append-log/stream-log.ts');
    const place = {
      server,
      key: `petstore:{${name}}:import`,
      ttlMs: UNUSED_MS,
      rotateAt: ROTATE_AT_RECORDS,
      freshMs: CONFIRMED_WITHIN_MS,
    };
    const log = new StreamLog(lockFormat, { clock, ...place });
    return new Lock(log, clock, (error) => server.toPetstoreError(error));
  }
  const dir = join(stateDir(), 'imports');
  const toError = (error: unknown): unknown =>
    isSystemError(error) ? storageError(error, 'lock the import in', dir, 'PETSTORE_STATE_DIR') : error;
  try {
    const own = join(dir, name);
    mkdirSwept(own);
    return new Lock(
      new FileLog(lockFormat, { dir: own, name: 'lock', rotateAtBytes: ROTATE_AT_BYTES }),
      clock,
      toError,
    );
  } catch (error) {
    throw toError(error);
  }
}
