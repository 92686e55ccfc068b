// The HTTP client: takes a ticket for each attempt, confirms it just before the first byte, and retries.
import { setMaxListeners } from 'node:events';
import type { Clock } from '../clock.ts';
import { sleepLong } from '../clock.ts';
import type { Ledger } from '../rate-limit/ledger.ts';
import type { Observation } from '../rate-limit/ledger-record.ts';
import { parseRateLimitHeaders } from './rate-limit-headers.ts';
import { interruptedAfterSending, networkError, rateLimited, unknownOutcome } from './request-errors.ts';
import type { Attempt } from './retry.ts';
import { decideRetry, isRefusal, statusOf } from './retry.ts';
import { TicketQueue } from './ticket-queue.ts';
import type { Head, HttpClient, HttpRequest, HttpResponse, Limits, Transport, Wait } from './types.ts';
import { TransportError } from './types.ts';

interface HttpClientOptions {
  readonly transport: Transport;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Aborts all waits and requests; its reason is thrown. */
  readonly signal: AbortSignal;
  readonly limits: Limits;
  /** Called when a wait begins or changes, and with undefined when it ends. */
  readonly onWait?: ((wait: Wait | undefined) => void) | undefined;
  readonly onBusy?: ((requests: number) => void) | undefined;
}

// Time that a create in flight has for its response after Ctrl-C, since the service may process it anyway.
const GRACE_MS = 2000;

export function createHttpClient(options: HttpClientOptions): HttpClient {
  return new RateLimitedClient(options);
}

class RateLimitedClient implements HttpClient {
  readonly #options: HttpClientOptions;
  readonly #pendingSends = new Set<Promise<unknown>>();
  readonly #tickets: TicketQueue;
  // Aborts creates in flight, a grace period after the client's signal.
  readonly #graceOver = new AbortController();
  readonly #closed = new AbortController();
  #inFlight = 0;
  #successes = 0;

  constructor(options: HttpClientOptions) {
    this.#options = options;
    this.#tickets = new TicketQueue(options, () => this.#inFlight > 0);
    const { signal, clock } = options;
    const { signal: closed } = this.#closed;
    // Hundreds of requests may be in flight.
    setMaxListeners(0, signal, this.#graceOver.signal);
    const end = (): void => this.#graceOver.abort(signal.reason);
    const onAbort = (): void => void clock.sleep(GRACE_MS, closed).then(end, () => undefined);
    signal.addEventListener('abort', onAbort, { once: true, signal: closed });
  }

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
    const signal = request.signal ? AbortSignal.any([request.signal, this.#options.signal]) : this.#options.signal;
    const timeoutMs = request.timeoutMs ?? limits.timeoutMs;
    const allowed = limits.maxRetries + 1;
    let successes = this.#successes;
    let refusal: HttpResponse | undefined;
    for (let made = 1; ; made++) {
      const ticket = await this.#tickets.take(request.signal, signal, timeoutMs, refusal);
      const attempt = await this.#attempt(request, signal, timeoutMs, ticket);
      if (attempt === 'withdrawn') {
        made--;
        continue;
      }
      const { result } = attempt;
      const refused = statusOf(result) === 429 ? responseOf(result) : undefined;
      // A 429 counts as an attempt only if this run has made no progress since the last one.
      if (refused && this.#successes > successes) made--;
      successes = this.#successes;
      const attempts = { made, allowed, maxWaitMs: limits.maxWaitMs };
      const decision = decideRetry(request, attempt, attempts, clock.random());
      if (decision.next === 'response') return responseOf(result);
      refusal = refused ?? refusal;
      if (decision.next === 'limited') {
        const now = clock.now();
        throw rateLimited('attempts', ledger.view().nextAt ?? now, now, limits, refusal);
      }
      if (decision.next !== 'retry') throw this.#errorOf(request, result as TransportError, decision.next, signal);
      await this.#pause(decision.pauseMs, result, signal);
    }
  }

  async #pause(ms: number, result: HttpResponse | TransportError, signal: AbortSignal): Promise<void> {
    const { clock, onWait } = this.#options;
    if (ms <= 0) return;
    const failure = result instanceof TransportError ? result.detail : `status ${result.status}`;
    onWait?.({ until: clock.now() + ms, reason: 'backoff', failure });
    try {
      await sleepLong(clock, ms, signal);
    } finally {
      onWait?.(undefined);
    }
  }

  async #attempt(
    request: HttpRequest,
    aborted: AbortSignal,
    timeoutMs: number,
    ticket: string,
  ): Promise<Attempt | 'withdrawn'> {
    const { transport, ledger } = this.#options;
    let seen: Observation | undefined;
    // Why nothing was sent: the ticket is no longer valid, or `beforeSend` has thrown.
    let held: 'withdrawn' | { readonly reason: unknown } | undefined;
    const onHead = (head: Head): void => {
      if (seen) return;
      const refused = isRefusal(request, head.status);
      if (!refused && head.status < 500) this.#successes++;
      seen = parseRateLimitHeaders(head, refused, ledger.clockOffsetMs);
      ledger.observe(ticket, seen);
    };
    const canSend = (): boolean => {
      try {
        if (aborted.aborted || !ledger.stillGranted(ticket)) held = 'withdrawn';
        else request.beforeSend?.();
      } catch (reason) {
        held = { reason };
      }
      return held === undefined;
    };
    // The request's own signal aborts immediately, and so does the client's unless the request is a create.
    const ends = request.safe ? this.#options.signal : this.#graceOver.signal;
    const signal = request.signal ? AbortSignal.any([request.signal, ends]) : ends;
    this.#inFlight++;
    try {
      const response = await transport.send(request, { timeoutMs, signal, onHead, canSend });
      onHead(response);
      return { result: response, retryAfterMs: seen?.waitMs };
    } catch (error) {
      const failure = error instanceof TransportError ? error : undefined;
      if (!seen) ledger.release(ticket, failure?.requestSent === false ? 'unsent' : 'lost');
      if (held === 'withdrawn') return held;
      if (held) throw held.reason;
      if (!failure) throw error;
      return { result: failure, retryAfterMs: seen?.waitMs };
    } finally {
      this.#inFlight--;
    }
  }

  #errorOf(
    request: HttpRequest,
    failure: TransportError,
    next: 'failed' | 'unknown',
    { reason }: AbortSignal,
  ): unknown {
    if (failure.reason === 'aborted') return next === 'unknown' ? interruptedAfterSending(request, reason) : reason;
    return next === 'unknown'
      ? unknownOutcome(request, failure)
      : networkError(failure, this.#options.limits.names.timeout);
  }
}

// If the body of a rejection was lost, its status is enough.
function responseOf(result: HttpResponse | TransportError): HttpResponse {
  if (!(result instanceof TransportError)) return result;
  if (!result.head) throw new Error('a response without a head');
  return { ...result.head, body: new Uint8Array() };
}
