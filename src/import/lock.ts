// The lock of a base URL: one import at a time, and the drain of its creates (docs/import.md): how long the service may still
// process those that were sent.
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { FileLog } from '../append-log/file-log.ts';
import type { Log } from '../append-log/log.ts';
import { mkdirSwept, UNUSED_MS } from '../append-log/mkdirp.ts';
import type { ProcessRef } from '../append-log/process-liveness.ts';
import { currentProcess, livenessOf } from '../append-log/process-liveness.ts';
import type { StateServer } from '../append-log/state-server.ts';
import type { Clock } from '../clock.ts';
import { isSystemError, PetstoreError, storageError } from '../errors.ts';
import type { Pause } from './list.ts';
import type { LockState } from './lock-format.ts';
import { LOCK_VERSION, lockFormat, revisionOf } from './lock-format.ts';

/** How often a run records that it is alive, in milliseconds. */
export const BEAT_MS = 3000;
/** How long the service may process a create after its process was killed, in milliseconds. */
export const DRAIN_MS = 10_000;
/** A run on a state server sends nothing this long after its last record: a beat, and the patience with the server. */
const CONFIRMED_WITHIN_MS = 10_000;
/** A state server that lost the record of a live run has it again within this time. */
const PROBATION_MS = BEAT_MS + 1000;
/** A run whose process cannot be seen counts as dead after this long without a record, in milliseconds. */
const SILENCE_MS = 60_000;
const POLL_MS = 200;
const ROTATE_AT_BYTES = 64 * 1024;
const ROTATE_AT_RECORDS = 1000;

export interface LockOptions {
  readonly signal: AbortSignal;
  readonly liveness?: { readonly self: ProcessRef; readonly livenessOf: typeof livenessOf };
  /** Called once, with the process that holds the lock. */
  readonly onWait?: (holder: ProcessRef) => void;
  readonly pause: Pause;
  /** Calls `beat` every BEAT_MS until the signal is aborted; by default in real time. */
  readonly repeat?: (beat: () => void, until: AbortSignal) => unknown;
}

function inRealTime(beat: () => void, until: AbortSignal): void {
  const timer = setInterval(beat, BEAT_MS).unref();
  until.addEventListener('abort', () => clearInterval(timer));
}

interface LockPlace {
  /** Converts the errors of the log, to PetstoreError `storage`. */
  readonly toError: (error: unknown) => unknown;
  /** Whether the log is on a server, which may lose it while runs go on. */
  readonly isOnServer: boolean;
}

const IN_MEMORY: LockPlace = { toError: (error) => error, isOnServer: false };

export class Lock {
  readonly #log: Log<LockState>;
  readonly #clock: Clock;
  readonly #place: LockPlace;
  readonly #run = randomBytes(6).toString('hex');
  #process: ProcessRef | undefined;
  readonly #closed = new AbortController();
  /** The time of the last record of this run. */
  #recordedAt = 0;
  /** Why it could not be written. */
  #failure: unknown;
  /** The end of the drain, by the monotonic clock. */
  #drainedAt = Number.NEGATIVE_INFINITY;

  /** @param log is closed with the lock */
  constructor(log: Log<LockState>, clock: Clock, place = IN_MEMORY) {
    this.#log = log;
    this.#clock = clock;
    this.#place = place;
  }

  /** The drain of this run and of earlier ones, in milliseconds from now. */
  get drainMs(): number {
    return Math.max(0, this.#drainedAt - this.#clock.monotonic());
  }

  /** Takes the lock when no other run imports to this base URL, and waits for the drain of earlier runs. */
  async acquire(options: LockOptions): Promise<void> {
    const { pause, repeat = inRealTime } = options;
    try {
      await this.#acquire(options);
      void repeat(() => this.#beat(), this.#closed.signal);
      await pause(this.drainMs, 'requests');
      // Creates may be sent from now on; and this process may have been suspended, and is about to count as dead.
      await this.#append('beat');
    } catch (error) {
      throw this.#place.toError(error);
    }
  }

  async #acquire({ signal, liveness, onWait, pause }: LockOptions): Promise<void> {
    const { self, livenessOf: judge } = liveness ?? { self: currentProcess(), livenessOf };
    this.#process = self;
    let seen = '';
    let since = 0;
    let isReported = false;
    for (;;) {
      const state = await this.#log.refresh();
      const { holder } = state;
      if (holder?.run === this.#run) {
        if (!holder.isProvisional) return;
        await pause(PROBATION_MS, 'lock');
        await this.#append('beat');
        continue;
      }
      const now = this.#clock.monotonic();
      // Measure the silence on this machine: the other one's clock may differ.
      if (revisionOf(state) !== seen) since = now;
      seen = revisionOf(state);
      const holderIs = holder ? judge(holder) : 'dead';
      if (holderIs === 'dead' || (holderIs === 'unknown' && now - since >= SILENCE_MS)) {
        await this.#append('acquire', { revision: seen, isOnServer: this.#place.isOnServer });
        const taken = this.#log.cached();
        if (taken.holder?.run === this.#run) {
          this.extendDrain(taken.drainMs);
          continue;
        }
      } else {
        if (holder && !isReported) onWait?.(holder);
        isReported = true;
      }
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
      // The timer is late if this process was suspended.
      if (Math.abs(this.#clock.now() - this.#recordedAt) >= BEAT_MS) this.#beat();
      if (this.#failure) throw this.#failure;
      state = this.#log.freshState();
    } catch (error) {
      throw this.#place.toError(error);
    }
    if (state?.holder?.run === this.#run) return;
    throw new PetstoreError('storage', lostMessage(state), {
      hint: 'run the same command again to create the missing rows',
    });
  }

  /** Releases the lock; the next run waits for the drain. Throws the log's own errors. */
  async close(): Promise<void> {
    this.#closed.abort();
    try {
      if (this.#log.cached().holder?.run === this.#run) await this.#append('release');
    } finally {
      this.#log.close();
    }
  }

  // A file is written before this returns.
  #beat(): void {
    const end = (failure?: unknown): void => {
      this.#failure = failure;
    };
    try {
      const writing = this.#append('beat');
      if (writing instanceof Promise) writing.then(() => end(), end);
      else end();
    } catch (error) {
      end(error);
    }
  }

  #append(kind: 'acquire' | 'beat' | 'release', more: object = {}): unknown {
    const at = Math.round(this.#clock.now());
    this.#recordedAt = at;
    const record = { kind, run: this.#run, at, process: this.#process, drainMs: this.#drainAfter(kind), ...more };
    return this.#log.append(JSON.stringify(record));
  }

  // A run that is killed may have sent a create as late as `assertHeld` allows.
  #drainAfter(kind: 'acquire' | 'beat' | 'release'): number {
    const sentWithinMs = this.#place.isOnServer ? CONFIRMED_WITHIN_MS : BEAT_MS;
    return Math.ceil(kind === 'beat' ? Math.max(this.drainMs, sentWithinMs + DRAIN_MS) : this.drainMs);
  }
}

function lostMessage(state: LockState | undefined): string {
  if (!state) return `the lock of this import was not confirmed for ${CONFIRMED_WITHIN_MS / 1000}s`;
  return state.at === 0 ? 'the lock of this import was removed' : 'another process has taken over this import';
}

interface LockOwner {
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
export async function openLock(identity: string, { server, stateDir, clock }: LockOwner): Promise<Lock> {
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 32);
  if (server) {
    const { StreamLog } = await import('../append-log/stream-log.ts');
    const key = `petstore:{${hash}}:import-${LOCK_VERSION}`;
    const limits = { ttlMs: UNUSED_MS, rotateAt: ROTATE_AT_RECORDS, freshMs: CONFIRMED_WITHIN_MS };
    const log = new StreamLog(lockFormat, { server, key, clock, ...limits });
    return new Lock(log, clock, { isOnServer: true, toError: (error) => server.toPetstoreError(error) });
  }
  const dir = join(stateDir(), 'imports');
  const toError = (error: unknown): unknown =>
    isSystemError(error) ? storageError(error, 'lock the import in', dir, 'PETSTORE_STATE_DIR') : error;
  try {
    const file = { dir: join(dir, hash), name: `lock-${LOCK_VERSION}`, rotateAtBytes: ROTATE_AT_BYTES };
    mkdirSwept(file.dir);
    return new Lock(new FileLog(lockFormat, file), clock, { isOnServer: false, toError });
  } catch (error) {
    throw toError(error);
  }
}
