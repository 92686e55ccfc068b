// The invariants that hold at every step: an independent reading of the guarantees in docs/.
import { files } from './replaced/fs.ts';
import type { Scheduler, SimulatedProcess } from './scheduler.ts';
import { EPOCH } from './scheduler.ts';
import type { Service, ServiceRequest, ServiceResponse } from './service.ts';
import type { StateServer } from './state-server.ts';
import type { Expectations } from './users.ts';

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

interface Probe {
  readonly process: SimulatedProcess;
  readonly sentAt: number;
}

/** Counts of the responses and failures of a process. */
interface Seen {
  refusals: number;
  /** Lists without a valid response, and creates without a connection: each is an attempt too. */
  errors: number;
  /** Lists with status 200 before and after the first create. */
  firstLists: number;
  lists: number;
  /** Consecutive lists without a response. */
  failed: number;
  /** Refusals in a row, those of requests in flight together counted once; when the last was received, and its wait ends. */
  row: number;
  rowAt: number;
  rowEnds: number;
  /** When the wait ends that a 503 to a list stated. */
  pausedUntil: number;
  /** Creates that were answered with 403. */
  forbidden: number;
  /** Creates without a response, by name. */
  readonly lost: Map<string, number>;
}

/** The statuses that tell whether a category was created. */
const CERTAIN = new Set([201, 400, 401, 403, 422, 429]);
/** One more than `--max-retries`. */
const ATTEMPTS = 5;
/** The default of `--concurrency`: as many creates may be on their way. */
const CONCURRENCY = 8;

// The exit codes of each kind of error (docs/cli.md, exit codes).
const CODES: Readonly<Record<string, readonly number[]>> = {
  usage: [2],
  auth: [3],
  rejected: [4],
  rate_limited: [5],
  network: [6],
  service: [7],
  unknown_outcome: [8],
  storage: [9],
  interrupted: [130, 143],
  internal: [1],
};
/** The longest time until all machines know of a 429, in milliseconds. */
const NEWS_MS = 2500;
/** The longest backoff of a read, and the patience with a state server, in milliseconds. */
const BACKOFF_MS = 8000;
/** How long a command must tolerate that the state server is unavailable, in milliseconds. */
const PATIENCE_MS = 4000;
/** The longest time until a command has used the state server for the first time, in milliseconds. */
const START_MS = 1000;
/** The longest time from the head of a response to its end, in milliseconds. */
const LONGEST_BODY_MS = 3;
/** The longest time between requests without headers (docs/rate-limits.md), in milliseconds. */
const LONGEST_GAP_MS = 60_000;
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
  /** True if only the service determines waits: one user, no suspension, and no fault of a machine or the state server. */
  readonly calm: boolean;
  /** Whether any fault has been injected so far. */
  readonly hasFaults: () => boolean;
  /** True if no process is suspended, so that no other takes over its import. */
  readonly neverPaused: boolean;
  /** The longest delay that faults add to a request, in milliseconds. */
  readonly slowestMs: number;
}

export class Invariants {
  readonly violations: Violation[] = [];
  readonly #seen = new WeakMap<SimulatedProcess, Seen>();
  /** For each key, its last refusal, and the requests in flight that were sent by processes that knew of it. */
  readonly #refusals = new Map<string, StatedWait & { readonly probes: Map<number, Probe> }>();
  /** Whether the outcome of any create has ever been unknown to its process. */
  #isUncertain = false;
  /** True after a 400: an import that waited while the journal was rotated may then look up rejected rows. */
  #hasRejections = false;
  readonly #options: Options;
  readonly #waits: StatedWait[] = [];
  /** For each key, the refusals in a row, the most of them before a success, and the times of the last success and refusal. */
  readonly #rows = new Map<string, { now: number; kept: number; passedAt: number; refusedAt: number }>();
  /** For each key, the end of the stated waits and windows, and the number of refusals in a row. */
  readonly #due = new Map<string, { at: number; refusals: number }>();
  /** The end of the last stated wait or window, and the number of refusals. */
  readonly #stated = { until: 0, refusals: 0 };

  constructor(options: Options) {
    this.#options = options;
    options.service.onRefusal = (request, excused) => this.#refusedByOwnLimit(request, excused);
  }

  violate(what: string): void {
    this.violations.push({ step: this.#options.scheduler.steps, what });
  }

  /**
   * Called when the head of a response has arrived.
   * @param isList whether it is the response to a list
   * @param isFaulty whether the response to a create may not tell the truth
   */
  heard(
    process: SimulatedProcess,
    key: string,
    isList: boolean,
    { status, waitUntil, headers }: ServiceResponse,
    sentOn: number,
    isFaulty: boolean,
  ): void {
    const { scheduler, service, shared, stateServer, neverPaused, hasFaults } = this.#options;
    const { now } = scheduler;
    if (!isList && (isFaulty || !CERTAIN.has(status))) this.#isUncertain = true;
    service.heard(key, headers, sentOn);
    const seen = this.#seenBy(process);
    if (status === 429) {
      seen.refusals++;
    } else if (sentOn >= (this.#refusals.get(key)?.heardAt ?? now)) this.#refusals.delete(key);
    if (isList && status >= 500) seen.errors++;
    if (isList) seen.failed = 0;
    else if (status === 400) this.#hasRejections = true;
    // The prompt fetches a list of its own for its figures. One list follows the last create, or three if it is not whole.
    const first = process.hasQuestion ? 2 : 1;
    const last = hasFaults() ? 3 : 1;
    if (isList && status === 200 && process.creates === 0) seen.firstLists++;
    if (isList && status === 200 && process.creates > 0) seen.lists++;
    if (
      isList &&
      status === 200 &&
      (seen.lists > last || (!hasFaults() && seen.firstLists > first)) &&
      process.command === 'import' &&
      (!hasFaults() || (process.creates > 0 && !this.#isUncertain && neverPaused && !stateServer.troubled)) &&
      !(shared && this.#hasRejections)
    )
      this.violate('more lists than needed although the outcome of each create is known');
    const due = this.#due.get(key) ?? { at: 0, refusals: 0 };
    this.#due.set(key, due);
    const until = Math.max(
      waitUntil ?? now,
      now + this.#floorMs(process, key, status, sentOn, service.manners.headers || waitUntil !== undefined),
    );
    if (status === 429) {
      const wait = { key, until, heardAt: now, by: process };
      this.#waits.push(wait);
      this.#refusals.set(key, { ...wait, probes: new Map() });
      seen.rowEnds = Math.max(seen.rowEnds, until);
    }
    if (!isList && status === 403 && ++seen.forbidden > CONCURRENCY)
      this.violate('an import goes on although every create is forbidden');
    const isRefusal = status === 429 || (status === 503 && !isList);
    due.refusals = isRefusal ? due.refusals + 1 : 0;
    if (status === 503 && waitUntil !== undefined) {
      if (isList) seen.pausedUntil = waitUntil;
      else this.#waits.push({ key, until: waitUntil, heardAt: now, by: process });
    }
    due.at = Math.max(due.at, (waitUntil ?? now) + 0.1 * ((waitUntil ?? now) - now));
    const resetAt = Number(headers['x-ratelimit-reset'] ?? 0) * 1000 - EPOCH - service.manners.skewMs;
    if (headers['x-ratelimit-remaining'] === '0') due.at = Math.max(due.at, resetAt);
    if (status === 429 || status === 503) this.#stated.refusals++;
    // The Date of a cached response does not tell when its window ends.
    if (headers['age'] !== undefined) this.#stated.until = Number.POSITIVE_INFINITY;
    // A response that was long on its way states its wait later.
    this.#stated.until = Math.max(this.#stated.until, Math.max(due.at, resetAt) + now - sentOn);
  }

  /**
   * Called when the first byte of a request is sent.
   * @param number the number of the request
   * @param name the name that a create sends
   */
  sent(process: SimulatedProcess, key: string, number: number, name?: string): void {
    const { scheduler, shared, stateServer } = this.#options;
    const { now } = scheduler;
    const refusal = this.#refusals.get(key);
    // A ledger that was not in use knows only of blocks that are not over.
    const isInLedger = !shared || stateServer.troubledUntil < (refusal?.heardAt ?? 0);
    // A ticket that a suspended process held is valid again after the block.
    if (refusal && isInLedger && process.suspendedUntil < refusal.heardAt && this.#knows(process, refusal)) {
      const { probes } = refusal;
      // The ticket of a process that was suspended may have expired.
      if ([...probes.values()].some((one) => !one.process.dead && one.process.suspendedUntil <= one.sentAt))
        this.violate('a second request after a refusal, before the response to the first');
      probes.set(number, { process, sentAt: now });
    }
    if (name !== undefined && process.command === 'import' && this.#options.expectations.isComplete(name))
      this.violate(`"${name}" is sent although no category of it is missing`);
    if (name === undefined && now < this.#seenBy(process).pausedUntil)
      this.violate('a list is sent again before the time that a 503 stated');
    const inside = this.#waits.find((wait) => wait.key === key && now < wait.until && this.#knows(process, wait));
    if (inside) this.violate(`sent ${((inside.until - now) / 1000).toFixed(1)} s before a stated wait is over`);
    // Before a list, a process may wait until no request can still be in flight.
    const slackMs = SLACK_MS + (name === undefined ? this.#options.slowestMs : 0);
    this.#checkIdle(process, key, slackMs);
    this.#checkPatience(process, slackMs);
  }

  /**
   * Called when a request has ended without a response.
   * @param isList whether it was a list that may be retried
   */
  failed(process: SimulatedProcess, key: string, number: number, isList: boolean, name?: string): void {
    this.#refusals.get(key)?.probes.delete(number);
    const seen = this.#seenBy(process);
    if (name !== undefined) this.#isUncertain = true;
    if (name !== undefined && process.command === 'import') {
      const lost = 1 + (seen.lost.get(name) ?? 0);
      seen.lost.set(name, lost);
      if (lost > ATTEMPTS * Math.max(1, this.#options.expectations.rows(name)))
        this.violate(`"${name}" is sent again more often than --max-retries allows`);
    }
    if (isList || name === undefined) seen.errors++;
    if (isList && ++seen.failed > ATTEMPTS) this.violate(`a list is tried more than ${ATTEMPTS} times`);
  }

  // Returns a lower bound of the floor after a response (docs/rate-limits.md): the least that this process must know of.
  #floorMs(process: SimulatedProcess, key: string, status: number, sentOn: number, isStated: boolean): number {
    const { scheduler, shared, stateServer } = this.#options;
    const { now } = scheduler;
    const seen = this.#seenBy(process);
    const rows = this.#rows.get(key) ?? { now: 0, kept: 0, passedAt: -1, refusedAt: -1 };
    this.#rows.set(key, rows);
    // A 503 to a create is a refusal too.
    if (status === 503 || status === 429) Object.assign(rows, { now: rows.now + 1, refusedAt: now });
    // The success of a request that was sent before the refusal does not end the row.
    else if (sentOn > rows.refusedAt) {
      Object.assign(rows, { now: 0, kept: Math.max(rows.kept, rows.now), passedAt: now });
    }
    if (status !== 429) return 0;
    if (rows.passedAt >= seen.rowAt || sentOn - seen.rowEnds > 60_000) seen.row = 0;
    const isTogether = sentOn <= seen.rowAt;
    if (!isTogether) seen.row++;
    seen.rowAt = now;
    // Before the first create, only one request is in flight.
    if (process.creates === 0 && seen.row > ATTEMPTS) this.violate(`a request is tried more than ${ATTEMPTS} times`);
    if (isTogether) return 1000;
    // Another ledger, or one whose times were moved, may not show the whole row.
    if ((shared && stateServer.troubled) || process.machine.diskFailed || process.machine.jumps.length > 0) return 1000;
    return Math.min(60_000, 1000 * 2 ** Math.max(0, seen.row - 1 - (isStated ? rows.kept : 0)));
  }

  /** Called for each text that a process writes to stderr. */
  wrote(process: SimulatedProcess, text: string): void {
    const { scheduler } = this.#options;
    // Skip waits for a request in flight, which `--timeout` limits.
    for (const [, until = ''] of text.matchAll(/\{"waiting":\{"until":"([^"]+)","reason":"(?!pending)/g)) {
      const ms = Date.parse(until) - EPOCH - scheduler.now - process.machine.skewMs;
      if (ms > process.maxWaitMs + 2) this.violate(`waits for ${(ms / 1000).toFixed(1)} s, longer than --max-wait`);
      this.#checkUntil(process, 'a wait ends', scheduler.now + ms);
    }
  }

  // Checks a time from which a request is allowed, whichever process received the responses.
  #checkUntil({ machine, activeAt }: SimulatedProcess, what: string, at: number): void {
    const { scheduler, service } = this.#options;
    // A clock that has been set since the head of the last response differs from the one that determined the time.
    if (machine.jumps.some((jumpedAt) => jumpedAt >= activeAt - LONGEST_BODY_MS)) return;
    const { until, refusals } = this.#stated;
    const floor = refusals === 0 ? 0 : 1.1 * Math.min(60_000, 1000 * 2 ** (refusals - 1));
    const gapMs = service.manners.headers ? 0 : LONGEST_GAP_MS;
    const late = at - Math.max(scheduler.now + Math.max(floor, gapMs), until) - SLACK_MS;
    if (late > 0) this.violate(`${what} ${(late / 1000).toFixed(1)} s later than the service asks for`);
  }

  #seenBy(process: SimulatedProcess): Seen {
    const seen = this.#seen.get(process) ?? {
      ...{
        refusals: 0,
        errors: 0,
        firstLists: 0,
        lists: 0,
        failed: 0,
        row: 0,
        rowAt: -1,
        rowEnds: -1,
        pausedUntil: -1,
        forbidden: 0,
      },
      lost: new Map<string, number>(),
    };
    this.#seen.set(process, seen);
    return seen;
  }

  // Checks that no command gives up on another process sooner than --max-wait, waits for the service excluded.
  #checkPending(process: SimulatedProcess, err: string): void {
    if (!err.includes('waiting for another petstore process') || !/error.*timed out/.test(err)) return;
    const { now } = this.#options.scheduler;
    const waits = this.#waits.filter((wait) => wait.until <= now && this.#knows(process, wait));
    const since = Math.max(process.activeAt, process.startedAt, ...waits.map(({ until }) => until));
    if (now - since < 0.9 * process.maxWaitMs - NEWS_MS)
      this.violate(`waits for another process for ${((now - since) / 1000).toFixed(1)} s only`);
  }

  // Checks that exit code 5 follows from a wait longer than --max-wait, or from the last attempt.
  #checkLimited(process: SimulatedProcess, code: number, err: string): void {
    const { scheduler, calm, service } = this.#options;
    const { refusals, errors } = this.#seenBy(process);
    if (code !== 5 || !calm || !service.manners.headers || refusals + errors >= ATTEMPTS) return;
    const stated = durationIn(err);
    if (stated !== undefined && stated + SLACK_MS < process.maxWaitMs)
      this.violate(`exit code 5 at ${scheduler.now}, and the wait is shorter than --max-wait`);
  }

  // Checks that the service's statements and --max-wait explain the time since the last request or response.
  #checkIdle(process: SimulatedProcess, key: string, slackMs: number): void {
    const { scheduler, calm } = this.#options;
    const { now } = scheduler;
    if (!calm) return;
    const activeAt = process.activeAt < 0 ? process.startedAt : process.activeAt;
    const { at, refusals } = this.#due.get(key) ?? { at: 0, refusals: 0 };
    const floor = refusals === 0 ? 0 : 1.1 * Math.min(60_000, 1000 * 2 ** (refusals - 1));
    const latest = Math.max(activeAt + floor, at) + slackMs;
    if (now > latest) this.violate(`idle ${((now - latest) / 1000).toFixed(1)} s longer than the service asks for`);
  }

  // Checks that no wait is longer than --max-wait, whoever causes it: not a suspension, the prompt or another import.
  #checkPatience(process: SimulatedProcess, slackMs: number): void {
    const { scheduler, stateServer, calm } = this.#options;
    const { activeAt, startedAt, command, suspendedUntil, hasQuestion, creates, maxWaitMs } = process;
    const mayWaitForOthers = (command === 'import' && activeAt < 0) || (hasQuestion && creates === 0);
    if (!calm && (suspendedUntil > 0 || stateServer.troubled || mayWaitForOthers)) return;
    const idleMs = scheduler.now - (activeAt < 0 ? startedAt : activeAt);
    const longestMs = 1.1 * maxWaitMs + (command === 'import' ? slackMs : BACKOFF_MS);
    if (idleMs > longestMs) this.violate(`idle for longer than --max-wait`);
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
    const { troubledUntil, lostAt } = stateServer;
    // A process that ends hands its block over, if the state server is back.
    const isBack = !stateServer.outages.some(({ to }) => to > by.endedAt - NEWS_MS);
    const isHandedOver = by.endedAt >= 0 && process.startedAt > by.endedAt && lostAt < heardAt && isBack;
    if (isHandedOver) return true;
    const isShared = Math.min(heardAt, process.startedAt, by.startedAt) > troubledUntil;
    return isShared && !by.dead && by.suspendedUntil === 0 && scheduler.now - heardAt > NEWS_MS;
  }

  // Checks that the service's own limits refuse no request, if the process could know of them.
  #refusedByOwnLimit({ process }: ServiceRequest, excused: boolean): void {
    const { service, shared, machines, stateServer } = this.#options;
    const isAlone = machines === 1 || (shared && !stateServer.troubled);
    const { jumps, diskFailed } = process.machine;
    if (excused || !isAlone || !service.manners.headers || jumps.length > 0 || diskFailed) return;
    if (shared && stateServer.troubled) return;
    this.violate('more requests than the window allows');
  }

  /** Called after a command has ended. */
  ended(process: SimulatedProcess, { args, code, out, err }: Ended): void {
    for (const key of this.#options.keys) {
      if (out.includes(key) || err.includes(key)) this.violate(`a key in the output of ${args.join(' ')}`);
    }
    // The process may not have read the last outcomes.
    const isDoubtful = code === undefined || code === 9 || process.hasLostJournal;
    if (isDoubtful && process.command === 'import') this.#isUncertain = true;
    if (code === undefined) return;
    if (code === 1) this.violate(`internal error: ${err.trim()}`);
    this.#checkLimited(process, code, err);
    if (code === 5) this.#checkPending(process, err);
    this.#checkPatience(process, SLACK_MS + this.#options.slowestMs);
    this.#checkStorage(process, code, err);
    const statedMs = durationIn(err) ?? 0;
    // An hour and more is rounded up to a minute.
    const roundedMs = statedMs >= 3_600_000 ? 60_000 : 0;
    if (code === 5) this.#checkUntil(process, 'the hint ends', this.#options.scheduler.now + statedMs - roundedMs);
    this.#checkError(process, args.includes('--json'), code, out, err);
  }

  // Checks that an import gives up its lock only if it must, and then says so.
  #checkStorage(process: SimulatedProcess, code: number, err: string): void {
    const { scheduler, stateServer } = this.#options;
    const { suspendedUntil, hasLostJournal, startedAt } = process;
    const isTakenOver = err.includes('has taken over this import');
    if (isTakenOver && ![9, 130, 143].includes(code)) this.violate(`taken over, and the exit code is ${code}`);
    if (suspendedUntil > 0 || hasLostJournal) return;
    if (isTakenOver && !stateServer.troubled) this.violate('taken over, although it was never suspended');
    const awayMs = stateServer.outages
      .map(({ from, to }) => Math.min(to, scheduler.now) - Math.max(from, startedAt))
      .reduce((sum, ms) => sum + Math.max(0, ms), 0);
    // At the start, a server that is unavailable is an error at once.
    const hasMetIt = stateServer.outages.some(({ from, to }) => from <= startedAt + START_MS && startedAt <= to);
    const isAway = err.includes('cannot use state server') && !err.includes('keeps no data');
    if (code === 9 && isAway && !hasMetIt && awayMs < PATIENCE_MS)
      this.violate(`the state server was unavailable for ${awayMs} ms only, and the exit code is 9`);
  }

  #checkError(process: SimulatedProcess, json: boolean, code: number, out: string, err: string): void {
    // The user has answered no.
    if (code === 130 && err.includes('(y/N)') && !err.includes('interrupted')) return;
    // A prompt ended by Ctrl-C leaves a cursor sequence before the error.
    const lines = err
      .trim()
      .replaceAll(/.\[\d+G/gu, '\n')
      .split('\n');
    if (!json) {
      const has = lines.some((line) => line.startsWith('error: '));
      if (has !== (code !== 0)) this.violate(`exit code ${code}, and stderr says: ${err.trim()}`);
      return;
    }
    if (out !== '' && !isJson(out)) this.violate('stdout is not one JSON document');
    const kind = lines.map(kindOf).find((found) => found !== undefined);
    if (code === 0 ? kind !== undefined : !CODES[kind ?? '']?.includes(code)) {
      this.violate(`exit code ${code}, and error.kind is ${kind}`);
    }
    if (kind === 'interrupted') this.#checkOutcome(process, lines, out);
    this.#checkRetryAt(process, lines);
  }

  // docs/cli.md: an interrupted create may exist.
  #checkOutcome({ interrupted }: SimulatedProcess, lines: readonly string[], out: string): void {
    const isUnknown = lines.some((line) => line.includes('"outcome":"unknown"'));
    if (interrupted > 0 && !isUnknown)
      this.violate('a create was interrupted in flight, and its outcome is not unknown');
    const hasDoubts = interrupted > 0 || /"unknown":\s*\[\s*\{/.test(out);
    if (isUnknown && !hasDoubts) this.violate('the outcome is unknown, and no create was interrupted in flight');
  }

  #checkRetryAt(process: SimulatedProcess, lines: readonly string[]): void {
    const retryAt = /"retryAt":"([^"]+)"/.exec(lines.join('\n'))?.[1];
    if (retryAt !== undefined)
      this.#checkUntil(process, 'retryAt is', Date.parse(retryAt) - EPOCH - process.machine.skewMs);
  }

  /** Checks that no key is in a file, except in the profiles, or on the state server. */
  checkRecords(): void {
    for (const key of this.#options.keys) {
      for (const [path, bytes] of files()) {
        if (!path.includes('/config/') && bytes.includes(key)) this.violate(`a key in ${path}`);
      }
      if (this.#options.stateServer.dump().includes(key)) this.violate('a key on the state server');
    }
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function kindOf(line: string): string | undefined {
  return /^\{"error":\{"kind":"(\w+)"/.exec(line)?.[1];
}

/** @returns the wait that a hint states, in milliseconds */
export function durationIn(err: string): number | undefined {
  const text = /try again in ([^,"]+)/.exec(err)?.[1];
  if (text === undefined) return undefined;
  const units: Readonly<Record<string, number>> = {
    ms: 1,
    s: 1000,
    m: 60_000,
    h: 3_600_000,
    day: 86_400_000,
    days: 86_400_000,
  };
  return [...text.matchAll(/(\d+) ?(ms|s|m|h|days?)/g)].reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (units[unit] ?? 0),
    0,
  );
}
