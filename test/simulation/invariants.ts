// The invariants that hold at every step: an independent reading of the guarantees in docs/.
import { files } from './disks.ts';
import type { Expectations } from './expectations.ts';
import type { Machine, Scheduler, SimulatedProcess } from './scheduler.ts';
import { EPOCH } from './scheduler.ts';
import type { Service, ServiceRequest, ServiceResponse } from './service.ts';
import type { StateServer } from './state-server.ts';

/** How a command ended; `code` is undefined if it was killed. */
export interface Ended {
  readonly args: readonly string[];
  readonly code: number | undefined;
  readonly out: string;
  readonly err: string;
  /** The categories in the last list that it received. */
  readonly listed: ReadonlySet<object>;
  readonly sentNames: ReadonlySet<string>;
}

export interface Violation {
  readonly step: number;
  readonly what: string;
}

interface StatedWait {
  readonly key: string;
  readonly until: number;
  readonly heardAt: number;
  readonly by: SimulatedProcess;
}

/** What a process has received. */
class Seen {
  refusals = 0;
  /** Lists without a valid response, and creates without a connection: each is an attempt too. */
  errors = 0;
  /** Consecutive lists without a response. */
  failed = 0;
  /** Refusals in a row, those of requests in flight together counted once; when the last was received. */
  row = 0;
  rowAt = -1;
  /** When the wait ends that a 503 to a list stated. */
  pausedUntil = -1;
  /** Creates that were answered with 403. */
  forbidden = 0;
  /** Creates without a response, by name. */
  readonly lost = new Map<string, number>();
}

interface Probe {
  readonly process: SimulatedProcess;
  readonly sentAt: number;
}

/** What was received with a key, by any process. */
class Heard {
  /** The last refusal, and the requests in flight that were sent by processes that knew of it. */
  refusal: (StatedWait & { readonly probes: Map<number, Probe> }) | undefined;
  /** The refusals in a row; when the last refusal was received, and the last success. */
  row = 0;
  refusedAt = -1;
  passedAt = -1;
  /** The end of the stated waits and windows. */
  dueAt = 0;
}

/** One more than `--max-retries`. */
const ATTEMPTS = 5;
/** How long a probe keeps other requests from being sent, without the time to connect. */
const PROBE_MS = 4000;
/** The default of `--concurrency`: as many creates may be on their way. */
const CONCURRENCY = 8;
/** The kinds of error by exit code (docs/cli.md, exit codes). */
const KINDS = 'internal usage auth rejected rate_limited network service unknown_outcome storage'.split(' ');
/** The longest time until all machines know of a 429, in milliseconds. */
const NEWS_MS = 2500;
/** The longest backoff of a read, in milliseconds. */
const BACKOFF_MS = 8000;
/** The longest time from the head of a response to its end, in milliseconds. */
const LONGEST_BODY_MS = 3;
/** Far more than a log has when it is rotated (build.mjs): a state in use may be large, and processes write at once. */
const LARGEST_LOG_BYTES = 24_000;
const LONGEST_LOG = 40;
/** The longest floor (docs/rate-limits.md), in milliseconds. */
const MINUTE_MS = 60_000;
/** Tolerance for rounding, the backoff of reads and the pauses between lists, in milliseconds. */
const SLACK_MS = 16_000;

interface Options {
  readonly scheduler: Scheduler;
  readonly service: Service;
  readonly stateServer: StateServer;
  readonly expectations: Expectations;
  /** Every key that was ever in use. */
  readonly keys: readonly string[];
  /** Whether all machines share a state server. */
  readonly shared: boolean;
  readonly machines: number;
  /** True if only the service determines waits: one user, no suspension, and no fault of a clock, a disk or the state server. */
  readonly calm: boolean;
  /** The longest delay that faults add to a request, in milliseconds. */
  readonly slowestMs: number;
}

export class Invariants {
  readonly violations: Violation[] = [];
  readonly #options: Options;
  readonly #seen = new Map<SimulatedProcess, Seen>();
  readonly #heard = new Map<string, Heard>();
  readonly #waits: StatedWait[] = [];
  /** The imports that have sent a create, in the order of their first. */
  readonly #importers: SimulatedProcess[] = [];
  /** The end of the last stated wait or window, and the number of refusals, whatever the key. */
  readonly #stated = { until: 0, refusals: 0 };

  constructor(options: Options) {
    this.#options = options;
    options.service.onRefusal = (request, excused) => this.#refusedByOwnLimit(request, excused);
  }

  violate(what: string): void {
    this.violations.push({ step: this.#options.scheduler.steps, what });
  }

  /** Called when the head of a response has arrived. */
  heard(process: SimulatedProcess, key: string, isList: boolean, response: ServiceResponse, sentOn: number): void {
    const { service } = this.#options;
    const { now } = this.#options.scheduler;
    const { status, waitUntil, headers } = response;
    service.heard(key, headers, sentOn);
    const seen = this.#seenBy(process);
    const heard = this.#heardWith(key);
    if (status === 429) seen.refusals++;
    else if (sentOn >= (heard.refusal?.heardAt ?? now)) heard.refusal = undefined;
    if (isList && status >= 500) seen.errors++;
    if (isList) seen.failed = 0;
    if (!isList && status === 403 && ++seen.forbidden > CONCURRENCY)
      this.violate('an import goes on although every create is forbidden');
    const resetAt = Number(headers['x-ratelimit-reset'] ?? 0) * 1000 - EPOCH - service.manners.skewMs;
    const statedAt = waitUntil ?? (service.manners.headers ? resetAt : undefined);
    const floorMs = this.#floorMs(process, key, status, sentOn, statedAt === undefined ? undefined : statedAt - now);
    const until = Math.max(waitUntil ?? now, now + floorMs);
    const wait = { key, until, heardAt: now, by: process };
    if (status === 429) heard.refusal = { ...wait, probes: new Map() };
    if (status === 503 && isList) seen.pausedUntil = waitUntil ?? now;
    else if (status === 503 || status === 429) this.#waits.push(wait);
    const statedMs = (waitUntil ?? now) - now;
    heard.dueAt = Math.max(heard.dueAt, now + 1.1 * statedMs);
    if (headers['x-ratelimit-remaining'] === '0') heard.dueAt = Math.max(heard.dueAt, resetAt);
    if (status === 429 || status === 503) this.#stated.refusals++;
    // The Date of a cached response does not tell when its window ends.
    if (headers['age'] !== undefined) this.#stated.until = Number.POSITIVE_INFINITY;
    // A response that was long on its way states its wait later.
    this.#stated.until = Math.max(this.#stated.until, Math.max(heard.dueAt, resetAt) + now - sentOn);
  }

  /**
   * Called when the first byte of a request is sent.
   * @param name the name that a create sends
   */
  sent(process: SimulatedProcess, key: string, number: number, name?: string): void {
    const { scheduler, shared, stateServer, slowestMs, expectations } = this.#options;
    const { now } = scheduler;
    const { refusal } = this.#heardWith(key);
    // A ledger that was not in use knows only of blocks that are not over.
    const isInLedger = !shared || stateServer.troubledUntil < (refusal?.heardAt ?? 0);
    // A ticket that a suspended process held may have expired, or be valid again after the block.
    if (refusal && isInLedger && process.suspendedUntil === 0 && this.#knows(process, refusal)) {
      const excludes = ({ process, sentAt }: Probe): boolean =>
        !process.dead && process.suspendedUntil === 0 && now < sentAt + PROBE_MS;
      if ([...refusal.probes.values()].some(excludes))
        this.violate('a second request within 5 s of the first after a refusal, before its response');
      refusal.probes.set(number, { process, sentAt: now });
    }
    if (name !== undefined && process.command === 'import' && expectations.isComplete(name))
      this.violate(`"${name}" is sent although no category of it is missing`);
    if (name !== undefined && process.command === 'import') this.#checkLock(process);
    if (name === undefined && now < this.#seenBy(process).pausedUntil)
      this.violate('a list is sent again before the time that a 503 stated');
    const inside = this.#waits.find((wait) => wait.key === key && now < wait.until && this.#knows(process, wait));
    if (inside) this.violate(`sent ${seconds(inside.until - now)} before a stated wait is over`);
    // Before a list, a process may wait until no request can still be in flight.
    const slackMs = SLACK_MS + (name === undefined ? slowestMs : 0);
    this.#checkIdle(process, key, slackMs);
    this.#checkPatience(process, slackMs);
  }

  // Checks that an import sends no create after another one has sent its first.
  #checkLock(process: SimulatedProcess): void {
    const { shared, stateServer } = this.#options;
    const peers = this.#importers.filter(({ machine }) => shared || machine === process.machine);
    if (!peers.includes(process)) this.#importers.push(process);
    else if (peers.at(-1) !== process && stateServer.lostAt < 0) this.violate('two imports create at the same time');
  }

  /**
   * Called when a request has ended without a response.
   * @param isRetried whether it was a list that may be retried
   */
  failed(process: SimulatedProcess, key: string, number: number, isRetried: boolean, name?: string): void {
    this.#heardWith(key).refusal?.probes.delete(number);
    const seen = this.#seenBy(process);
    if (name !== undefined && process.command === 'import') {
      const lost = 1 + (seen.lost.get(name) ?? 0);
      seen.lost.set(name, lost);
      if (lost > ATTEMPTS * Math.max(1, this.#options.expectations.wanted(name)))
        this.violate(`"${name}" is sent again more often than --max-retries allows`);
    }
    if (isRetried || name === undefined) seen.errors++;
    if (isRetried && ++seen.failed > ATTEMPTS) this.violate(`a list is tried more than ${ATTEMPTS} times`);
  }

  // Returns a lower bound of the floor after a response (docs/rate-limits.md): the least that this process must know of.
  #floorMs(process: SimulatedProcess, key: string, status: number, sentOn: number, statedMs?: number): number {
    const { scheduler, shared, stateServer } = this.#options;
    const { now } = scheduler;
    const seen = this.#seenBy(process);
    const heard = this.#heardWith(key);
    // A 503 to a create is a refusal too.
    if (status === 503 || status === 429) {
      heard.row++;
      heard.refusedAt = now;
    } else if (sentOn > heard.refusedAt) {
      // The success of a request that was sent before the refusal does not end the row.
      heard.row = 0;
      heard.passedAt = now;
    }
    if (status !== 429) return 0;
    if (heard.passedAt >= seen.rowAt) seen.row = 0;
    const isTogether = sentOn <= seen.rowAt;
    if (!isTogether) seen.row++;
    seen.rowAt = now;
    // Before the first create, only one request is in flight.
    if (process.creates === 0 && seen.row > ATTEMPTS) this.violate(`a request is tried more than ${ATTEMPTS} times`);
    // Another ledger, or one whose times were moved, may not show the whole row.
    const isPartial = (shared && stateServer.troubled) || isUnreliable(process.machine);
    if (isTogether || isPartial) return 1000;
    // At most four times as long as a stated wait.
    const mostMs = statedMs === undefined ? MINUTE_MS : Math.max(1000, 4 * statedMs);
    return Math.min(mostMs, floorOf(seen.row));
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
  #checkUntil({ machine, activeAt }: SimulatedProcess, what: string, ms: number): void {
    const { scheduler } = this.#options;
    // A clock that has been set since the head of the last response differs from the one that determined the time.
    if (machine.jumps.some((jumpedAt) => jumpedAt >= activeAt - LONGEST_BODY_MS)) return;
    const { until, refusals } = this.#stated;
    const late = ms - Math.max(1.1 * floorOf(refusals), until - scheduler.now) - SLACK_MS;
    if (late > 0) this.violate(`${what} ${seconds(late)} later than the service asks for`);
  }

  #seenBy(process: SimulatedProcess): Seen {
    const seen = this.#seen.get(process) ?? new Seen();
    this.#seen.set(process, seen);
    return seen;
  }

  #heardWith(key: string): Heard {
    const heard = this.#heard.get(key) ?? new Heard();
    this.#heard.set(key, heard);
    return heard;
  }

  // Checks that the service's statements and --max-wait explain the time since the last request or response.
  #checkIdle({ activeAt, startedAt }: SimulatedProcess, key: string, slackMs: number): void {
    const { scheduler, calm } = this.#options;
    const { dueAt, row } = this.#heardWith(key);
    const latest = Math.max((activeAt < 0 ? startedAt : activeAt) + 1.1 * floorOf(row), dueAt) + slackMs;
    if (calm && scheduler.now > latest)
      this.violate(`idle ${seconds(scheduler.now - latest)} longer than the service asks for`);
  }

  // Checks that no wait is longer than --max-wait, from any cause but a suspension, the prompt or another import.
  #checkPatience(process: SimulatedProcess, slackMs: number): void {
    const { scheduler, stateServer, calm } = this.#options;
    const { activeAt, startedAt, suspendedUntil, command, hasQuestion, creates, maxWaitMs } = process;
    const mayWaitForOthers = (command === 'import' && activeAt < 0) || (hasQuestion && creates === 0);
    if (!calm && (suspendedUntil > 0 || stateServer.troubled || mayWaitForOthers)) return;
    const idleMs = scheduler.now - (activeAt < 0 ? startedAt : activeAt);
    const longestMs = 1.1 * maxWaitMs + (command === 'import' ? slackMs : BACKOFF_MS);
    if (idleMs > longestMs) this.violate('idle for longer than --max-wait');
  }

  // Whether a process must know of a wait that was stated to it or to another process.
  #knows(process: SimulatedProcess, { by, heardAt }: StatedWait): boolean {
    const { scheduler, shared, stateServer } = this.#options;
    const wasSet = process.machine.jumps.some((at) => at >= heardAt);
    // A clock that was set forward may end a wait early, unless waits end by the state server's clock.
    if (wasSet && (!shared || stateServer.troubled)) return false;
    if (by === process) return true;
    if (process.machine.diskFailed || by.machine.diskFailed) return false;
    if (!shared) return by.machine === process.machine;
    // During an outage each machine uses a ledger of its own, and a process may use it once more afterwards.
    const { troubledUntil, lostAt, outages } = stateServer;
    // A process that ends hands its block over, if the state server is back.
    const isBack = !outages.some(({ to }) => to > by.endedAt - NEWS_MS);
    if (by.endedAt >= 0 && process.startedAt > by.endedAt && lostAt < heardAt && isBack) return true;
    const isShared = Math.min(heardAt, process.startedAt, by.startedAt) > troubledUntil;
    return isShared && !by.dead && by.suspendedUntil === 0 && scheduler.now - heardAt > NEWS_MS;
  }

  // Checks that the service's own limits refuse no request, if the process could know of them.
  #refusedByOwnLimit({ process }: ServiceRequest, excused: boolean): void {
    const { service, shared, machines, stateServer } = this.#options;
    const isAlone = shared ? !stateServer.troubled : machines === 1;
    if (excused || !isAlone || !service.manners.headers || isUnreliable(process.machine)) return;
    this.violate('more requests than the window allows');
  }

  /** Called after a command has ended. */
  ended(process: SimulatedProcess, { args, code, out, err }: Ended): void {
    const { scheduler, slowestMs, stateServer, keys } = this.#options;
    if (keys.some((key) => out.includes(key) || err.includes(key)))
      this.violate(`a key in the output of ${args.join(' ')}`);
    if (code === undefined) return;
    if (code === 1) this.violate(`internal error: ${err.trim()}`);
    if (code === 5) this.#checkLimited(process, err);
    const hasCause = process.machine.wasFull || /taken over|not confirmed|state server/.test(err);
    if ((code === 9 || err.includes('not shared with other processes')) && !hasCause)
      this.violate(`a log cannot be used, although its disk has room: ${err.trim()}`);
    this.#checkPatience(process, SLACK_MS + slowestMs);
    const isHeld = process.suspendedUntil === 0 && !stateServer.troubled;
    if (isHeld && err.includes('has taken over this import')) this.violate('taken over, although it is alive');
    this.#checkError(process, args.includes('--json'), code, out, err);
    const retryAt = /"retryAt":"([^"]+)"/.exec(err)?.[1];
    if (retryAt !== undefined)
      this.#checkUntil(process, 'retryAt is', Date.parse(retryAt) - EPOCH - process.machine.skewMs - scheduler.now);
  }

  // Checks that exit code 5 follows from a wait longer than --max-wait, or from the last attempt.
  #checkLimited(process: SimulatedProcess, err: string): void {
    const { scheduler, calm, service } = this.#options;
    const { refusals, errors } = this.#seenBy(process);
    const stated = durationIn(err);
    const isShort = stated !== undefined && stated + SLACK_MS < process.maxWaitMs;
    if (isShort && calm && service.manners.headers && refusals + errors < ATTEMPTS)
      this.violate(`exit code 5 at ${scheduler.now}, and the wait is shorter than --max-wait`);
    // An hour and more is rounded up to a minute.
    const statedMs = stated ?? 0;
    this.#checkUntil(process, 'the hint ends', statedMs - (statedMs >= 3_600_000 ? MINUTE_MS : 0));
    // No command gives up on another process sooner than --max-wait, waits for the service excluded.
    if (!err.includes('waiting for another petstore process') || !/error.*timed out/.test(err)) return;
    const waits = this.#waits.filter((wait) => wait.until <= scheduler.now && this.#knows(process, wait));
    const idleMs = scheduler.now - Math.max(process.activeAt, process.startedAt, ...waits.map(({ until }) => until));
    if (idleMs < 0.9 * process.maxWaitMs - NEWS_MS)
      this.violate(`waits for another process for ${seconds(idleMs)} only`);
  }

  #checkError(process: SimulatedProcess, json: boolean, code: number, out: string, err: string): void {
    // The user has answered no.
    if (code === 130 && err.includes('[y/N]') && !err.includes('interrupted')) return;
    // A prompt ended by Ctrl-C leaves a cursor sequence before the error.
    const lines = err.replaceAll(/.\[\d+G/gu, '\n').split('\n');
    if (!json) {
      const has = lines.some((line) => line.startsWith('error: '));
      if (has !== (code !== 0)) this.violate(`exit code ${code}, and stderr says: ${err.trim()}`);
      return;
    }
    if (out !== '' && !isJson(out)) this.violate('stdout is not one JSON document');
    const [, kind] = /^\{"error":\{"kind":"(\w+)"/m.exec(lines.join('\n')) ?? [];
    const expected = code === 0 ? undefined : code >= 130 ? 'interrupted' : KINDS[code - 1];
    if (kind !== expected) this.violate(`exit code ${code}, and error.kind is ${kind}`);
    if (kind !== 'interrupted') return;
    // docs/cli.md: an interrupted create may exist.
    const isUnknown = err.includes('"outcome":"unknown"');
    if (process.interrupted > 0 && !isUnknown)
      this.violate('a create was interrupted in flight, and its outcome is not unknown');
    if (isUnknown && process.interrupted === 0 && !/"unknown":\s*\[\s*\{/.test(out))
      this.violate('the outcome is unknown, and no create was interrupted in flight');
  }

  /** Checks that no key is in a file, except in the profiles, or on the state server, and that logs were rotated. */
  checkRecords(): void {
    const { keys, stateServer } = this.#options;
    const isKeyIn = (bytes: string | Buffer): boolean => keys.some((key) => bytes.includes(key));
    for (const [path, bytes] of files()) {
      if (!path.includes('/config/') && isKeyIn(bytes)) this.violate(`a key in ${path}`);
      if (bytes.length > LARGEST_LOG_BYTES) this.violate(`${path} has ${bytes.length} bytes: it was not rotated`);
    }
    if (isKeyIn(stateServer.dump())) this.violate('a key on the state server');
    const { longestLog } = stateServer;
    if (longestLog > LONGEST_LOG)
      this.violate(`a log on the state server has ${longestLog} entries: it was not rotated`);
  }
}

function isUnreliable({ jumps, diskFailed }: Machine): boolean {
  return jumps.length > 0 || diskFailed;
}

/** The wait after so many refusals in a row if none is stated, in milliseconds. */
function floorOf(refusals: number): number {
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
  const text = /try again in ([^,"(\n]+)/.exec(err)?.[1];
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: MINUTE_MS, h: 3_600_000, day: 86_400_000 };
  const parts = [...(text?.matchAll(/(\d+) ?(ms|s|m|h|day)/g) ?? [])];
  if (text === undefined) return undefined;
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (units[unit] ?? 0), 0);
}
