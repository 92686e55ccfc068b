// The HTTP client: a ticket of the ledger for each attempt, checked again just before the first byte, and retries.
import type { Clock } from '../clock.ts';
import { LONGEST_SLEEP_MS, sleepLong } from '../clock.ts';
import type { Ledger } from '../rate-limit/ledger.ts';
import type { Observation } from '../rate-limit/ledger-record.ts';
import { parseRateLimitHeaders } from './rate-limit-headers.ts';
import { interruptedAfterSending, networkError, rateLimited, unknownOutcome } from './request-errors.ts';
import type { Attempt } from './retry.ts';
import { decideRetry, isRefusal, statusOf } from './retry.ts';
import type { Head, HttpClient, HttpRequest, HttpResponse, Transport, Wait } from './types.ts';
import { TransportError } from './types.ts';

interface HttpClientOptions {
  readonly transport: Transport;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Ends every wait at once; its reason is thrown. */
  readonly signal: AbortSignal;
  readonly limits: { readonly maxWaitMs: number; readonly maxRetries: number; readonly timeoutMs: number };
  /** Called when a wait begins or changes, and with undefined when it ends. */
  readonly onWait?: ((wait: Wait | undefined) => void) | undefined;
  /** Called with the number of requests that are under way. */
  readonly onBusy?: ((requests: number) => void) | undefined;
}

// A create in flight gets this long for its response after Ctrl-C: aborted at once, it would be carried out all the same.
const GRACE_MS = 2000;
const MIN_POLL_MS = 5;
const MAX_POLL_MS = 100;
const NOTIFY_PENDING_AFTER_MS = 1000;

/** Returns a client that sends every request of this process, any number at a time. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  return new RateLimitedClient(options);
}

class RateLimitedClient implements HttpClient {
  readonly #options: HttpClientOptions;
  readonly #inFlight = new Set<() => void>();
  readonly #pendingSends = new Set<Promise<unknown>>();
  // One listener for hundreds of requests.
  readonly #onAbort = (): void => {
    for (const abort of this.#inFlight) abort();
  };
  #ticketQueue: Promise<unknown> = Promise.resolve();
  #successes = 0;

  constructor(options: HttpClientOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
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
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    await this.#options.transport.close();
    await this.#options.ledger.close();
  }

  async #sendWithRetries(request: HttpRequest): Promise<HttpResponse> {
    const { clock, limits, ledger } = this.#options;
    const allowed = limits.maxRetries + 1;
    let successes = this.#successes;
    let refusal: HttpResponse | undefined;
    for (let made = 1; ; made++) {
      const ticket = await this.#queueForTicket(refusal);
      const attempt = await this.#attempt(request, ticket);
      if (attempt === 'withdrawn') {
        made--;
        continue;
      }
      const { result } = attempt;
      const refused = statusOf(result) === 429 ? responseOf(result) : undefined;
      // A 429 counts as an attempt only where this run has made no progress since the last one.
      if (refused && this.#successes > successes) made--;
      successes = this.#successes;
      const attempts = { made, allowed, maxWaitMs: limits.maxWaitMs };
      const decision = decideRetry(request, attempt, attempts, clock.random());
      if (decision.next === 'response') return responseOf(result);
      refusal = refused ?? refusal;
      if (decision.next === 'limited')
        throw rateLimited('attempts', ledger.view().nextAt ?? clock.now(), clock.now(), refusal);
      if (decision.next !== 'retry') throw this.#errorOf(request, result as TransportError, decision.next);
      await this.#pause(decision.pauseMs, result);
    }
  }

  #errorOf(request: HttpRequest, failure: TransportError, next: 'failed' | 'unknown'): unknown {
    const { reason } = this.#options.signal;
    if (failure.reason === 'aborted') return next === 'unknown' ? interruptedAfterSending(request, reason) : reason;
    return next === 'unknown' ? unknownOutcome(request, failure) : networkError(failure);
  }

  // Requests queue for tickets: if the first one must wait, so must all others.
  #queueForTicket(refusal: HttpResponse | undefined): Promise<string> {
    const ticket = this.#ticketQueue.then(() => this.#waitForTicket(refusal));
    this.#ticketQueue = ticket.catch(() => undefined);
    return ticket;
  }

  async #waitForTicket(refusal: HttpResponse | undefined): Promise<string> {
    const { ledger, clock, signal, limits, onWait } = this.#options;
    let notifiedUntil: number | undefined;
    // Since when nothing but the response to a request in flight is missing.
    let since: number | undefined;
    const notify = (wait: Wait): void => {
      if (wait.until === notifiedUntil) return;
      notifiedUntil = wait.until;
      onWait?.(wait);
    };
    try {
      for (;;) {
        signal.throwIfAborted();
        const ticket = await ledger.acquire();
        if (ticket.granted) return ticket.ticket;
        const now = clock.now();
        if (ticket.reason !== 'pending') {
          const { until, reason } = ticket;
          if (until - now > limits.maxWaitMs) throw rateLimited(reason, until, now, refusal);
          since = undefined;
          notify({ until, reason });
          await clock.sleep(sleepChunk(until - now), signal);
          continue;
        }
        since ??= clock.monotonic();
        const waited = clock.monotonic() - since;
        // A request of this process ends by its own timeout.
        const own = this.#inFlight.size > 0;
        const longest = own ? limits.timeoutMs : limits.maxWaitMs;
        if (!own && waited >= longest) throw rateLimited('pending', undefined, now, refusal);
        if (waited > NOTIFY_PENDING_AFTER_MS && notifiedUntil === undefined)
          notify({ until: now + Math.max(0, longest - waited), reason: 'pending' });
        // The longer it takes, the less a late look costs in proportion.
        const poll = Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, waited / 8));
        await clock.sleep(own ? poll : Math.max(1, Math.min(poll, longest - waited)), signal);
      }
    } finally {
      if (notifiedUntil !== undefined) onWait?.(undefined);
    }
  }

  async #pause(ms: number, result: HttpResponse | TransportError): Promise<void> {
    const { clock, signal, onWait } = this.#options;
    if (ms <= 0) return;
    const failure = result instanceof TransportError ? result.detail : `status ${result.status}`;
    onWait?.({ until: clock.now() + ms, reason: 'backoff', failure });
    try {
      await sleepLong(clock, ms, signal);
    } finally {
      onWait?.(undefined);
    }
  }

  async #attempt(request: HttpRequest, ticket: string): Promise<Attempt | 'withdrawn'> {
    const { transport, ledger, limits } = this.#options;
    let seen: Observation | undefined;
    let withdrawn = false;
    let forbidden: { readonly reason: unknown } | undefined;
    const onHead = (head: Head): void => {
      if (seen) return;
      const refused = isRefusal(request, head.status);
      if (!refused && head.status < 500) this.#successes++;
      seen = parseRateLimitHeaders(head, refused, ledger.view().clockOffset?.lo);
      ledger.observe(ticket, seen);
    };
    const canSend = (): boolean => {
      withdrawn ||= this.#options.signal.aborted || !ledger.confirm(ticket);
      if (withdrawn) return false;
      try {
        request.beforeSend?.();
      } catch (reason) {
        forbidden = { reason };
      }
      return !forbidden;
    };
    const { signal, done } = this.#interruptible(request);
    try {
      // The transport asks again just before the first byte; asked here too, no connection is made in vain.
      if (!canSend()) throw new TransportError('aborted', false, 'not allowed to send');
      const response = await transport.send(request, { timeoutMs: limits.timeoutMs, signal, onHead, canSend });
      onHead(response);
      return { result: response, retryAfterMs: seen?.waitMs };
    } catch (error) {
      const failure = error instanceof TransportError ? error : undefined;
      const unsent = failure !== undefined && !failure.requestSent;
      if (!seen) ledger.release(ticket, unsent ? 'unsent' : 'lost');
      if (forbidden && unsent) throw forbidden.reason;
      if (withdrawn && unsent) return 'withdrawn';
      if (!failure) throw error;
      return { result: failure, retryAfterMs: seen?.waitMs };
    } finally {
      done();
    }
  }

  // The signal ends a read at once; a create in flight gets a moment for its response.
  #interruptible(request: HttpRequest): { signal: AbortSignal; done: () => void } {
    const { signal, clock } = this.#options;
    const ended = new AbortController();
    const answered = new AbortController();
    const onAbort = (): void => {
      const end = (): void => ended.abort(signal.reason);
      if (request.safe) end();
      else clock.sleep(GRACE_MS, answered.signal).then(end, () => undefined);
    };
    this.#inFlight.add(onAbort);
    if (signal.aborted) onAbort();
    const done = (): void => {
      this.#inFlight.delete(onAbort);
      answered.abort();
    };
    return { signal: ended.signal, done };
  }
}

// Others may have news, and the machine may be suspended: the ledger and the clock are looked at between chunks.
function sleepChunk(ms: number): number {
  return Math.min(LONGEST_SLEEP_MS, Math.max(1, Math.ceil(ms)));
}

// A rejection whose body was lost is complete enough: its status says what matters.
function responseOf(result: HttpResponse | TransportError): HttpResponse {
  if (!(result instanceof TransportError)) return result;
  if (!result.head) throw new Error('a response without a head');
  return { ...result.head, body: new Uint8Array() };
}
