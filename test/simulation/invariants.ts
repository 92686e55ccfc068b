// The invariants that hold at every step: an independent reading of the guarantees in docs/.
import { files } from './disks.ts';
import type { Expectations } from './expectations.ts';
import type { Scheduler, SimulatedProcess } from './scheduler.ts';
import { EPOCH } from './scheduler.ts';
import type { Service, ServiceRequest, ServiceResponse } from './service.ts';
import { KEY } from './service.ts';
import type { StateServer } from './state-server.ts';

/** The result of a command; `code` is undefined if the command was killed. */
export interface Ended {
  readonly args: readonly string[];
  readonly code: number | undefined;
  readonly out: string;
  readonly err: string;
}

export interface Violation {
  readonly step: number;
  readonly what: string;
}

interface StatedWait {
  readonly until: number;
  readonly heardAt: number;
  readonly by: SimulatedProcess;
}

interface Probe {
  readonly process: SimulatedProcess;
  readonly sentAt: number;
}

/** The number of refusals in a row that a process received (one for concurrent requests), and the time of the last. */
interface Row {
  refusals: number;
  lastAt: number;
}

/** The time for which a probe delays other requests, without the time to connect, in milliseconds. */
const PROBE_MS = 4000;
/** The kinds of error by exit code (docs/cli.md, exit codes). */
const KINDS = 'internal usage auth rejected rate_limited network service unknown_outcome storage'.split(' ');
/** The longest time until all machines know about a 429, without the calls to the state server (docs/fleet.md), in milliseconds. */
const NEWS_MS = 1500;
/** The time until no run relies on a lock that the server has lost (docs/fleet.md), in milliseconds. */
const LOCK_NEWS_MS = 10_000;
/** The longest time from the head of a response to its end, in milliseconds. */
const LONGEST_BODY_MS = 3;
/** Far more than the size at which a log is rotated (build.mjs): its state may be large, and processes write concurrently. */
const LARGEST_LOG_BYTES = 24_000;
const LONGEST_LOG = 40;
/** The longest backoff (docs/rate-limits.md), in milliseconds. */
const MINUTE_MS = 60_000;
/** Tolerance for rounding, the backoff of reads and the pauses between lists, in milliseconds. */
const SLACK_MS = 16_000;

interface Options {
  readonly scheduler: Scheduler;
  readonly service: Service;
  readonly stateServer: StateServer;
  readonly expectations: Expectations;
  /** Whether all machines share a state server. */
  readonly shared: boolean;
  /** True if only the service determines waits: one user, no suspension, and no fault of a clock or the state server. */
  readonly calm: boolean;
  /** The longest delay that faults add to a request, in milliseconds. */
  readonly slowestMs: number;
}

export class Invariants {
  readonly violations: Violation[] = [];
  readonly #options: Options;
  readonly #rows = new Map<SimulatedProcess, Row>();
  readonly #waits: StatedWait[] = [];
  /** The last refusal, and the requests in flight that were sent by processes that knew about it. */
  #refusal: (StatedWait & { readonly probes: Map<number, Probe> }) | undefined;
  /** The number of refusals in a row, whichever process received them. */
  #row = 0;
  /** The number of refusals in total. */
  #refusals = 0;
  /** The time of the last refusal; -1 before. */
  #refusedAt = -1;
  /** The time of the last success; -1 before. */
  #passedAt = -1;
  /** The end of all stated waits and exhausted windows. */
  #dueAt = 0;
  /** The end of all waits and windows in any response. */
  #statedUntil = 0;
  /** The creates of imports, since the state server last lost their locks. */
  #creates: { readonly process: SimulatedProcess; readonly at: number }[] = [];

  constructor(options: Options) {
    this.#options = options;
    options.service.onRefusal = (request, excused) => this.#refusedByOwnLimit(request, excused);
  }

  violate(what: string): void {
    this.violations.push({ step: this.#options.scheduler.steps, what });
  }

  /** Called when the head of a response has arrived, even if the process was killed while recording it. */
  heard(process: SimulatedProcess, isList: boolean, response: ServiceResponse, sentOn: number): void {
    const { service } = this.#options;
    const { now } = this.#options.scheduler;
    const { status, waitUntil, headers } = response;
    const resetAt = Number(headers['x-ratelimit-reset'] ?? 0) * 1000 - EPOCH - service.manners.skewMs;
    const statedMs = (waitUntil ?? now) - now;
    // A slow response delays the end of the wait that it states.
    this.#statedUntil = Math.max(this.#statedUntil, Math.max(now + 1.1 * statedMs, resetAt) + now - sentOn);
    if (status === 503 || status === 429) this.#refusals++;
    if (process.dead) return;
    service.heard(sentOn, status === 429 || status === 503);
    const statedAt = waitUntil ?? (service.manners.headers ? resetAt : undefined);
    const backoffMs = this.#backoffMs(process, status, sentOn, statedAt === undefined ? undefined : statedAt - now);
    const wait = { until: Math.max(waitUntil ?? now, now + backoffMs), heardAt: now, by: process };
    if (status === 429) this.#refusal = { ...wait, probes: new Map() };
    else if (sentOn >= (this.#refusal?.heardAt ?? now)) this.#refusal = undefined;
    // A 503 to a list is a failure, after which only this list waits.
    if (status === 429 || (status === 503 && !isList)) this.#waits.push(wait);
    this.#dueAt = Math.max(this.#dueAt, now + 1.1 * statedMs, headers['x-ratelimit-remaining'] === '0' ? resetAt : 0);
  }

  /**
   * Called when the first byte of a request is sent.
   * @param name the name that a create sends
   */
  sent(process: SimulatedProcess, number: number, name?: string): void {
    const { scheduler, stateServer, slowestMs, expectations } = this.#options;
    const { now } = scheduler;
    const refusal = this.#refusal;
    // A ledger that was not in use, or whose clock was set back, knows only blocks that have not ended.
    const isInLedger = Math.max(stateServer.troubledUntil, process.machine.setAt) < (refusal?.heardAt ?? 0);
    // A ticket that a suspended process held may have expired, or be valid again after the block.
    if (refusal && isInLedger && process.suspendedUntil === 0 && this.#knows(process, refusal)) {
      const excludes = ({ process, sentAt }: Probe): boolean =>
        !process.dead && process.suspendedUntil === 0 && now < sentAt + PROBE_MS;
      if ([...refusal.probes.values()].some(excludes))
        this.violate('a second request within 5 s of the first after a refusal, before its response');
      refusal.probes.set(number, { process, sentAt: now });
    }
    if (name !== undefined && process.command === 'import') {
      if (expectations.isComplete(name)) this.violate(`"${name}" is sent although no category of it is missing`);
      this.#checkLock(process);
    }
    // Clocks show whole milliseconds.
    const inside = this.#waits.find((wait) => now < wait.until - 1 && this.#knows(process, wait));
    if (inside) this.violate(`sent ${seconds(inside.until - now)} before a stated wait is over`);
    // Before a list, a process may wait until no request can still be in flight.
    this.#checkIdle(process, SLACK_MS + (name === undefined ? slowestMs : 0));
  }

  // Checks that an import sends no more creates once another import has sent one.
  #checkLock(process: SimulatedProcess): void {
    const { scheduler, stateServer } = this.#options;
    this.#creates = this.#creates.filter(({ at }) => at > stateServer.lostAt + LOCK_NEWS_MS);
    const last = this.#creates.at(-1)?.process ?? process;
    if (last !== process && this.#creates.some((one) => one.process === process))
      this.violate('two imports create at the same time');
    this.#creates.push({ process, at: scheduler.now });
  }

  /** Called when a request has ended without a response. */
  failed(number: number): void {
    this.#refusal?.probes.delete(number);
  }

  // Returns a lower bound on the backoff after a response (docs/rate-limits.md), from responses that this process must know about.
  #backoffMs(process: SimulatedProcess, status: number, sentOn: number, statedMs?: number): number {
    const { scheduler, shared, stateServer } = this.#options;
    const { now } = scheduler;
    const row = this.#rows.get(process) ?? { refusals: 0, lastAt: -1 };
    const lastRefusedAt = this.#refusedAt;
    this.#rows.set(process, row);
    // Only a 503 to a create is a refusal. One to a list counts here, too, since `#row` bounds a wait from above.
    if (status === 503 || status === 429) {
      this.#row++;
      this.#refusedAt = now;
    } else if (status < 500 && sentOn > this.#refusedAt) {
      // The success of a request that was sent before the refusal does not end the row of refusals.
      this.#row = 0;
      this.#passedAt = now;
    }
    if (status !== 429) return 0;
    if (this.#passedAt >= row.lastAt) row.refusals = 0;
    // A refusal that another process received meanwhile may have begun the block.
    const isTogether = sentOn <= lastRefusedAt;
    if (!isTogether) row.refusals++;
    row.lastAt = now;
    // Another ledger, or one whose times were moved, may not show the whole row. A refusal whose ticket
    // had expired adds nothing to a row.
    const isPartial = (shared && stateServer.troubled) || process.machine.setAt >= 0 || process.suspendedUntil > 0;
    if (isTogether || isPartial) return 1000;
    // The backoff is at most four times as long as a stated wait.
    const mostMs = statedMs === undefined ? MINUTE_MS : Math.max(1000, 4 * statedMs);
    return Math.min(mostMs, backoffOf(row.refusals));
  }

  /** Called for each text that a process writes to stderr. */
  wrote(process: SimulatedProcess, text: string): void {
    // Skip waits for requests in flight, which `--timeout` limits, and for a complete list.
    for (const [, until = ''] of text.matchAll(
      /\{"waiting":\{"until":"([^"]+)","reason":"(?!pending|requests|list)/g,
    )) {
      const ms = Date.parse(until) - EPOCH - this.#options.scheduler.now - process.machine.skewMs;
      if (ms > process.maxWaitMs + 2) this.violate(`waits for ${seconds(ms)}, longer than --max-wait`);
      this.#checkUntil(process, 'a wait ends', ms);
    }
  }

  // Checks the time until a request is allowed, whichever process received the responses.
  #checkUntil(process: SimulatedProcess, what: string, ms: number): void {
    // If the machine's clock was set after the head of the response that determined `ms`, `ms` compares two clocks.
    const { machine, activeAt } = process;
    const determinedAt = Math.min(activeAt - LONGEST_BODY_MS, this.#rows.get(process)?.lastAt ?? activeAt);
    if (machine.setAt >= 0 && machine.setAt >= determinedAt) return;
    const statedMs = this.#statedUntil - this.#options.scheduler.now;
    const late = ms - Math.max(1.1 * backoffOf(this.#refusals), statedMs) - SLACK_MS;
    if (late > 0) this.violate(`${what} ${seconds(late)} later than the service asks for`);
  }

  // Checks that the service's statements explain the time since the last request or response.
  #checkIdle({ activeAt, startedAt }: SimulatedProcess, slackMs: number): void {
    const { scheduler, calm } = this.#options;
    const latest = Math.max((activeAt < 0 ? startedAt : activeAt) + 1.1 * backoffOf(this.#row), this.#dueAt) + slackMs;
    if (calm && scheduler.now > latest)
      this.violate(`idle ${seconds(scheduler.now - latest)} longer than the service asks for`);
  }

  // Whether a process must know about a wait that was stated to it or to another process.
  #knows(process: SimulatedProcess, { by, heardAt }: StatedWait): boolean {
    const { scheduler, shared, stateServer } = this.#options;
    // All processes of one machine share its files.
    if (by === process || !shared) return true;
    // During an outage, each machine uses its own ledger, and a process may use it once more afterwards.
    const { troubledUntil, lostAt, outages, slowestMs } = stateServer;
    const newsMs = NEWS_MS + 4 * slowestMs;
    // A process that ends hands its block over, if the state server is back.
    const isBack = !outages.some(({ to }) => to > by.endedAt - newsMs);
    if (by.endedAt >= 0 && process.startedAt > by.endedAt && lostAt < heardAt && isBack) return true;
    const isShared = Math.min(heardAt, process.startedAt, by.startedAt) > troubledUntil;
    return isShared && !by.dead && by.suspendedUntil === 0 && scheduler.now - heardAt > newsMs;
  }

  // Checks that the service's own limits refuse no request, if the process could know about them.
  #refusedByOwnLimit({ process }: ServiceRequest, excused: boolean): void {
    const { service, shared, stateServer } = this.#options;
    if (excused || (shared && stateServer.troubled) || !service.manners.headers || process.machine.setAt >= 0) return;
    this.violate('more requests than the window allows');
  }

  /** Called after a command has ended. */
  ended(process: SimulatedProcess, { args, code, out, err }: Ended): void {
    const { scheduler, stateServer } = this.#options;
    if (out.includes(KEY) || err.includes(KEY)) this.violate(`a key in the output of ${args.join(' ')}`);
    if (code === undefined) return;
    if (code === 1) this.violate(`internal error: ${err.trim()}`);
    if (code === 5) this.#checkUntil(process, 'the hint ends', durationIn(err) ?? 0);
    const hasCause = /taken over|not confirmed|state server/.test(err);
    if ((code === 9 || err.includes('not shared with other processes')) && !hasCause)
      this.violate(`a log cannot be used: ${err.trim()}`);
    const isHeld = process.suspendedUntil === 0 && !stateServer.troubled;
    if (isHeld && err.includes('has taken over this import')) this.violate('taken over, although it is alive');
    this.#checkError(args.includes('--json'), code, out, err);
    const retryAt = /"retryAt":"([^"]+)"/.exec(err)?.[1];
    if (retryAt !== undefined)
      this.#checkUntil(process, 'retryAt is', Date.parse(retryAt) - EPOCH - process.machine.skewMs - scheduler.now);
  }

  #checkError(json: boolean, code: number, out: string, err: string): void {
    if (!json) {
      if (/^error: /m.test(err) !== (code !== 0)) this.violate(`exit code ${code}, and stderr says: ${err.trim()}`);
      return;
    }
    if (out !== '' && !isJson(out)) this.violate('stdout is not one JSON document');
    const [, kind] = /^\{"error":\{"kind":"(\w+)"/m.exec(err) ?? [];
    const expected = code === 0 ? undefined : code >= 130 ? 'interrupted' : KINDS[code - 1];
    if (kind !== expected) this.violate(`exit code ${code}, and error.kind is ${kind}`);
  }

  /** Checks that no key is in a file or on the state server, and that logs were rotated. */
  checkRecords(): void {
    const { stateServer } = this.#options;
    for (const [path, bytes] of files()) {
      if (bytes.includes(KEY)) this.violate(`a key in ${path}`);
      if (bytes.length > LARGEST_LOG_BYTES) this.violate(`${path} has ${bytes.length} bytes: it was not rotated`);
    }
    if (stateServer.dump().includes(KEY)) this.violate('a key on the state server');
    const { longestLog } = stateServer;
    if (longestLog > LONGEST_LOG)
      this.violate(`a log on the state server has ${longestLog} entries: it was not rotated`);
  }
}

/** The wait after this many refusals in a row if none is stated, in milliseconds. */
function backoffOf(refusals: number): number {
  return refusals <= 0 ? 0 : Math.min(MINUTE_MS, 1000 * 2 ** (refusals - 1));
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** @returns the wait that a hint states, in milliseconds */
export function durationIn(err: string): number | undefined {
  const text = /(?:for another|try again in) ([^,"(\n]+)/.exec(err)?.[1];
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: MINUTE_MS, h: 3_600_000 };
  const parts = [...(text?.matchAll(/(\d+) ?(ms|s|m|h)/g) ?? [])];
  if (text === undefined) return undefined;
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (units[unit] ?? 0), 0);
}
