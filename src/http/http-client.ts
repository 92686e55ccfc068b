// The send loop: a ticket for every try, a last look before the bytes go out, and again where that is allowed.
import type { Clock } from '../clock.ts';
import { LONGEST_SLEEP_MS } from '../clock.ts';
import type { Ledger } from '../rate-limit/ledger.ts';
import type { Observation } from '../rate-limit/ledger-record.ts';
import type { Head, RateSigns } from './rate-limit-headers.ts';
import { readHeaders } from './rate-limit-headers.ts';
import { interruptedAfterSending, noReply, rateLimited, unknownOutcome } from './request-errors.ts';
import { decide, outcomeOf } from './retry.ts';
import type { Reply, Request, Sender, Transport, Wait } from './types.ts';
import { TransportFailure } from './types.ts';

/** What a sender works with. */
export interface SenderOptions {
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
const SHORTEST_LOOK_MS = 5;
const LONGEST_LOOK_MS = 100;
// A wait for a sibling's reply is told only when it drags on.
const TELL_SIBLING_AFTER_MS = 1000;

/**
 * Makes a sender: every request of this process goes through it, any number at a time.
 * Final replies of any status but 429 come out of `send`; what a status means is the caller's to say.
 * @param options transport, ledger, clock, signal and limits
 * @returns the sender
 */
export function createSender(options: SenderOptions): Sender {
  return new PoliteSender(options);
}

class PoliteSender implements Sender {
  readonly #options: SenderOptions;
  readonly #underWay = new Set<() => void>();
  readonly #unsettled = new Set<Promise<unknown>>();
  // One listener for all: hundreds of requests may be under way at once.
  readonly #onAbort = (): void => {
    for (const overtake of this.#underWay) overtake();
  };
  #line: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #ahead: (() => number) | undefined;

  constructor(options: SenderOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  async send(request: Request): Promise<Reply> {
    const settled = this.#untilAnswered(request);
    this.#unsettled.add(settled);
    try {
      return await settled;
    } finally {
      this.#unsettled.delete(settled);
    }
  }

  async #untilAnswered(request: Request): Promise<Reply> {
    const { clock, limits, ledger } = this.#options;
    const allowed = limits.maxRetries + 1;
    let refusal: Reply | undefined;
    for (let made = 1; ; ) {
      const ticket = await this.#inTurn(refusal);
      const tried = await this.#try(request, ticket, made === allowed);
      if (tried === 'withdrawn') continue;
      const { result, retryAfterMs } = tried;
      const tries = { made, allowed, maxWaitMs: limits.maxWaitMs };
      const verdict = decide(request, outcomeOf(result, retryAfterMs), tries, clock.random());
      if (verdict.next === 'answer') return replyOf(result);
      refusal = refusalOf(result) ?? refusal;
      if (verdict.next === 'limited') {
        throw rateLimited(ledger.view().nextAt ?? clock.now(), clock.now(), 'refused', refusal);
      }
      if (verdict.next === 'retry') await this.#pause(verdict.pauseMs);
      else throw this.#failure(request, result as TransportFailure, verdict.next);
      made++;
    }
  }

  expect(ahead: () => number): void {
    this.#ahead = ahead;
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#unsettled);
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    this.#options.ledger.close();
  }

  #failure(request: Request, failure: TransportFailure, next: 'failed' | 'unknown'): unknown {
    const { signal } = this.#options;
    if (failure.reason !== 'aborted') return next === 'unknown' ? unknownOutcome(request, failure) : noReply(failure);
    return next === 'unknown' ? interruptedAfterSending(signal.reason) : signal.reason;
  }

  // One at a time asks: were it denied, all behind it would be too; so any number may wait without a crowd.
  #inTurn(refusal: Reply | undefined): Promise<string> {
    this.#waiting++;
    const mine = this.#line.then(() => this.#ticket(refusal)).finally(() => this.#waiting--);
    this.#line = mine.catch(() => undefined);
    return mine;
  }

  async #ticket(refusal: Reply | undefined): Promise<string> {
    const { ledger, clock, signal, limits, onWait } = this.#options;
    let told: number | undefined;
    // Since when a request under way is all that is waited for.
    let since: number | undefined;
    let hasty = false;
    const tell = (wait: Wait): void => {
      told = wait.until;
      onWait?.(wait);
    };
    try {
      for (;;) {
        signal.throwIfAborted();
        const answer = ledger.acquire(this.#rest(hasty));
        if (answer.granted) return answer.ticket;
        const now = clock.now();
        if (answer.reason !== 'sibling') {
          const { until, reason } = answer;
          if (until - now > limits.maxWaitMs) {
            if (hasty) throw rateLimited(until, now, reason, refusal);
            // Before the run ends for it, what was held back to look for the next window is used up.
            hasty = true;
            continue;
          }
          since = undefined;
          if (until !== told) tell({ until, reason });
          await clock.sleep(slice(until - now), signal);
          continue;
        }
        since ??= now;
        // How long it takes nobody knows; its own time limit is the most.
        if (told === undefined && now - since > TELL_SIBLING_AFTER_MS)
          tell({ until: now + limits.timeoutMs, reason: 'sibling' });
        // The longer it takes, the less often it is worth a look: little is lost of what a reply takes anyway.
        await clock.sleep(Math.min(LONGEST_LOOK_MS, Math.max(SHORTEST_LOOK_MS, (now - since) / 8)), signal);
      }
    } finally {
      if (told !== undefined) onWait?.(undefined);
    }
  }

  // A single command is never kept waiting for what a long run leaves to others.
  #rest(hasty: boolean): number | undefined {
    const ahead = this.#ahead?.() ?? 0;
    if (this.#unsettled.size <= 1 && ahead === 0) return undefined;
    return this.#ahead && !hasty ? this.#waiting + ahead : 0;
  }

  async #pause(ms: number): Promise<void> {
    const { clock, signal, onWait } = this.#options;
    if (ms <= 0) return;
    // A clock that is set back in the middle must not make it longer.
    const until = clock.monotonic() + ms;
    onWait?.({ until: clock.now() + ms, reason: 'backoff' });
    try {
      for (let left = ms; left > 0; left = until - clock.monotonic()) await clock.sleep(slice(left), signal);
    } finally {
      onWait?.(undefined);
    }
  }

  async #try(
    request: Request,
    ticket: string,
    last: boolean,
  ): Promise<{ result: Reply | TransportFailure; retryAfterMs: number | undefined } | 'withdrawn'> {
    const { transport, ledger, limits } = this.#options;
    let signs: RateSigns | undefined;
    let withdrawn = false;
    const onHead = (head: Head): void => {
      if (signs) return;
      signs = readHeaders(head, ledger.view().clockOffset?.lo);
      ledger.observe(ticket, observationOf(head, signs, last));
    };
    const mayGo = (): boolean => {
      withdrawn ||= this.#options.signal.aborted || !ledger.confirm(ticket);
      return !withdrawn;
    };
    const { signal, done } = this.#overtaken(request);
    try {
      // Asked again by the transport, just before the first byte: here it saves a connection that would be made in vain.
      if (!mayGo()) throw new TransportFailure('aborted', false, 'the rate limit came first');
      const reply = await transport.send(request, { timeoutMs: limits.timeoutMs, signal, onHead, mayGo });
      onHead(reply);
      return { result: reply, retryAfterMs: signs?.waitMs };
    } catch (error) {
      const failure = error instanceof TransportFailure ? error : undefined;
      const unsent = failure !== undefined && !failure.handedOver;
      if (!signs) ledger.release(ticket, unsent ? 'unsent' : 'lost');
      if (withdrawn && unsent) return 'withdrawn';
      if (!failure) throw error;
      return { result: failure, retryAfterMs: signs?.waitMs };
    } finally {
      done();
    }
  }

  // A read ends with the signal; a request that changes something gets a moment to bring its answer.
  #overtaken(request: Request): { signal: AbortSignal; done: () => void } {
    const { signal, clock } = this.#options;
    const ended = new AbortController();
    const answered = new AbortController();
    const onAbort = (): void => {
      const end = (): void => ended.abort(signal.reason);
      if (request.safe) end();
      else clock.sleep(GRACE_MS, answered.signal).then(end, () => undefined);
    };
    this.#underWay.add(onAbort);
    if (signal.aborted) onAbort();
    const done = (): void => {
      this.#underWay.delete(onAbort);
      answered.abort();
    };
    return { signal: ended.signal, done };
  }
}

// No timer is set for longer than a look at the ledger and the clock may be away: others have news, machines are suspended.
function slice(ms: number): number {
  return Math.min(LONGEST_SLEEP_MS, Math.max(1, Math.ceil(ms)));
}

function refusalOf(result: Reply | TransportFailure): Reply | undefined {
  const status = result instanceof TransportFailure ? result.head?.status : result.status;
  return status === 429 ? replyOf(result) : undefined;
}

// A refusal whose body was lost is a refusal all the same: its status says all that matters.
function replyOf(result: Reply | TransportFailure): Reply {
  if (!(result instanceof TransportFailure)) return result;
  if (!result.head) throw new Error('an answer without a head');
  return { ...result.head, body: new Uint8Array() };
}

const WAIT_FROM: Readonly<Record<RateSigns['from'], Observation['waitFrom']>> = {
  'retry-after': 'retry-after',
  'max(RA,reset)': 'reset',
  reset: 'reset',
  'reset(long)': 'reset',
  backoff: 'backoff',
  none: 'backoff',
};

function observationOf(head: Head, signs: RateSigns, last: boolean): Omit<Observation, 'chance'> {
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
    last: limited && last,
  };
}
