// The send loop: a ticket for every try, a last look before the bytes go out, and again where that is allowed.
import type { Clock } from '../clock.ts';
import { LONGEST_SLEEP_MS } from '../clock.ts';
import type { Ledger } from '../rate-limit/ledger.ts';
import type { Observation } from '../rate-limit/ledger-record.ts';
import type { RateLimitInfo, ResponseHead } from './rate-limit-headers.ts';
import { parseRateLimitHeaders } from './rate-limit-headers.ts';
import { interruptedAfterSending, networkError, rateLimited, unknownOutcome } from './request-errors.ts';
import { attemptResult, decideRetry } from './retry.ts';
import type { HttpClient, HttpRequest, HttpResponse, Transport, Wait } from './types.ts';
import { TransportError } from './types.ts';

/** What a sender works with. */
export interface HttpClientOptions {
  readonly transport: Transport;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Ends every wait at once; what is aborted with is thrown. */
  readonly signal: AbortSignal;
  /** Milliseconds and further tries, as in the contract, section 2. */
  readonly limits: { readonly maxWaitMs: number; readonly maxRetries: number; readonly timeoutMs: number };
  /** Told when a wait begins or moves, and with undefined when it is over. */
  readonly onWait?: ((wait: Wait | undefined) => void) | undefined;
}

// Two seconds for the answer to a create that Ctrl-C overtook: aborted at once it would have been done all the same.
const GRACE_MS = 2000;
const MIN_POLL_MS = 5;
const MAX_POLL_MS = 100;
// A wait for a sibling's reply is told only when it drags on.
const NOTIFY_SIBLING_AFTER_MS = 1000;

/**
 * Makes a sender: every request of this process goes through it, any number at a time.
 * Final replies of any status but 429 come out of `send`; what a status means is the caller's to say.
 * @param options transport, ledger, clock, signal and limits
 * @returns the sender
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  return new RateLimitedClient(options);
}

class RateLimitedClient implements HttpClient {
  readonly #options: HttpClientOptions;
  readonly #inFlight = new Set<() => void>();
  readonly #pendingSends = new Set<Promise<unknown>>();
  // One listener for all: hundreds of requests may be under way at once.
  readonly #onAbort = (): void => {
    for (const overtake of this.#inFlight) overtake();
  };
  #ticketQueue: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #ahead: (() => number) | undefined;

  constructor(options: HttpClientOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  async send(request: HttpRequest): Promise<HttpResponse> {
    const settled = this.#sendWithRetries(request);
    this.#pendingSends.add(settled);
    try {
      return await settled;
    } finally {
      this.#pendingSends.delete(settled);
    }
  }

  async #sendWithRetries(request: HttpRequest): Promise<HttpResponse> {
    const { clock, limits, ledger } = this.#options;
    const allowed = limits.maxRetries + 1;
    let refusal: HttpResponse | undefined;
    for (let made = 1; ; ) {
      const ticket = await this.#queueForTicket(refusal);
      const tried = await this.#attempt(request, ticket, made === allowed);
      if (tried === 'withdrawn') continue;
      const { result, retryAfterMs } = tried;
      const tries = { made, allowed, maxWaitMs: limits.maxWaitMs };
      const verdict = decideRetry(request, attemptResult(result, retryAfterMs), tries, clock.random());
      if (verdict.next === 'answer') return responseOf(result);
      refusal = refusedResponse(result) ?? refusal;
      if (verdict.next === 'limited') {
        throw rateLimited(ledger.view().nextAt ?? clock.now(), clock.now(), 'refused', refusal);
      }
      if (verdict.next === 'retry') await this.#pause(verdict.pauseMs);
      else throw this.#failure(request, result as TransportError, verdict.next);
      made++;
    }
  }

  expect(ahead: () => number): void {
    this.#ahead = ahead;
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#pendingSends);
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    await this.#options.ledger.close();
  }

  #failure(request: HttpRequest, failure: TransportError, next: 'failed' | 'unknown'): unknown {
    const { signal } = this.#options;
    if (failure.reason !== 'aborted')
      return next === 'unknown' ? unknownOutcome(request, failure) : networkError(failure);
    return next === 'unknown' ? interruptedAfterSending(signal.reason) : signal.reason;
  }

  // One at a time asks: were it denied, all behind it would be too; so any number may wait without a crowd.
  #queueForTicket(refusal: HttpResponse | undefined): Promise<string> {
    this.#waiting++;
    const mine = this.#ticketQueue.then(() => this.#waitForTicket(refusal)).finally(() => this.#waiting--);
    this.#ticketQueue = mine.catch(() => undefined);
    return mine;
  }

  async #waitForTicket(refusal: HttpResponse | undefined): Promise<string> {
    const { ledger, clock, signal, limits, onWait } = this.#options;
    let notifiedUntil: number | undefined;
    // Since when a request under way is all that is waited for.
    let since: number | undefined;
    let useReserved = false;
    const tell = (wait: Wait): void => {
      notifiedUntil = wait.until;
      onWait?.(wait);
    };
    try {
      for (;;) {
        signal.throwIfAborted();
        const answer = await ledger.acquire(this.#rest(useReserved));
        if (answer.granted) return answer.ticket;
        const now = clock.now();
        if (answer.reason !== 'sibling') {
          const { until, reason } = answer;
          if (until - now > limits.maxWaitMs) {
            if (useReserved) throw rateLimited(until, now, reason, refusal);
            // Before the run ends for it, what was held back to look for the next window is used up.
            useReserved = true;
            continue;
          }
          since = undefined;
          if (until !== notifiedUntil) tell({ until, reason });
          await clock.sleep(sleepChunk(until - now), signal);
          continue;
        }
        since ??= now;
        // How long it takes nobody knows; its own time limit is the most.
        if (notifiedUntil === undefined && now - since > NOTIFY_SIBLING_AFTER_MS)
          tell({ until: now + limits.timeoutMs, reason: 'sibling' });
        // The longer it takes, the less often it is worth a look: little is lost of what a reply takes anyway.
        await clock.sleep(Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, (now - since) / 8)), signal);
      }
    } finally {
      if (notifiedUntil !== undefined) onWait?.(undefined);
    }
  }

  // A single command is never kept waiting for what a long run leaves to others.
  #rest(hasty: boolean): number | undefined {
    const ahead = this.#ahead?.() ?? 0;
    if (this.#pendingSends.size <= 1 && ahead === 0) return undefined;
    return this.#ahead && !hasty ? this.#waiting + ahead : 0;
  }

  async #pause(ms: number): Promise<void> {
    const { clock, signal, onWait } = this.#options;
    if (ms <= 0) return;
    // A clock that is set back in the middle must not make it longer.
    const until = clock.monotonic() + ms;
    onWait?.({ until: clock.now() + ms, reason: 'backoff' });
    try {
      for (let left = ms; left > 0; left = until - clock.monotonic()) await clock.sleep(sleepChunk(left), signal);
    } finally {
      onWait?.(undefined);
    }
  }

  async #attempt(
    request: HttpRequest,
    ticket: string,
    last: boolean,
  ): Promise<{ result: HttpResponse | TransportError; retryAfterMs: number | undefined } | 'withdrawn'> {
    const { transport, ledger, limits } = this.#options;
    let signs: RateLimitInfo | undefined;
    let withdrawn = false;
    const onHead = (head: ResponseHead): void => {
      if (signs) return;
      signs = parseRateLimitHeaders(head, ledger.view().clockOffset?.lo);
      ledger.observe(ticket, observationOf(head, signs, last));
    };
    let forbidden: { readonly reason: unknown } | undefined;
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
      // Asked again by the transport, just before the first byte: here it saves a connection that would be made in vain.
      if (!canSend()) throw new TransportError('aborted', false, 'the rate limit came first');
      const reply = await transport.send(request, { timeoutMs: limits.timeoutMs, signal, onHead, canSend });
      onHead(reply);
      return { result: reply, retryAfterMs: signs?.waitMs };
    } catch (error) {
      const failure = error instanceof TransportError ? error : undefined;
      const unsent = failure !== undefined && !failure.requestSent;
      if (!signs) ledger.release(ticket, unsent ? 'unsent' : 'lost');
      if (withdrawn && unsent) return 'withdrawn';
      if (forbidden && unsent) throw forbidden.reason;
      if (!failure) throw error;
      return { result: failure, retryAfterMs: signs?.waitMs };
    } finally {
      done();
    }
  }

  // A read ends with the signal; a request that changes something gets a moment to bring its answer.
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

// No timer is set for longer than a look at the ledger and the clock may be away: others have news, machines are suspended.
function sleepChunk(ms: number): number {
  return Math.min(LONGEST_SLEEP_MS, Math.max(1, Math.ceil(ms)));
}

function refusedResponse(result: HttpResponse | TransportError): HttpResponse | undefined {
  const status = result instanceof TransportError ? result.head?.status : result.status;
  return status === 429 ? responseOf(result) : undefined;
}

// A refusal whose body was lost is a refusal all the same: its status says all that matters.
function responseOf(result: HttpResponse | TransportError): HttpResponse {
  if (!(result instanceof TransportError)) return result;
  if (!result.head) throw new Error('an answer without a head');
  return { ...result.head, body: new Uint8Array() };
}

const WAIT_FROM: Readonly<Record<RateLimitInfo['from'], Observation['waitFrom']>> = {
  'retry-after': 'retry-after',
  'max(RA,reset)': 'reset',
  reset: 'reset',
  'reset(long)': 'reset',
  backoff: 'backoff',
  none: 'backoff',
};

function observationOf(head: ResponseHead, signs: RateLimitInfo, last: boolean): Omit<Observation, 'jitterDraw'> {
  const limited = head.status === 429;
  return {
    at: Math.round(head.receivedAt),
    status: head.status,
    limit: signs.limit,
    remaining: signs.remaining,
    reset: signs.reset,
    offset: signs.offset && { lo: Math.floor(signs.offset.lo), hi: Math.ceil(signs.offset.hi) },
    waitMs: limited && signs.waitMs !== undefined ? Math.ceil(signs.waitMs) : undefined,
    waitFrom: WAIT_FROM[signs.from],
    lastAttempt: limited && last,
  };
}
