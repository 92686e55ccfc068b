// The lock of a base URL: one import at a time (docs/import.md). It keeps the drain, too: how long the service may still
// process the creates of this run and of earlier ones. Each record contains the drain that is left at its time.
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { isSystemError, PetstoreError, storageError } from '../errors.ts';
import { mkdirAndPrune, RETENTION_MS } from '../settings/mkdirp.ts';
import { FileLog } from '../shared-log/file-log.ts';
import type { Log } from '../shared-log/log.ts';
import type { ProcessRef } from '../shared-log/process-liveness.ts';
import { currentProcess, livenessOf } from '../shared-log/process-liveness.ts';
import type { StateServer } from '../shared-log/state-server.ts';
import type { Pause } from './list.ts';
import type { LockState } from './lock-format.ts';
import { LOCK_VERSION, lockFormat, revisionOf } from './lock-format.ts';

/** How often a run records that it is alive, in milliseconds. */
export const HEARTBEAT_MS = 3000;
/** How long the service may process a create after the process that sent it was killed, in milliseconds. */
export const DRAIN_MS = 10_000;
/** A run on a state server sends nothing if its last record is older: one heartbeat, and the time for which calls are retried. */
const CONFIRMED_WITHIN_MS = 10_000;
/** A state server that lost the record of a live run has it again within this time. */
const PROBATION_MS = HEARTBEAT_MS + 1000;
/** A run whose process cannot be seen counts as dead after this long without a record, in milliseconds. */
const SILENCE_MS = 60_000;
const POLL_MS = 200;
const ROTATE_AT_BYTES = 64 * 1024;
const ROTATE_AT_RECORDS = 1000;

export interface LockOptions {
  readonly signal: AbortSignal;
  readonly pause: Pause;
  /** Called once, with the process that holds the lock. */
  readonly onWait?: (holder: ProcessRef) => void;
}

export interface LockContext {
  readonly process: ProcessRef;
  readonly livenessOf: typeof livenessOf;
  /** Whether the log is on a server, which may lose it while runs continue. */
  readonly isOnServer: boolean;
  /** Converts the errors of the log to PetstoreError `storage`, or `usage` if a server rejects the first script. */
  readonly toError: (error: unknown) => unknown;
}

export class Lock {
  readonly #log: Log<LockState>;
  readonly #clock: Clock;
  readonly #context: LockContext;
  readonly #run = randomBytes(6).toString('hex');
  #timer: NodeJS.Timeout | undefined;
  /** The time of the last record of this run. */
  #recordedAt = 0;
  /** Why the last record could not be written. */
  #failure: unknown;
  /** The end of the drain, by the monotonic clock. */
  #drainedAt = Number.NEGATIVE_INFINITY;
  /** When this run saw the holder's last sign of life, by the monotonic clock. */
  #seen = { revision: '', at: 0 };

  /** @param log is closed with the lock */
  constructor(log: Log<LockState>, clock: Clock, context: LockContext) {
    this.#log = log;
    this.#clock = clock;
    this.#context = context;
  }

  /** The drain of this run and of earlier ones, in milliseconds from now. */
  get drainMs(): number {
    return Math.max(0, this.#drainedAt - this.#clock.monotonic());
  }

  /** Takes the lock when no other run imports into this base URL, and waits for the drain of earlier runs. */
  async acquire(options: LockOptions): Promise<void> {
    try {
      do await this.#take(options);
      while (!(await this.#confirm(options)));
      this.#timer = setInterval(() => this.heartbeat(), HEARTBEAT_MS).unref();
      await options.pause(this.drainMs, 'requests');
      // Creates may be sent from now on; if this process was suspended, it may be about to count as dead.
      await this.#append('beat');
      this.#failure = undefined;
    } catch (error) {
      throw this.#context.toError(error);
    }
  }

  async #take({ signal, onWait }: LockOptions): Promise<void> {
    for (let isReported = false; ; ) {
      const state = await this.#log.refresh();
      if (!state.holder || this.#isDead(state.holder, revisionOf(state))) {
        await this.#append('acquire', { revision: revisionOf(state), isOnServer: this.#context.isOnServer });
        const { holder, drainMs } = this.#log.cached();
        this.#drainedAt = this.#clock.monotonic() + drainMs;
        // Otherwise, another run won the race.
        if (holder?.run === this.#run) return;
      } else if (!isReported) {
        onWait?.(state.holder);
        isReported = true;
      }
      await this.#clock.sleep(POLL_MS, signal);
    }
  }

  // Measures the silence on this machine, since the clock of the holder's machine may differ.
  #isDead(holder: ProcessRef, revision: string): boolean {
    const now = this.#clock.monotonic();
    if (revision !== this.#seen.revision) this.#seen = { revision, at: now };
    const liveness = this.#context.livenessOf(holder);
    return liveness === 'dead' || (liveness === 'unknown' && now - this.#seen.at >= SILENCE_MS);
  }

  // Waits so that a live run whose record the server lost can take the lock back.
  async #confirm({ pause }: LockOptions): Promise<boolean> {
    if (!this.#log.cached().holder?.isProvisional) return true;
    await pause(PROBATION_MS, 'lock');
    await this.#append('beat');
    return this.#holds();
  }

  /** Records that this run is alive: in a file before this returns, on a server in the background. */
  heartbeat(): void {
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

  /** Call after a create without a valid response: the service may still process it for `ms`. */
  extendDrain(ms: number): void {
    this.#drainedAt = Math.max(this.#drainedAt, this.#clock.monotonic() + ms);
    // The next run must know even if this one is killed before the next heartbeat.
    if (ms > DRAIN_MS) this.heartbeat();
  }

  /**
   * The last check before a create is sent.
   * @throws PetstoreError `storage` if another run has taken over or may have, or if the last heartbeat was not recorded
   */
  assertHeld(): void {
    let state: LockState | undefined;
    try {
      // The timer is late if this process was suspended.
      if (Math.abs(this.#clock.now() - this.#recordedAt) >= HEARTBEAT_MS) this.heartbeat();
      if (this.#failure) throw this.#failure;
      state = this.#log.freshState();
    } catch (error) {
      throw this.#context.toError(error);
    }
    if (state?.holder?.run === this.#run) return;
    throw new PetstoreError('storage', lostMessage(state), {
      hint: 'run the same command again to create the missing rows',
    });
  }

  /** Releases the lock; the next run waits for the drain. Throws the log's own errors. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    try {
      const { holder } = this.#log.cached();
      // A run whose lock the server lost may still take it back from a provisional holder.
      if (holder?.run === this.#run && !holder.isProvisional) await this.#append('release');
    } finally {
      this.#log.close();
    }
  }

  #holds(): boolean {
    return this.#log.cached().holder?.run === this.#run;
  }

  #append(kind: 'acquire' | 'beat' | 'release', more: object = {}): unknown {
    const at = Math.round(this.#clock.now());
    this.#recordedAt = at;
    const drainMs = Math.ceil(kind === 'beat' ? this.#drainIfKilledMs : this.drainMs);
    const record = { kind, run: this.#run, at, process: this.#context.process, drainMs, ...more };
    return this.#log.append(JSON.stringify(record));
  }

  // The drain that the next run must wait for if this run is killed before its next record: until then, `assertHeld` allows
  // creates.
  get #drainIfKilledMs(): number {
    const sentWithinMs = this.#context.isOnServer ? CONFIRMED_WITHIN_MS : HEARTBEAT_MS;
    return Math.max(this.drainMs, sentWithinMs + DRAIN_MS);
  }
}

function lostMessage(state: LockState | undefined): string {
  if (!state) return `the import lock was not confirmed for ${CONFIRMED_WITHIN_MS / 1000}s`;
  return state.at === 0 ? 'the import lock was removed' : 'another process has taken over this import';
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
 * @throws PetstoreError `storage`; the lock's methods also throw it, or `usage` if a server rejects the first script
 */
export async function openLock(identity: string, { server, stateDir, clock }: LockOwner): Promise<Lock> {
  const processes = { process: currentProcess(), livenessOf };
  const hash = createHash('sha256').update(identity).digest('hex').slice(0, 32);
  if (server) {
    const { StreamLog } = await import('../shared-log/stream-log.ts');
    const key = `petstore:{${hash}}:import-${LOCK_VERSION}`;
    const limits = { ttlMs: RETENTION_MS, rotateAt: ROTATE_AT_RECORDS, freshMs: CONFIRMED_WITHIN_MS };
    const log = new StreamLog(lockFormat, { server, key, clock, ...limits });
    return new Lock(log, clock, { ...processes, isOnServer: true, toError: (error) => server.toPetstoreError(error) });
  }
  const dir = join(stateDir(), 'imports');
  const toError = (error: unknown): unknown =>
    isSystemError(error) ? storageError(error, 'lock the import in', dir) : error;
  try {
    const file = { dir: join(dir, hash), name: `lock-${LOCK_VERSION}`, rotateAtBytes: ROTATE_AT_BYTES, clock };
    mkdirAndPrune(file.dir);
    return new Lock(new FileLog(lockFormat, file), clock, { ...processes, isOnServer: false, toError });
  } catch (error) {
    throw toError(error);
  }
}
