// The service of docs/service.md in virtual time, with faults.
import type { Scheduler, SimulatedProcess } from './scheduler.ts';
import { EPOCH } from './scheduler.ts';

export const PLANS = {
  free: { perWindow: 60, windowMs: 60_000, perDay: 1000 },
  pro: { perWindow: 300, windowMs: 60_000, perDay: 10_000 },
  business: { perWindow: 1000, windowMs: 60_000, perDay: 100_000 },
  tight: { perWindow: 5, windowMs: 20_000, perDay: 60 },
  tiny: { perWindow: 3, windowMs: 60_000, perDay: 200 },
};

/** The behavior of the service, constant in one world. */
export interface Manners {
  readonly plan: (typeof PLANS)['free'];
  /** Requests of the first window that other clients have used. */
  readonly usedBefore: number;
  readonly skewMs: number;
  readonly retryAfter: 'seconds' | 'date' | 'none';
  readonly headers: boolean;
  /** How the end of a window is rounded to a second. */
  readonly rounds: 'up' | 'down';
  readonly alter: 'nothing' | 'trim' | 'cut' | 'escape' | 'fold';
  readonly firstId: bigint;
  readonly order: 'oldest' | 'newest' | 'name';
}

export interface Stored {
  readonly id: bigint;
  readonly name: string;
  /** The name that was sent. */
  readonly sent: string;
  /** The processes that know it, from a list or from their own 201. */
  readonly knownTo: Set<number>;
}

export interface ServiceRequest {
  readonly method: string;
  readonly body: string | undefined;
  readonly key: string;
  readonly process: SimulatedProcess;
  /** Virtual time at which its ticket had been taken. */
  readonly takenAt: number;
  /** Virtual time of its first byte. */
  readonly sentAt: number;
  /** When its client stopped waiting for the response, if it did, in virtual time. */
  readonly lateSince: number | undefined;
}

export interface ServiceResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
  /** The categories that the response shows. */
  readonly shows?: readonly Stored[] | undefined;
  /** The end of the wait that the refusal states, in virtual time. */
  readonly waitUntil?: number | undefined;
}

type Respond = (status: number, body: string, extra?: Partial<ServiceResponse>) => ServiceResponse;

class Quota {
  windowEnds = 0;
  used = 0;
  dayEnds = FIRST_DAY_ENDS;
  usedToday = 0;
  /** When the first response of this window was received: from then on the client knows of it. */
  heardAt = Number.POSITIVE_INFINITY;
  /** True if the client cannot know the quota exactly, for example after a request that timed out. */
  foreign = false;
  /** When the client first stopped waiting for a request that was served later. */
  lateSince = Number.POSITIVE_INFINITY;
  /** When the last request was sent whose response was received. */
  confirmedAt = -1;
}

/** The longest delay of a create whose process died, or whose record the state server may have lost, in milliseconds. */
export const LATEST_AFTER_LOSS_MS = 4000;
/** The longest delay of any other create after a 202 or 504, in milliseconds: less than the default of `--timeout`. */
export const LATEST_MS = 28_000;
const DAY_MS = 86_400_000;
const FIRST_DAY_ENDS = Date.parse('2026-11-22T00:00:00Z') - EPOCH;

export class Service {
  stored: Stored[] = [];
  readonly manners: Manners;
  validKey: string;
  /** Called with each request that the limits refuse; `excused` if its client could not know the quota. */
  onRefusal: (request: ServiceRequest, excused: boolean) => void = () => undefined;
  readonly #scheduler: Scheduler;
  readonly #longestLateMs: number;
  readonly #newsMs: number;
  readonly #quotas = new Map<string, Quota>();
  #nextId: bigint;

  /** @param newsMs how long it takes until all machines know of a response */
  constructor(scheduler: Scheduler, manners: Manners, key: string, longestLateMs: number, newsMs: number) {
    this.#longestLateMs = longestLateMs;
    this.#newsMs = newsMs;
    this.#scheduler = scheduler;
    this.manners = manners;
    this.validKey = key;
    this.#nextId = manners.firstId;
  }

  /** @param name as the service lists it */
  add(sent: string, name = this.nameOf(sent)): Stored {
    const category = { id: this.#nextId++, name, sent, knownTo: new Set<number>() };
    this.stored.push(category);
    return category;
  }

  /** Names that may exist twice, since a request was longer on its way than any client waits. */
  readonly late = new Set<string>();

  serve(request: ServiceRequest, fault?: string): ServiceResponse {
    const quota = this.#quotaOf(request.key);
    const respond: Respond = (status, body, extra = {}) => {
      const headers = { 'content-type': 'application/json', date: new Date(this.#now).toUTCString() };
      return { status, body, ...extra, headers: { ...headers, ...this.#limitHeaders(quota), ...extra.headers } };
    };
    // After these requests the client cannot know the quota: it sends a probe, or a later response did not count a request
    // whose response it misses.
    quota.lateSince = Math.min(quota.lateSince, request.lateSince ?? Number.POSITIVE_INFINITY);
    if (fault === 'refuse' || fault?.startsWith('unavailable')) quota.foreign = true;
    // The Date of a cached response does not locate the reset.
    if (fault === 'aged-list') quota.foreign = true;
    const { perWindow, perDay } = this.manners.plan;
    const isExhausted = quota.used >= perWindow || quota.usedToday >= perDay;
    if (isExhausted || fault === 'refuse') {
      // Only a 429 withdraws a ticket: news of a used-up day does not.
      const allowedAt = (quota.usedToday >= perDay ? request.takenAt : request.sentAt) - this.#newsMs;
      const isKnown = !quota.foreign && quota.lateSince >= quota.confirmedAt && allowedAt >= quota.heardAt;
      if (isExhausted && fault !== 'refuse') this.onRefusal(request, !isKnown);
      return this.#refuse(request, quota, isExhausted, respond);
    }
    quota.used++;
    quota.usedToday++;
    // The client cannot know yet that the day is used up: earlier responses do not report the daily limit.
    if (quota.usedToday === perDay) quota.heardAt = Number.POSITIVE_INFINITY;
    const error: Respond = (status, message, extra) =>
      respond(status, JSON.stringify({ code: `E${status}`, message, status }), extra);
    if (request.key !== this.validKey) return error(401, `invalid API key ${request.key}`);
    if (fault === 'html') return respond(200, '<html><title>Portal</title></html>');
    if (fault === 'forbids') return error(403, 'blocked by the firewall');
    if (fault === 'unavailable') return this.#overloaded(error);
    if (fault === 'error-before') return error(500, `failed for ${request.key}`);
    return request.method === 'GET'
      ? this.#list(request, respond, fault)
      : this.#create(request, respond, error, fault);
  }

  /** Called when a response has been received. */
  heard(key: string, headers: ServiceResponse['headers'], sentOn: number): void {
    const quota = this.#quotaOf(key);
    quota.confirmedAt = Math.max(quota.confirmedAt, sentOn);
    const { perDay } = this.manners.plan;
    // Only responses after the last request of the day report the daily limit.
    if (quota.usedToday >= perDay && headers['x-ratelimit-limit'] !== String(perDay)) return;
    quota.heardAt = Math.min(quota.heardAt, this.#scheduler.now);
  }

  get #now(): number {
    return Math.floor(EPOCH + this.#scheduler.now + this.manners.skewMs);
  }

  #quotaOf(key: string): Quota {
    const { windowMs } = this.manners.plan;
    const now = this.#scheduler.now;
    const quota = this.#quotas.get(key) ?? new Quota();
    if (!this.#quotas.has(key)) {
      quota.windowEnds = now + this.#scheduler.between(0.1, 1) * windowMs;
      quota.used = this.manners.usedBefore;
      this.#quotas.set(key, quota);
    }
    if (now >= quota.windowEnds) {
      const ends = quota.windowEnds + Math.ceil((now - quota.windowEnds + 1) / windowMs) * windowMs;
      Object.assign(quota, { windowEnds: ends, used: 0, heardAt: Number.POSITIVE_INFINITY, foreign: false });
      quota.lateSince = Number.POSITIVE_INFINITY;
    }
    if (now >= quota.dayEnds) Object.assign(quota, { dayEnds: quota.dayEnds + DAY_MS, usedToday: 0 });
    return quota;
  }

  // Reports the short window, or the day once it is used up.
  #limitHeaders({ windowEnds, used, dayEnds, usedToday }: Quota): Record<string, string> {
    const { headers, plan, skewMs, rounds } = this.manners;
    if (!headers) return {};
    const isDay = usedToday >= plan.perDay;
    const [limit, count, ends] = isDay ? [plan.perDay, usedToday, dayEnds] : [plan.perWindow, used, windowEnds];
    return {
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(Math.max(0, limit - count)),
      'x-ratelimit-reset': String(Math[rounds === 'up' ? 'ceil' : 'floor']((EPOCH + ends + skewMs) / 1000)),
    };
  }

  #refuse(request: ServiceRequest, quota: Quota, isExhausted: boolean, respond: Respond): ServiceResponse {
    const { retryAfter, plan } = this.manners;
    const ends = quota.usedToday >= plan.perDay ? quota.dayEnds : quota.windowEnds;
    const now = this.#scheduler.now;
    const seconds = isExhausted ? Math.ceil((ends - now) / 1000) : this.#banSeconds(quota.windowEnds - now);
    const date = new Date(Math.ceil((this.#now + seconds * 1000) / 1000) * 1000).toUTCString();
    const stated = { seconds: String(seconds), date, none: undefined }[retryAfter];
    const waitUntil = stated === undefined ? undefined : now + seconds * 1000;
    const body = JSON.stringify({ code: 'rate_limited', message: `slow down, ${request.key}`, status: 429 });
    return respond(429, body, { waitUntil, headers: stated === undefined ? {} : { 'retry-after': stated } });
  }

  // Mostly a few seconds, now and then an hour: not if the reset would confirm 3600 as milliseconds.
  #banSeconds(resetInMs: number): number {
    const draw = this.#scheduler.random();
    if (draw > 0.92 && Math.abs(resetInMs - 3600) > 16_000) return 3600;
    return Math.ceil(20 * draw ** 3);
  }

  // A redirect ends any other command with exit code 7 (docs/cli.md), and its user repeats it.
  #ambiguousStatus({ process }: ServiceRequest): number {
    const statuses = process.command === 'import' ? [500, 507, 303, 303] : [500, 502, 507];
    return statuses[Math.floor(this.#scheduler.random() * statuses.length)] ?? 500;
  }

  #overloaded(error: Respond): ServiceResponse {
    const seconds = Math.ceil(this.#scheduler.between(1, 20));
    const waitUntil = this.#scheduler.now + seconds * 1000;
    return error(503, 'overloaded', { waitUntil, headers: { 'retry-after': String(seconds) } });
  }

  #list(request: ServiceRequest, respond: Respond, fault?: string): ServiceResponse {
    const all = [...this.stored];
    if (this.manners.order === 'newest') all.reverse();
    if (this.manners.order === 'name') all.sort((a, b) => (a.name < b.name ? -1 : 1));
    const isNewest = this.#scheduler.random() < 0.5;
    const known = knownTo(request.process, all);
    // A cached list has exactly the categories that this client knows, or is any older list.
    if (fault === 'aged-list') {
      const old = isNewest ? known : all.slice(0, Math.floor(this.#scheduler.random() * (all.length + 1)));
      return respond(200, listText(old), { headers: { age: '7' } });
    }
    if (fault === 'empty-list' && known.length > 0) return respond(200, '[]');
    // A truncated list lacks a category that the client knows, since no client could detect it otherwise.
    if (fault === 'cut-list' && known.length > 1) {
      const at = 1 + Math.floor(this.#scheduler.random() * (known.length - 1));
      // Either a stale list that lacks one known category, or only the first page.
      const page = all.slice(0, all.indexOf(known[at] as Stored));
      return respond(200, listText(isNewest ? known.filter((one) => one !== known[at]) : page));
    }
    return respond(200, listText(all), { shows: all });
  }

  #create(request: ServiceRequest, respond: Respond, error: Respond, fault?: string): ServiceResponse {
    const { name } = JSON.parse(request.body ?? '{}') as { name: string };
    const later = (): void => {
      // Spare the process until its response, since a create whose process died must be processed sooner.
      request.process.sparedUntil = Math.max(this.#scheduler.now, request.process.suspendedUntil) + 100;
      const ms = this.#scheduler.between(1, request.process.dead ? LATEST_AFTER_LOSS_MS : this.#longestLateMs);
      request.process.owed++;
      this.#scheduler.after(ms, undefined, () => {
        request.process.owed--;
        this.add(name);
      });
    };
    if (name.includes('!')) return error(400, `invalid name ${name}`);
    if (fault === 'rejects') return error(422, 'invalid value');
    if (fault === 'accepted-late') later();
    if (fault === 'accepted-late') return respond(202, '');
    if (fault === 'gateway-timeout-late') later();
    if (fault === 'gateway-timeout-late') return respond(504, '<html><title>504</title></html>');
    const [old] = knownTo(request.process, this.stored);
    if (fault === 'false-created' && old) return respond(201, categoryText(old));
    const category = this.add(name);
    if (fault === 'created-twice') this.add(name);
    if (fault === 'error-after') return error(this.#ambiguousStatus(request), 'failed');
    if (fault === 'unavailable-after') return this.#overloaded(error);
    if (fault === 'garbage') return respond(201, '{"id":');
    return respond(201, categoryText(category), { shows: [category] });
  }

  /** @returns the name as this service lists it */
  nameOf(name: string): string {
    switch (this.manners.alter) {
      case 'trim':
        return name.trim();
      case 'cut':
        return name.slice(0, 12);
      case 'escape':
        return name.replaceAll('&', '&amp;');
      case 'fold':
        return name.normalize('NFD').replace(/\p{M}/gu, '');
      default:
        return name;
    }
  }
}

function categoryText({ id, name }: Stored): string {
  return `{"id":${id},"name":${JSON.stringify(name)}}`;
}

function listText(all: readonly Stored[]): string {
  return `[${all.map(categoryText).join(',')}]`;
}

function knownTo({ pid }: SimulatedProcess, all: readonly Stored[]): readonly Stored[] {
  return all.filter((one) => one.knownTo.has(pid));
}
