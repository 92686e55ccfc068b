// The queue for tickets in one process: the first in line asks the ledger, and the others wait behind it.
import { rateLimited } from './request-errors.ts';
import type { HttpClientOptions, HttpResponse, Wait } from './types.ts';

const MIN_POLL_MS = 5;
const MAX_POLL_MS = 100;
const NOTIFY_PENDING_AFTER_MS = 1000;

export class TicketQueue {
  readonly #options: HttpClientOptions;
  readonly #isBusy: () => boolean;
  #last: Promise<void> = Promise.resolve();

  /** @param isBusy whether this process has a request in flight */
  constructor(options: HttpClientOptions, isBusy: () => boolean) {
    this.#options = options;
    this.#isBusy = isBusy;
  }

  /**
   * Waits for a ticket. If the first request must wait, so must all others; an aborted request leaves the queue.
   * @param timeoutMs the timeout of the next attempt, which determines the lease
   * @param refusal the last 429 that the request received
   * @throws PetstoreError `rate_limited` if the wait is longer than `maxWaitMs`; the reason of `signal`
   */
  async take(signal: AbortSignal, timeoutMs: number, refusal: HttpResponse | undefined): Promise<string> {
    const before = this.#last;
    let leave = (): void => undefined;
    this.#last = new Promise<void>((resolve) => {
      leave = resolve;
    });
    try {
      await untilAborted(before, signal);
      return await this.#wait(signal, timeoutMs, refusal);
    } finally {
      before.then(leave);
    }
  }

  async #wait(signal: AbortSignal, timeoutMs: number, refusal: HttpResponse | undefined): Promise<string> {
    const { ledger, clock, limits, onWait } = this.#options;
    let notifiedUntil: number | undefined;
    // Starts of the wait for the response to a request in flight, and of that for another process, on the monotonic clock.
    let pendingSince: number | undefined;
    let othersSince: number | undefined;
    const notify = (wait: Wait): void => {
      if (wait.until === notifiedUntil) return;
      notifiedUntil = wait.until;
      onWait?.(wait);
    };
    try {
      for (;;) {
        signal.throwIfAborted();
        const ticket = await ledger.acquire(timeoutMs);
        if (ticket.granted) return ticket.ticket;
        const now = clock.now();
        if (ticket.reason !== 'pending') {
          const { until, reason } = ticket;
          if (until - now > limits.maxWaitMs) throw rateLimited(reason, until, now, limits, refusal);
          pendingSince = othersSince = undefined;
          notify({ until, reason });
          await clock.sleep(sleepChunk(until - now), signal);
          continue;
        }
        const monotonic = clock.monotonic();
        pendingSince ??= monotonic;
        // Do not limit the wait for a request of this process: its own timeout ends it.
        const own = this.#isBusy();
        othersSince = own ? undefined : (othersSince ?? monotonic);
        const left = othersSince === undefined ? timeoutMs : limits.maxWaitMs - (monotonic - othersSince);
        if (left <= 0) throw rateLimited('pending', undefined, now, limits, refusal);
        const waited = monotonic - pendingSince;
        if (waited > NOTIFY_PENDING_AFTER_MS && notifiedUntil === undefined)
          notify({ until: now + left, reason: 'pending', own });
        const poll = Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, waited / 8));
        await clock.sleep(Math.max(1, Math.min(poll, left)), signal);
      }
    } finally {
      if (notifiedUntil !== undefined) onWait?.(undefined);
    }
  }
}

// Rejects with the signal's reason, or resolves when the promise does.
async function untilAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  await Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', stop));
}

/** The longest sleep, since other processes may change the ledger and the machine may be suspended meanwhile. */
const LONGEST_SLEEP_MS = 30_000;

function sleepChunk(ms: number): number {
  return Math.min(LONGEST_SLEEP_MS, Math.max(1, Math.ceil(ms)));
}
