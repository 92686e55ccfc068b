// Virtual time: the events of the world, in an order that the seed determines.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../../src/clock.ts';
import { seededRandom } from '../../src/sandbox/faults.ts';
import { root } from './disks.ts';

/** Epoch milliseconds at which every world begins. */
export const EPOCH = Date.parse('2026-11-21T12:00:00.250Z');

export interface Machine {
  readonly name: string;
  /** The machine's wall clock minus true time, in milliseconds. */
  skewMs: number;
  /** The virtual time at which the wall clock was last set back; -1 before. */
  setAt: number;
}

/** A process of the world. Once killed, it does nothing more; while it is suspended, its events wait. */
export interface SimulatedProcess {
  readonly pid: number;
  readonly machine: Machine;
  /** The name of the process's machine or container: the liveness of a process in another container is unknown. */
  readonly host: string;
  readonly command: string;
  readonly maxWaitMs: number;
  readonly startedAt: number;
  /** The time at which the process ended by itself; -1 before. */
  endedAt: number;
  /** Virtual time of the last request or response; -1 before the first. */
  activeAt: number;
  dead: boolean;
  suspendedUntil: number;
  /** Whether the process is killed during its next write. */
  diesWriting: boolean;
  /** Whether the process is killed during a rotation of a log. */
  diesRotating: boolean;
  /** The end of the wait that the last 429 to the process stated, in virtual time. */
  refusedUntil: number;
  /** Requests that may be sent as soon as there is a connection. */
  connecting: number;
  /** Requests whose first byte was sent and whose response is missing. */
  readonly inFlight: { create: number; list: number };
  /** Creates that were sent. */
  creates: number;
  /** Creates that were sent and ended without a response. */
  lost: number;
  /** Creates that the service has accepted and not processed yet. */
  owed: number;
  /** Acts like Ctrl-C. */
  readonly onInterrupt: () => void;
  /** Called when the process is killed. */
  readonly onDeath: () => void;
}

/** Thrown by a file operation of a process that is dead, or that is killed during the operation. */
export class KilledError extends Error {
  override readonly name = 'KilledError';
}

interface Event {
  at: number;
  readonly owner: SimulatedProcess | undefined;
  readonly happen: () => void;
}

const running = new AsyncLocalStorage<SimulatedProcess>();

/** The process whose code runs now; undefined in the world's own code. */
export function currentProcess(): SimulatedProcess | undefined {
  return running.getStore();
}

/** Resolves when all promises that can settle before time advances have settled. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export class Scheduler {
  /** True virtual time since the world began, in milliseconds. */
  now = 0;
  steps = 0;
  readonly random: () => number;
  /** The same seed gives the same lines. */
  readonly trace: string[] = [];
  /** The last element is the next event; of events at one time, the one that was added first. */
  readonly #events: Event[] = [];

  constructor(random: () => number) {
    this.random = random;
  }

  /** Adds a line to the trace. */
  note(process: SimulatedProcess | undefined, text: string): void {
    const who = process ? `${process.machine.name}/${process.pid}` : 'world';
    const time = (this.now / 1000).toFixed(3).padStart(10);
    this.trace.push(`${time}s ${who.padEnd(8)} ${text.replaceAll(root, '')}`);
  }

  between(low: number, high: number): number {
    return low + this.random() * (high - low);
  }

  /** @returns a function that cancels the event */
  after(ms: number, owner: SimulatedProcess | undefined, happen: () => void): () => void {
    const event = { at: this.now + Math.max(0, ms), owner, happen };
    this.#insert(event);
    return () => {
      const at = this.#events.indexOf(event);
      if (at >= 0) this.#events.splice(at, 1);
    };
  }

  #insert(event: Event): void {
    const place = this.#events.findIndex(({ at }) => at <= event.at);
    this.#events.splice(place < 0 ? this.#events.length : place, 0, event);
  }

  /** Waits in the world's own code. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, undefined, resolve));
  }

  /**
   * Runs one event and everything that follows from it before time advances.
   * @returns false if no event is left
   */
  async step(): Promise<boolean> {
    const event = this.#events.pop();
    if (!event) return false;
    const { owner, at, happen } = event;
    if (owner?.dead) return true;
    this.now = at;
    if (owner && owner.suspendedUntil > at) {
      event.at = owner.suspendedUntil;
      this.#insert(event);
      return true;
    }
    this.steps++;
    try {
      if (owner) running.run(owner, happen);
      else happen();
    } catch (error) {
      // The process was killed during a file operation.
      if (!(error instanceof KilledError)) throw error;
    }
    await settled();
    return true;
  }

  clockOf(owner: SimulatedProcess): Clock {
    return {
      now: () => Math.floor(EPOCH + this.now + owner.machine.skewMs),
      monotonic: () => this.now + 1000,
      // Each process has its own draws, so that a changed program does not change the rest of the world.
      random: seededRandom(owner.pid * 104_729 + Math.floor(this.now)),
      sleep: (ms, signal) => {
        if (!(ms >= 0)) return Promise.reject(new RangeError(`sleep(${ms})`));
        return new Promise((resolve, reject) => {
          if (signal?.aborted) return reject(signal.reason);
          // A timer takes some time, even for 0 ms.
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
}
