// One log that is kept in the first of several places that works: for example on a server, in a file, or in memory.
import type { Clock } from '../clock.ts';
import type { Log } from './log.ts';

export interface Place<State> {
  /** True for a server: if it fails, it is tried again. Any other place that fails is closed and not used again. */
  readonly mayRecover: boolean;
  /**
   * Opens the log when it is first needed.
   * @param onReset called if the log loses records after it was opened, with the previous state and time
   */
  open(onReset: OnSwitch<State>): Log<State>;
  /**
   * Returns the warning about an error of this place.
   * @throws any other error, such as a bug or the rejection of a password
   */
  warningOf(error: unknown): string;
}

/** @param now the time of the previous log, in epoch milliseconds */
type OnSwitch<State> = (before: State, now: number) => void;

/** Makes a record for the log that receives it, whose time is `now`, in epoch milliseconds. */
export type RecordAt = (now: number) => string;

export interface FailoverOptions<State, P extends Place<State>> {
  /** In order of preference: a server may only be the first, and the last one never fails. */
  readonly places: readonly P[];
  readonly clock: Clock;
  /** A record that changes nothing: a server is used again once it accepts this record. */
  readonly noEffect: RecordAt;
  /** Called once for each place that fails. */
  readonly onFailure: (place: P, warning: string) => void;
  /** Called after a change of place, or if the log lost records; nothing is copied to the log in use. */
  readonly onSwitch: OnSwitch<State>;
}

const RETRY_MS = 1000;

export class FailoverLog<State, P extends Place<State> = Place<State>> {
  readonly #options: FailoverOptions<State, P>;
  readonly #logs = new Map<P, Log<State>>();
  readonly #failed = new Set<P>();
  /** The place in use. */
  #place: P;
  /** When a server is tried again, on the monotonic clock. */
  #retryAt = 0;

  constructor(options: FailoverOptions<State, P>) {
    this.#options = options;
    this.#place = this.#firstUsable(options.places);
  }

  get place(): P {
    return this.#place;
  }

  /** The clock of the log in use minus this machine's clock, in milliseconds: 0 except on a server. */
  get clockOffsetMs(): number {
    return this.#log.clockOffsetMs ?? 0;
  }

  /** The time of the log in use, in epoch milliseconds. */
  get now(): number {
    return Math.round(this.#options.clock.now() + this.clockOffsetMs);
  }

  /** The state as last read. */
  cached(): State {
    return this.#log.cached();
  }

  /** The state if it is recent enough; a file is read again. */
  freshState(): State | undefined {
    return this.#use((log) => log.freshState());
  }

  /** Like `append`, returns a promise only if the log is on a server; it rejects with errors that `warningOf` throws. */
  refresh(): unknown {
    return this.#use((log) => log.refresh());
  }

  append(record: RecordAt): unknown {
    return this.#use((log) => log.append(record(this.now)));
  }

  /** Tries to return to a server, at most once a second. */
  retry(): void {
    if (this.#options.clock.monotonic() >= this.#retryAt) void this.returnToServer();
  }

  /** Uses the server again if it accepts a record: a server that responds only to reads is of no use. */
  async returnToServer(): Promise<void> {
    const [server] = this.#options.places;
    if (!server?.mayRecover || server === this.#place) return;
    this.#delayRetry();
    try {
      await this.#open(server).append(this.#options.noEffect(this.now));
    } catch {
      return;
    }
    if (this.#place !== server) this.#switch(server);
  }

  close(): void {
    for (const log of this.#logs.values()) log.close();
  }

  get #log(): Log<State> {
    return this.#logs.get(this.#place) as Log<State>;
  }

  // Calls the log in use or, if it fails, the one that replaces it: at once, or when the promise of a server rejects.
  #use<T>(call: (log: Log<State>) => T): T {
    const place = this.#place;
    const callNext = (error: unknown): T => {
      this.#leave(place, error);
      return this.#use(call);
    };
    try {
      const result = call(this.#log);
      return result instanceof Promise ? (result.catch(callNext) as T) : result;
    } catch (error) {
      return callNext(error);
    }
  }

  #leave(place: P, error: unknown): void {
    this.#report(place, error);
    // A concurrent call has replaced the place already.
    if (place !== this.#place) return;
    const { places } = this.#options;
    const failed = this.#log;
    this.#delayRetry();
    this.#switch(this.#firstUsable(places.slice(places.indexOf(place) + 1)));
    if (place.mayRecover) return;
    this.#logs.delete(place);
    failed.close();
  }

  #switch(place: P): void {
    const before = this.cached();
    const { now } = this;
    this.#place = place;
    this.#options.onSwitch(before, now);
  }

  #firstUsable(places: readonly P[]): P {
    const usable = places.find((place) => {
      if (this.#failed.has(place)) return false;
      try {
        this.#open(place);
        return true;
      } catch (error) {
        this.#report(place, error);
        return false;
      }
    });
    if (!usable) throw new Error('the last place has failed');
    return usable;
  }

  #open(place: P): Log<State> {
    const log = this.#logs.get(place) ?? place.open(this.#options.onSwitch);
    this.#logs.set(place, log);
    return log;
  }

  #report(place: P, error: unknown): void {
    const warning = place.warningOf(error);
    if (!this.#failed.has(place)) this.#options.onFailure(place, warning);
    this.#failed.add(place);
  }

  #delayRetry(): void {
    this.#retryAt = this.#options.clock.monotonic() + RETRY_MS;
  }
}
