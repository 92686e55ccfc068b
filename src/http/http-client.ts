// The HTTP client: takes a ticket for each attempt, confirms it just before the first byte, and retries.
import { setMaxListeners } from 'node:events';
import { parseRateLimitHeaders } from './rate-limit-headers.ts';
import { attemptError } from './request-errors.ts';
import { rateLimitedError } from './response-errors.ts';
import { isRefusal, isSafe, retryDelayMs } from './retry.ts';
import { TicketQueue } from './ticket-queue.ts';
import type { HttpClientOptions, HttpRequest, HttpResponse, ResponseHead } from './types.ts';
import { TransportError } from './types.ts';

// How long a create in flight waits for its response after Ctrl-C, since the service may process it anyway.
const ABORT_GRACE_MS = 2000;
/** Thrown just before the first byte if the request was aborted or its ticket is no longer valid. */
const WITHDRAWN = new Error('the ticket was withdrawn');

/** Sends requests within the rate limit, and retries if allowed. */
export class HttpClient {
  readonly #options: HttpClientOptions;
  readonly #tickets: TicketQueue;
  readonly #pendingSends = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();
  /** Aborts creates and other unsafe requests when the grace period after the client's signal ends. */
  readonly #grace = new AbortController();
  #inFlight = 0;
  #successes = 0;

  constructor(options: HttpClientOptions) {
    const { clock, signal } = options;
    this.#options = options;
    this.#tickets = new TicketQueue(options, () => this.#inFlight > 0);
    // Hundreds of requests in flight may listen to these signals, which is not a leak.
    setMaxListeners(0, signal, this.#grace.signal);
    const end = (): void => this.#grace.abort();
    const onAbort = (): void => void clock.sleep(ABORT_GRACE_MS, this.#closed.signal).then(end, end);
    signal.addEventListener('abort', onAbort, { once: true, signal: this.#closed.signal });
  }

  /**
   * Returns the final response, which may have any status except 429.
   * @throws PetstoreError `rate_limited`, `network`, `service`, `auth` (a proxy), `unknown_outcome` or `interrupted`; errors of
   *   the ledger and of `beforeSend`
   */
  async send(request: HttpRequest): Promise<HttpResponse> {
    const sent = this.#sendWithRetries(request);
    this.#pendingSends.add(sent);
    this.#options.onBusy?.(this.#pendingSends.size);
    try {
      return await sent;
    } finally {
      this.#pendingSends.delete(sent);
      this.#options.onBusy?.(this.#pendingSends.size);
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#pendingSends);
    this.#closed.abort();
    await this.#options.transport.close();
    await this.#options.ledger.close();
  }

  async #sendWithRetries(request: HttpRequest): Promise<HttpResponse> {
    const { clock, limits, ledger, signal } = this.#options;
    const stop = request.stop ?? request.signal ?? signal;
    const { timeoutMs = limits.timeoutMs } = request;
    const maxWaitMs = request.once ? 0 : limits.maxWaitMs;
    let made = 0;
    let successes = this.#successes;
    let refusal: HttpResponse | undefined;
    for (;;) {
      const ticket = await this.#tickets.take({ signal: stop, timeoutMs, maxWaitMs, refusal });
      const result = await this.#attempt(request, ticket, stop, timeoutMs);
      if (!result) continue;
      const refused = !(result instanceof TransportError) && result.status === 429 ? result : undefined;
      refusal = refused ?? refusal;
      // A 429 counts only if no request of the client has succeeded since the last attempt.
      if (!refused || this.#successes === successes) made++;
      successes = this.#successes;
      const pauseMs = request.once ? undefined : retryDelayMs(request, result, { ...limits, made }, clock.random());
      if (pauseMs !== undefined) {
        await this.#pause(pauseMs, result, stop);
        continue;
      }
      if (result instanceof TransportError) throw attemptError(request, result, stop);
      if (!refused) return result;
      const now = clock.now();
      const until = ledger.quota().nextRequestAt ?? now;
      throw rateLimitedError({ reason: 'attempts', until }, now, limits, refused);
    }
  }

  async #pause(ms: number, result: HttpResponse | TransportError, stop: AbortSignal): Promise<void> {
    const { clock, onWait } = this.#options;
    if (ms <= 0) return;
    const failure = result instanceof TransportError ? result.message : `status ${result.status}`;
    onWait?.({ until: clock.now() + ms, reason: 'backoff', failure });
    try {
      await clock.sleep(ms, stop);
    } finally {
      onWait?.(undefined);
    }
  }

  /**
   * @param stop aborts a safe request at any time, and another one until it is sent
   * @returns undefined if the ticket was withdrawn before anything was sent
   */
  async #attempt(
    request: HttpRequest,
    ticket: string,
    stop: AbortSignal,
    timeoutMs: number,
  ): Promise<HttpResponse | TransportError | undefined> {
    const { transport, ledger } = this.#options;
    const onHead = (head: ResponseHead): void => {
      const refused = isRefusal(request, head.status);
      if (!refused && head.status < 500) this.#successes++;
      ledger.observe(ticket, parseRateLimitHeaders(head, refused));
    };
    const beforeSend = (): void => {
      if (stop.aborted || !ledger.isStillGranted(ticket)) throw WITHDRAWN;
      request.beforeSend?.();
    };
    // The service may process a create that was sent, so only the end of the grace period or the caller aborts it.
    const signal = isSafe(request.method) ? stop : (request.signal ?? this.#grace.signal);
    this.#inFlight++;
    try {
      return await transport.send(request, { timeoutMs, signal, onHead, beforeSend });
    } catch (error) {
      const failure = error instanceof TransportError ? error : undefined;
      if (!failure?.head) ledger.release(ticket, failure?.requestSent ? 'lost' : 'unsent');
      if (failure) return failure;
      if (error === WITHDRAWN) return undefined;
      throw error;
    } finally {
      this.#inFlight--;
    }
  }
}
