// The HTTP client: takes a ticket for each attempt, confirms it just before the first byte, and retries.
import { setMaxListeners } from 'node:events';
import type { RateLimitReading } from '../rate-limit/ledger-record.ts';
import { parseRateLimitHeaders } from './rate-limit-headers.ts';
import { failedAttempt, rateLimited } from './request-errors.ts';
import type { Attempt } from './retry.ts';
import { isRefusal, pauseBeforeRetry } from './retry.ts';
import { TicketQueue } from './ticket-queue.ts';
import type { Head, HttpClientOptions, HttpRequest, HttpResponse } from './types.ts';
import { TransportError } from './types.ts';

// Time that a create in flight has for its response after Ctrl-C, since the service may process it anyway.
const GRACE_MS = 2000;
/** Thrown just before the first byte if the ticket is no longer valid. */
const WITHDRAWN = new Error('the ticket was withdrawn');

/** Sends requests within the rate limit, and retries if allowed. */
export class HttpClient {
  readonly #options: HttpClientOptions;
  readonly #tickets: TicketQueue;
  readonly #pendingSends = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();
  /** Aborts requests that are not safe: after the client's signal and the grace period. */
  readonly #grace = new AbortController();
  #inFlight = 0;
  #successes = 0;

  constructor(options: HttpClientOptions) {
    const { clock, signal } = options;
    this.#options = options;
    this.#tickets = new TicketQueue(options, () => this.#inFlight > 0);
    // Hundreds of requests may be in flight.
    setMaxListeners(0, signal, this.#grace.signal);
    const end = (): void => this.#grace.abort();
    const onAbort = (): void => void clock.sleep(GRACE_MS, this.#closed.signal).then(end, end);
    signal.addEventListener('abort', onAbort, { once: true, signal: this.#closed.signal });
  }

  /**
   * Returns the final response, which has any status but 429.
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
    const { clock, limits, ledger } = this.#options;
    const own = withOwn(request, this.#options.signal);
    const signal = request.cancel ? AbortSignal.any([own, request.cancel]) : own;
    const timeoutMs = request.timeoutMs ?? limits.timeoutMs;
    const allowed = request.once ? 1 : limits.maxRetries + 1;
    let successes = this.#successes;
    let refusal: HttpResponse | undefined;
    let made = 0;
    for (;;) {
      const ticket = await this.#tickets.take({ signal, timeoutMs, refusal });
      const attempt = await this.#attempt(request, signal, timeoutMs, ticket);
      if (!attempt) continue;
      const { result } = attempt;
      const refused = !(result instanceof TransportError) && result.status === 429 ? result : undefined;
      // A 429 counts as an attempt only if this run has made no progress since the last one.
      const hasProgress = this.#successes > successes && !request.once;
      if (!refused || !hasProgress) made++;
      successes = this.#successes;
      refusal = refused ?? refusal;
      const attempts = { made, allowed, maxWaitMs: limits.maxWaitMs };
      const pauseMs = pauseBeforeRetry(request, attempt, attempts, clock.random());
      if (pauseMs !== undefined) {
        await this.#pause(pauseMs, result, signal);
        continue;
      }
      if (result instanceof TransportError) throw failedAttempt(request, result, signal, limits.optionNames.timeout);
      if (!refused) return result;
      const now = clock.now();
      throw rateLimited('attempts', ledger.quota().nextRequestAt ?? now, now, limits, refused);
    }
  }

  async #pause(ms: number, result: HttpResponse | TransportError, signal: AbortSignal): Promise<void> {
    const { clock, onWait } = this.#options;
    if (ms <= 0) return;
    const failure = result instanceof TransportError ? result.message : `status ${result.status}`;
    onWait?.({ until: clock.now() + ms, reason: 'backoff', failure });
    try {
      await clock.sleep(ms, signal);
    } finally {
      onWait?.(undefined);
    }
  }

  /** Returns undefined if the ticket was withdrawn before anything was sent. */
  async #attempt(
    request: HttpRequest,
    aborted: AbortSignal,
    timeoutMs: number,
    ticket: string,
  ): Promise<Attempt | undefined> {
    const { transport, ledger } = this.#options;
    let seen: RateLimitReading | undefined;
    const onHead = (head: Head): void => {
      if (seen) return;
      const refused = isRefusal(request, head.status);
      if (!refused && head.status < 500) this.#successes++;
      seen = parseRateLimitHeaders(head, refused);
      ledger.observe(ticket, seen);
    };
    const beforeSend = (): void => {
      if (aborted.aborted || !ledger.stillGranted(ticket)) throw WITHDRAWN;
      request.beforeSend?.();
    };
    const signal = request.safe ? aborted : withOwn(request, this.#grace.signal);
    this.#inFlight++;
    try {
      const result = await transport.send(request, { timeoutMs, signal, onHead, beforeSend });
      return { result, retryAfterMs: seen?.waitMs };
    } catch (error) {
      const failure = error instanceof TransportError ? error : undefined;
      if (!seen) ledger.release(ticket, failure?.requestSent ? 'lost' : 'unsent');
      if (failure) return { result: failure, retryAfterMs: seen?.waitMs };
      if (error === WITHDRAWN) return undefined;
      throw error;
    } finally {
      this.#inFlight--;
    }
  }
}

// No listener is added to the request's own signal, which many calls may share.
function withOwn({ signal }: HttpRequest, other: AbortSignal): AbortSignal {
  return signal ? AbortSignal.any([signal, other]) : other;
}
