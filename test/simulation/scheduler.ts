// Virtual time: the events of the world, in an order that the seed determines.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../../src/clock.ts';

/** Epoch milliseconds at which every world begins. */
export const EPOCH = Date.parse('2026-11-21T12:00:00.250Z');

export interface Machine {
  readonly name: string;
  /** Its wall clock minus true time, milliseconds; a fault may change it. */
  skewMs: number;
  /** Virtual times at which its wall clock was set. */
  readonly jumps: number[];
  /** Bytes that still fit on its disk. */
  freeBytes: number;
  /** Whether a write to the ledger has ever failed here: a process may then continue alone. */
  diskFailed: boolean;
}

/** A process of the world. Once killed, it does nothing more; while it is suspended, its events wait. */
export interface SimulatedProcess {
  readonly pid: number;
  readonly machine: Machine;
  readonly command: string;
  readonly maxWaitMs: number;
  /** Whether it prompts before it creates categories. */
  readonly hasQuestion: boolean;
  dead: boolean;
  suspendedUntil: number;
  /** How long its machine was suspended, in milliseconds; its monotonic clock stopped meanwhile. */
  sleptMs: number;
  /** The end of the wait that its last 429 stated, in virtual time. */
  refusedUntil: number;
  /** The number of its creates that ended without a response. */
  lost: number;
  /** Whether its lock file was replaced by a copy. */
  hasLostJournal: boolean;
  /** Whether it is killed during its next write. */
  diesWriting: boolean;
  /** It is not killed before this time, because it could not recover from the loss of a response that is arriving. */
  sparedUntil: number;
  /** Requests that may be sent as soon as there is a connection. */
  connecting: number;
  /** Requests whose first byte was sent and whose response is missing. */
  readonly inFlight: { create: number; list: number };
  readonly sentNames: Set<string>;
  /** The categories in the last list that it received. */
  listed: ReadonlySet<object>;
  /** Creates that were sent. */
  creates: number;
  /** Creates that were in flight when Ctrl-C ended them. */
  interrupted: number;
  /** Creates that the service may still process after a 202 or 504. */
  owed: number;
  readonly startedAt: number;
  /** When it ended by itself; -1 before. */
  endedAt: number;
  /** Virtual time of the last request or response; -1 before the first. */
  activeAt: number;
  /** Acts like Ctrl-C. */
  readonly onInterrupt: () => void;
  /** Called when it is killed. */
  onDeath: () => void;
}

/** Thrown into a process that is killed in the middle of a system call. */
export class KilledError extends Error {
  override readonly name = 'KilledError';
}

interface Event {
  at: number;
  readonly order: number;
  readonly owner: SimulatedProcess | undefined;
  readonly happen: () => void;
  cancelled: boolean;
}

const running = new AsyncLocalStorage<SimulatedProcess>();

/** The process whose code runs now; undefined in the world's own code. */
export function currentProcess(): SimulatedProcess | undefined {
  return running.getStore();
}

/** Resolves after all promises that can settle before time advances. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export class Scheduler {
  /** True virtual time since the world began, milliseconds. */
  now = 0;
  steps = 0;
  readonly random: () => number;
  #events: Event[] = [];
  #order = 0;

  constructor(random: () => number) {
    this.random = random;
  }

  between(low: number, high: number): number {
    return low + this.random() * (high - low);
  }

  /** @returns a function that cancels the event */
  after(ms: number, owner: SimulatedProcess | undefined, happen: () => void): () => void {
    const event: Event = { at: this.now + Math.max(0, ms), order: this.#order++, owner, happen, cancelled: false };
    this.#push(event);
    return () => {
      event.cancelled = true;
    };
  }

  /** Waits in the world's own code. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, undefined, resolve));
  }

  /** Runs a process until its own code waits for an event. */
  enter<T>(owner: SimulatedProcess, work: () => T): T {
    return running.run(owner, work);
  }

  /**
   * Runs one event and everything that follows from it before time advances.
   * @returns false if no event is left
   */
  async step(): Promise<boolean> {
    const event = this.#pop();
    if (!event) return false;
    const { owner } = event;
    if (event.cancelled || owner?.dead) return true;
    this.now = Math.max(this.now, event.at);
    if (owner && owner.suspendedUntil > this.now) {
      event.at = owner.suspendedUntil;
      this.#push(event);
      return true;
    }
    this.steps++;
    if (owner) running.run(owner, event.happen);
    else event.happen();
    await settled();
    return true;
  }

  clockOf(owner: SimulatedProcess): Clock {
    // Each process has its own draws, so that a changed program does not change the rest of the world.
    const random = draws(owner.pid * 104_729 + Math.floor(this.now));
    return {
      now: () => Math.floor(EPOCH + this.now + owner.machine.skewMs),
      monotonic: () => this.now + 1000 - owner.sleptMs,
      random,
      sleep: (ms, signal) => {
        if (!Number.isFinite(ms) || ms < 0 || ms > 30_000) return Promise.reject(new RangeError(`sleep(${ms})`));
        return new Promise((resolve, reject) => {
          if (signal?.aborted) return reject(signal.reason);
          // A timer takes some time, however little is asked for.
          const cancel = this.after(Math.max(ms, 0.01), owner, () => {
            signal?.removeEventListener('abort', stop);
            resolve();
          });
          const stop = (): void => {
            cancel();
            reject(signal?.reason);
          };
          signal?.addEventListener('abort', stop, { once: true });
        });
      },
    };
  }

  // A binary heap by time, then by order.
  #push(event: Event): void {
    const heap = this.#events;
    heap.push(event);
    for (let at = heap.length - 1; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!isBefore(heap[at] as Event, heap[parent] as Event)) return;
      [heap[at], heap[parent]] = [heap[parent] as Event, heap[at] as Event];
      at = parent;
    }
  }

  #pop(): Event | undefined {
    const heap = this.#events;
    const [first] = heap;
    const last = heap.pop();
    if (heap.length === 0 || !last) return first;
    heap[0] = last;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      if (left < heap.length && isBefore(heap[left] as Event, heap[least] as Event)) least = left;
      if (right < heap.length && isBefore(heap[right] as Event, heap[least] as Event)) least = right;
      if (least === at) return first;
      [heap[at], heap[least]] = [heap[least] as Event, heap[at] as Event];
      at = least;
    }
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** A seeded random number generator (mulberry32). */
export function draws(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
