// The queue for tickets in one process: the first in line asks the ledger, and the others wait behind it.
import type { Denial } from '../rate-limit/admission.ts';
import { rateLimitedError } from './response-errors.ts';
import type { HttpClientOptions, HttpResponse, HttpWait } from './types.ts';

const MIN_POLL_MS = 5;
const MAX_POLL_MS = 100;
const NOTIFY_PENDING_AFTER_MS = 1000;
/** The longest sleep, since other processes may change the ledger and the machine may be suspended meanwhile. */
const LONGEST_SLEEP_MS = 5000;

interface TicketRequest {
  /** Aborts the wait. */
  readonly signal: AbortSignal;
  /** The timeout of the next attempt, which determines the lease. */
  readonly timeoutMs: number;
  readonly maxWaitMs: number;
  /** The last 429 that the request received. */
  readonly refusal: HttpResponse | undefined;
}

export class TicketQueue {
  readonly #options: HttpClientOptions;
  readonly #isBusy: () => boolean;
  /** Whether a request is first in line. */
  #isTaken = false;
  /** The callbacks of the requests behind it, in order. */
  readonly #callNext = new Set<() => void>();
  /** The wait of the request that is first in line, as reported last. */
  #reported: HttpWait | undefined;
  /** The current wait for a response: whether this process has a request in flight, and when it began, by the monotonic clock. */
  #pending: { readonly isOwn: boolean; readonly since: number } | undefined;

  /** @param isBusy whether this process has a request in flight */
  constructor(options: HttpClientOptions, isBusy: () => boolean) {
    this.#options = options;
    this.#isBusy = isBusy;
  }

  /**
   * Waits for a ticket. If the first request must wait, so must all others; an aborted request leaves the queue.
   * @throws PetstoreError `rate_limited` if the wait is longer than `maxWaitMs`; errors of the ledger; the reason of `signal`
   */
  async take(request: TicketRequest): Promise<string> {
    if (this.#isTaken) await this.#queue(request.signal);
    this.#isTaken = true;
    try {
      return await this.#ask(request);
    } finally {
      const [callNext] = this.#callNext;
      if (callNext) callNext();
      else this.#isTaken = false;
    }
  }

  // Resolves when the request is first in line.
  #queue(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#callNext.delete(call);
        signal.removeEventListener('abort', abort);
      };
      const call = (): void => {
        leave();
        resolve();
      };
      const abort = (): void => {
        leave();
        reject(signal.reason);
      };
      signal.throwIfAborted();
      signal.addEventListener('abort', abort);
      this.#callNext.add(call);
    });
  }

  // Only the request that is first in line asks.
  async #ask(request: TicketRequest): Promise<string> {
    const { ledger, onWait } = this.#options;
    try {
      for (;;) {
        request.signal.throwIfAborted();
        const result = await ledger.acquire(request.timeoutMs);
        if (result.granted) return result.ticket;
        if (result.reason === 'pending') await this.#waitForResponse(request);
        else await this.#waitUntil(result, request);
      }
    } finally {
      if (this.#reported) onWait?.(undefined);
      this.#pending = undefined;
      this.#reported = undefined;
    }
  }

  // Sleeps until a block or window ends, or for part of that time.
  async #waitUntil({ granted: _, ...wait }: Extract<Denial, { until: number }>, request: TicketRequest): Promise<void> {
    const { clock } = this.#options;
    const { until } = wait;
    const now = clock.now();
    if (until - now > request.maxWaitMs) throw rateLimitedError(wait, now, request, request.refusal);
    this.#pending = undefined;
    this.#report(wait);
    const ms = Math.max(1, Math.ceil(until - now));
    await clock.sleep(Math.min(LONGEST_SLEEP_MS, ms), request.signal);
  }

  // Sleeps briefly, since no event reports the response to a request in flight.
  async #waitForResponse(request: TicketRequest): Promise<void> {
    const { clock } = this.#options;
    const { signal, timeoutMs, maxWaitMs, refusal } = request;
    const now = clock.monotonic();
    const isOwn = this.#isBusy();
    if (this.#pending?.isOwn !== isOwn) this.#pending = { isOwn, since: now };
    const waited = now - this.#pending.since;
    // Do not limit the wait for a request of this process: its own timeout ends it.
    const left = isOwn ? timeoutMs : maxWaitMs - waited;
    if (left <= 0) throw rateLimitedError({ reason: 'pending' }, clock.now(), request, refusal);
    if (waited > NOTIFY_PENDING_AFTER_MS && this.#reported?.reason !== 'pending')
      this.#report({ until: clock.now() + left, reason: 'pending', isOwn });
    const poll = Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, waited / 8));
    await clock.sleep(Math.max(1, Math.min(poll, left)), signal);
  }

  // Reports a wait unless the last report had the same end.
  #report(wait: HttpWait): void {
    if (wait.until === this.#reported?.until) return;
    this.#reported = wait;
    this.#options.onWait?.(wait);
  }
}
