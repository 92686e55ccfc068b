// The lock of a base URL: one import at a time (docs/import.md). It keeps the drain, too: how long the service may still
// process the creates of this run and of earlier ones. Each record contains the drain that the next run must wait for.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import type { Log } from '../shared-log/log.ts';
import type { Liveness, ProcessRef } from '../shared-log/process-liveness.ts';
import type { Pause } from './list.ts';
import type { LockRecord, LockState } from './lock-format.ts';
import { revisionOf } from './lock-format.ts';

/** How often a run records that it is alive, in milliseconds. */
export const HEARTBEAT_MS = 3000;
/** How long the service may still process a create after the process that sent it was killed, in milliseconds. */
export const DRAIN_MS = 10_000;
/**
 * A run on a state server sends no create if it last reached the server longer ago: one heartbeat (3 s), the time for which a
 * call is retried (5 s), and the timeouts of its first and last attempt (1 s each).
 */
export const CONFIRMED_WITHIN_MS = 10_000;
/** A live run records its lock again within this time after a state server lost it; until then, a new lock is provisional. */
const CONFIRM_LOCK_MS = HEARTBEAT_MS + 1000;
/** A run whose process cannot be seen counts as dead after this long without a record, in milliseconds. */
const SILENCE_MS = 60_000;
const POLL_MS = 200;

export interface LockOptions {
  readonly signal: AbortSignal;
  readonly pause: Pause;
  /** Called once for each acquisition, with the process that holds the lock. */
  readonly onBusy?: ((holder: ProcessRef) => void) | undefined;
}

export interface LockContext {
  readonly process: ProcessRef;
  readonly livenessOf: (ref: ProcessRef, isOnServer: boolean) => Liveness;
  /** Whether the log is on a server, which may lose records while runs continue. */
  readonly isOnServer: boolean;
  /** Converts the errors of the log to PetstoreError `storage`, or `usage` if a server rejects the first script. */
  readonly toError: (error: unknown) => unknown;
}

/** Call `acquire` first, `confirm` before the first create, `assertHeld` before each create, and `close` at the end. */
export class Lock {
  readonly #log: Log<LockState>;
  readonly #clock: Clock;
  readonly #context: LockContext;
  readonly #run = randomBytes(6).toString('hex');
  /** The term of the confirmed lock on a server; otherwise 0. */
  #term = 0;
  #timer: NodeJS.Timeout | undefined;
  /** When the lock may be confirmed, by the monotonic clock. */
  #confirmAt = 0;
  /** The time of the last record of this run. */
  #recordedAt = 0;
  /** The error of the last heartbeat if it failed. */
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

  get #isHolder(): boolean {
    return this.#log.cached().holder?.run === this.#run;
  }

  /** Takes the lock when no other run imports into this base URL, and waits for the drain of earlier runs. */
  async acquire({ signal, pause, onBusy }: LockOptions): Promise<void> {
    try {
      for (let isReported = false; !(await this.#tryTake()); isReported = true) {
        const { holder } = this.#log.cached();
        if (holder && !isReported) onBusy?.(holder);
        await this.#clock.sleep(POLL_MS, signal);
      }
      this.#timer = setInterval(() => void this.heartbeat(), HEARTBEAT_MS).unref();
      await pause(this.drainMs, 'requests');
    } catch (error) {
      throw this.#context.toError(error);
    }
  }

  async #tryTake(): Promise<boolean> {
    const state = await this.#log.refresh();
    const revision = revisionOf(state);
    if (state.holder && !this.#isDead(state.holder, revision)) return false;
    await this.#append('acquire', revision);
    // Another run may have won the race.
    if (!this.#isHolder) return false;
    const now = this.#clock.monotonic();
    this.#drainedAt = now + this.#log.cached().drainMs;
    this.#confirmAt = this.#context.isOnServer ? now + CONFIRM_LOCK_MS : now;
    return true;
  }

  // Measures the silence on this machine, since the clock of the holder's machine may differ.
  #isDead(holder: ProcessRef, revision: string): boolean {
    const now = this.#clock.monotonic();
    if (revision !== this.#seen.revision) this.#seen = { revision, at: now };
    const liveness = this.#context.livenessOf(holder, this.#context.isOnServer);
    return liveness === 'dead' || (liveness === 'unknown' && now - this.#seen.at >= SILENCE_MS);
  }

  /**
   * On a state server, waits until a live run whose lock the server lost would have taken it back.
   * @returns false if a run has taken it back, or if this run was suspended until it counted as dead: acquire the lock again
   */
  async confirm(pause: Pause): Promise<boolean> {
    try {
      await pause(this.#confirmAt - this.#clock.monotonic(), 'lock');
      await this.#append('confirm');
      this.#failure = undefined;
      if (this.#isHolder && this.#context.isOnServer) this.#term = this.#log.cached().term;
      if (!this.#isHolder) clearInterval(this.#timer);
      return this.#isHolder;
    } catch (error) {
      throw this.#context.toError(error);
    }
  }

  /** Records that this run is alive: in a file before this returns, on a server in the background. */
  async heartbeat(): Promise<void> {
    try {
      // Another run may have taken over, which the log does not show if the server has lost records.
      const silentMs = this.#clock.now() + (this.#log.clockOffsetMs ?? 0) - this.#log.cached().at;
      if (this.#context.isOnServer && silentMs >= SILENCE_MS)
        throw new PetstoreError('storage', lostMessage(undefined));
      const writing = this.#append('beat');
      if (writing instanceof Promise) await writing;
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
    }
  }

  /** Call after a create without a valid response: the service may still process it for `ms`. */
  extendDrain(ms: number): void {
    this.#drainedAt = Math.max(this.#drainedAt, this.#clock.monotonic() + ms);
    // Record the longer drain now: this run may be killed before the next heartbeat.
    if (ms > DRAIN_MS) void this.heartbeat();
  }

  /**
   * The last check before a create is sent.
   * @throws PetstoreError `storage` if another run has or may have taken over, or if the last heartbeat was not recorded
   */
  assertHeld(): void {
    let state: LockState | undefined;
    try {
      // The timer is late if this process was suspended.
      if (Math.abs(this.#clock.now() - this.#recordedAt) >= HEARTBEAT_MS) void this.heartbeat();
      if (this.#failure) throw this.#failure;
      state = this.#log.freshState();
    } catch (error) {
      throw this.#context.toError(error);
    }
    if (state?.holder?.run === this.#run) return;
    throw new PetstoreError('storage', lostMessage(state));
  }

  /** Releases the lock; the next run waits for the drain. Throws the log's own errors. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    try {
      if (this.#isHolder) await this.#append('release');
    } finally {
      this.#log.close();
    }
  }

  #append(kind: LockRecord['kind'], revision = ''): unknown {
    const at = Math.round(this.#clock.now());
    this.#recordedAt = at;
    const drainMs = Math.ceil(kind === 'beat' || kind === 'confirm' ? this.#drainIfKilledMs : this.drainMs);
    const { process } = this.#context;
    const record: LockRecord = { kind, run: this.#run, process, term: this.#term, revision, at, drainMs };
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
