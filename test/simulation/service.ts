// The service of docs/service.md in virtual time, with faults.
import type { Scheduler, SimulatedProcess } from './scheduler.ts';
import { EPOCH } from './scheduler.ts';

export const KEY = 'sk_live_simulated_key_0001';

export const PLANS = {
  free: { perWindow: 60, windowMs: 60_000 },
  tight: { perWindow: 5, windowMs: 20_000 },
  tiny: { perWindow: 3, windowMs: 60_000 },
};

/** The behavior of the service, constant in one world. */
export interface Manners {
  readonly plan: (typeof PLANS)['free'];
  /** Requests of the first window that other clients have used. */
  readonly usedBefore: number;
  readonly skewMs: number;
  readonly retryAfter: 'seconds' | 'date' | 'none';
  readonly headers: boolean;
  /** The rounding of the end of a window to a second. */
  readonly rounds: 'up' | 'down';
}

interface Category {
  readonly id: number;
  readonly name: string;
}

export interface ServiceRequest {
  /** The name that a create sends; undefined for a list. */
  readonly name: string | undefined;
  readonly process: SimulatedProcess;
  /** Virtual time of the first byte of the request. */
  readonly sentAt: number;
  /** The virtual time at which the client stopped waiting for the response, if at all. */
  readonly lateSince: number | undefined;
}

export interface ServiceResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
  /** The end of the wait that the refusal states, in virtual time. */
  readonly waitUntil?: number | undefined;
}

type Quota = ReturnType<typeof newQuota>;

/** @param confirmedAt the time at which the last request with a response was sent */
function newQuota(windowEnds: number, used: number, confirmedAt: number) {
  return {
    ...{ windowEnds, used, confirmedAt },
    /** The time of the first response of this window: from then on, the client knows the window. */
    heardAt: Number.POSITIVE_INFINITY,
    /** True if the client cannot know the quota exactly, for example after an injected refusal. */
    foreign: false,
    /** The time at which the client first stopped waiting for a request that was served later. */
    lateSince: Number.POSITIVE_INFINITY,
  };
}

/** The longest delay of a create after a 202, in milliseconds: less than any wait for the requests of an earlier import. */
const LATEST_MS = 4000;
/** The default of `--timeout`, after which a ticket expires, in milliseconds. */
const TICKET_MS = 30_000;

export class Service {
  readonly stored: Category[] = [];
  readonly manners: Manners;
  /** Called with each request that the limit refuses; `excused` if its client could not know the quota. */
  onRefusal: (request: ServiceRequest, excused: boolean) => void = () => undefined;
  readonly #scheduler: Scheduler;
  readonly #newsMs: number;
  #quota: Quota;

  /** @param newsMs the time until all machines know of a response, in milliseconds */
  constructor(scheduler: Scheduler, manners: Manners, newsMs: number) {
    this.#newsMs = newsMs;
    this.#scheduler = scheduler;
    this.manners = manners;
    this.#quota = newQuota(scheduler.between(0.1, 1) * manners.plan.windowMs, manners.usedBefore, -1);
  }

  add(name: string): Category {
    const category = { id: this.stored.length + 1, name };
    this.stored.push(category);
    return category;
  }

  serve(request: ServiceRequest, fault?: string): ServiceResponse {
    const quota = this.#currentQuota();
    // After a request that timed out, or an injected refusal or 503, the client cannot know the exact quota.
    quota.lateSince = Math.min(quota.lateSince, request.lateSince ?? Number.POSITIVE_INFINITY);
    if (fault === 'refuse' || fault?.startsWith('unavailable')) quota.foreign = true;
    const isExhausted = quota.used >= this.manners.plan.perWindow;
    if (isExhausted || fault === 'refuse') {
      const isKnown = !quota.foreign && quota.lateSince >= quota.confirmedAt;
      if (fault !== 'refuse') this.onRefusal(request, !isKnown || request.sentAt - this.#newsMs < quota.heardAt);
      return this.#refuse(isExhausted);
    }
    quota.used++;
    if (fault === 'unavailable') return this.#overloaded();
    if (fault === 'error-before') return this.#error(500, `failed for ${KEY}`);
    if (request.name === undefined) return this.#respond(200, JSON.stringify(this.stored));
    return this.#create(request.name, request.process, fault);
  }

  /** Called when a response has been received. */
  heard(sentOn: number, isRefusal: boolean): void {
    const quota = this.#currentQuota();
    // After a refusal whose ticket had expired, the client sends a probe, even if it knows that nothing is left.
    if (isRefusal && this.#scheduler.now - sentOn > TICKET_MS) quota.foreign = true;
    quota.confirmedAt = Math.max(quota.confirmedAt, sentOn);
    quota.heardAt = Math.min(quota.heardAt, this.#scheduler.now);
  }

  get #now(): number {
    return Math.floor(EPOCH + this.#scheduler.now + this.manners.skewMs);
  }

  #currentQuota(): Quota {
    const { windowMs } = this.manners.plan;
    const { now } = this.#scheduler;
    const { windowEnds, confirmedAt } = this.#quota;
    if (now >= windowEnds) {
      const ends = windowEnds + Math.ceil((now - windowEnds + 1) / windowMs) * windowMs;
      this.#quota = newQuota(ends, 0, confirmedAt);
    }
    return this.#quota;
  }

  #respond(status: number, body: string, waitUntil?: number, retryAfter?: string): ServiceResponse {
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      date: new Date(this.#now).toUTCString(),
    };
    if (retryAfter !== undefined) headers['retry-after'] = retryAfter;
    return { status, body, waitUntil, headers: { ...headers, ...this.#limitHeaders() } };
  }

  #limitHeaders(): Record<string, string> {
    const { headers, plan, skewMs, rounds } = this.manners;
    const { windowEnds, used } = this.#quota;
    if (!headers) return {};
    return {
      'x-ratelimit-limit': String(plan.perWindow),
      'x-ratelimit-remaining': String(Math.max(0, plan.perWindow - used)),
      'x-ratelimit-reset': String(Math[rounds === 'up' ? 'ceil' : 'floor']((EPOCH + windowEnds + skewMs) / 1000)),
    };
  }

  #error(status: number, message: string, waitUntil?: number, retryAfter?: string): ServiceResponse {
    return this.#respond(status, JSON.stringify({ code: `E${status}`, message, status }), waitUntil, retryAfter);
  }

  #refuse(isExhausted: boolean): ServiceResponse {
    const { now } = this.#scheduler;
    const seconds = isExhausted ? Math.ceil((this.#quota.windowEnds - now) / 1000) : this.#banSeconds();
    const date = new Date(Math.ceil((this.#now + seconds * 1000) / 1000) * 1000).toUTCString();
    const stated = { seconds: String(seconds), date, none: undefined }[this.manners.retryAfter];
    const waitUntil = stated === undefined ? undefined : now + seconds * 1000;
    return this.#error(429, `slow down, ${KEY}`, waitUntil, stated);
  }

  // Usually less than 20 s, sometimes longer than the `--max-wait` of every user.
  #banSeconds(): number {
    const draw = this.#scheduler.random();
    return draw > 0.92 ? 600 : Math.ceil(20 * draw ** 2);
  }

  #overloaded(): ServiceResponse {
    const seconds = Math.ceil(this.#scheduler.between(1, 20));
    return this.#error(503, 'overloaded', this.#scheduler.now + seconds * 1000, String(seconds));
  }

  #create(name: string, process: SimulatedProcess, fault?: string): ServiceResponse {
    if (fault === 'accepted-late') {
      process.owed++;
      this.#scheduler.after(this.#scheduler.between(1, LATEST_MS), undefined, () => {
        process.owed--;
        this.add(name);
      });
      return this.#respond(202, '');
    }
    const category = this.add(name);
    if (fault === 'created-twice') this.add(name);
    if (fault === 'error-after') return this.#error(500, 'failed');
    if (fault === 'unavailable-after') return this.#overloaded();
    return this.#respond(201, JSON.stringify(category));
  }
}
