// Faults: drawn from the seed, and injected at their moment.
import type { Scheduler, SimulatedProcess } from './scheduler.ts';
import type { StateServer } from './state-server.ts';

const FAILURES = 'no-connection lost-request slow slow-response silent truncated error-before unavailable';
const REFUSALS = 'refuse slow-refusal';
const UNKNOWN_OUTCOMES = 'lost-response late-request silent truncated error-after unavailable-after accepted-late';
const DELAYED = 'slow slow-response';
const ENDS = 'kill kill-writing interrupt kill';
const FEW = [1, 9] as const;

/** The faults of requests; the others of the table are faults of a process, the state server or a clock. */
const OF_REQUESTS = new Set(`${FAILURES} ${REFUSALS} ${UNKNOWN_OUTCOMES} created-twice`.split(' '));

/** The cause of a fault. A world draws only some, so that its faults coincide more often and its other checks stay exact. */
export type Cause = 'service' | 'process' | 'server' | 'clock';

/**
 * The request or process that a fault waits for. `owed`: a create will be processed after its response; `lost`: a create has
 * ended without a response; `refused`: a stated wait has more than 6 s left; `connecting`: a request is allowed, and not sent
 * yet; `contended`: the same for an import that has sent creates, while another runs; `asleep`: another process is suspended.
 */
type Moment = 'create' | 'list' | 'owed' | 'lost' | 'refused' | 'connecting' | 'contended' | 'asleep' | 'any';

/** One of the kinds at one of the moments; `amount` is the number of requests, or milliseconds, or their minimum and maximum. */
type Draw = readonly [kinds: string, moments: string, amount?: number | readonly [number, number]];

/** Each row: faults that are drawn together, so that one strikes while the effect of another is uncertain. */
const TABLE: readonly (readonly [cause: Cause, weight: number, ...draws: Draw[]])[] = [
  ['service', 4, [`${FAILURES} ${REFUSALS}`, 'create list any', FEW]],
  ['service', 4, [UNKNOWN_OUTCOMES, 'create', FEW]],
  // A refusal while other requests are in flight; their responses arrive later.
  ['service', 4, [DELAYED, 'create', 3], [REFUSALS, 'create', 2], [DELAYED, 'create', 3]],
  // A late refusal that extends a wait while a probe is in flight.
  ['service', 4, ['slow-refusal', 'create', 2], ['refuse', 'create', 1], [DELAYED, 'create', 2]],
  // More faults than a request has attempts.
  ['service', 3, [`${FAILURES} refuse refuse`, 'create create list any', [8, 48]]],
  ['process', 2, [ENDS, 'create create list any']],
  ['process', 4, [UNKNOWN_OUTCOMES, 'create', FEW], [ENDS, 'create list any']],
  ['process', 4, ['slow', 'create', 8], [ENDS, 'create']],
  ['process', 2, ['accepted-late', 'create', 4], ['kill', 'owed'], ['kill', 'owed']],
  // Long enough for another machine to take over.
  ['process', 6, ['suspend', 'create connecting contended', [65_000, 165_000]]],
  // A refusal that the suspended process must know about before it sends its request.
  ['process', 10, ['suspend', 'connecting', [2000, 4900]], ['refuse', 'asleep', 3]],
  // A process that dies while it rotates a log that others have open.
  ['process', 4, ['kill-rotating', 'create list any'], ['kill-rotating kill-writing', 'create any']],
  // Records that the server loses while older ones stay.
  ['server', 8, [DELAYED, 'create', 3], ['refuse', 'create', 2], ['server-rollback', 'refused', [500, 5000]]],
  ['server', 8, ['slow', 'create', 3], ['server-rollback', 'contended', [500, 15_000]]],
  ['server', 6, ['lost-response error-after accepted-late', 'create', 3], ['server-flush kill', 'lost owed']],
  ['server', 5, ['slow', 'create', 3], ['refuse', 'any', 2], ['server-down server-flush', 'refused', [8000, 90_000]]],
  // A refusal that the state server does not receive.
  ['server', 6, ['server-down server-hang', 'any', [2000, 12_000]], ['refuse', 'any', 3]],
  ['server', 6, ['server-down server-hang server-flush', 'create create any', [100, 15_000]]],
  ['clock', 4, ['clock-set-back', 'create any', [1000, 3_600_000]]],
  ['clock', 2, ['refuse', 'any', 2], ['clock-set-back', 'refused', [1000, 5_000_000]]],
];

export const KINDS = new Set(TABLE.flatMap(([, , ...draws]) => draws.flatMap(([kinds]) => kinds.split(' '))));

export interface Fault {
  readonly kind: string;
  /** The number of requests after which the fault waits for its moment. */
  readonly at: number;
  readonly moment: Moment;
  readonly amount: number;
}

/** @param longest the number of requests after which no fault begins to wait for its moment */
export function drawFaults(random: () => number, longest: number, causes: ReadonlySet<Cause>): Fault[] {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const rows = TABLE.filter(([cause]) => causes.has(cause) && random() < 0.6);
  const urn = rows.flatMap((row) => Array<(typeof TABLE)[number]>(row[1]).fill(row));
  const count = urn.length === 0 || random() < 0.1 ? 0 : 2 + Math.floor(random() * 8);
  return Array.from({ length: count }, () => {
    const [, , ...together] = pick(urn);
    const at = Math.floor(random() ** 2 * longest);
    return together.map(([kinds, moments, limits = 0]): Fault => {
      const [least, most] = typeof limits === 'number' ? [limits, limits] : limits;
      // Small numbers of requests and short times are more likely.
      const amount = Math.floor(least + random() ** 2 * (most - least + 1));
      return { kind: pick(kinds.split(' ')), at, moment: pick(moments.split(' ')) as Moment, amount };
    });
  }).flat();
}

interface Hooks {
  readonly scheduler: Scheduler;
  readonly stateServer: StateServer;
  readonly running: () => readonly SimulatedProcess[];
  readonly kill: (process: SimulatedProcess) => void;
  /** Called after the server has lost locks. */
  readonly onServerLoss: () => void;
}

export class Faults {
  /** The number of times that each kind was injected. */
  readonly injected: Record<string, number> = {};
  readonly #hooks: Hooks;
  /** The faults that wait for requests, with the number of requests left. */
  readonly #requests: { readonly fault: Fault; left: number }[];
  #others: Fault[];
  #sent = 0;

  constructor(faults: readonly Fault[], hooks: Hooks) {
    this.#hooks = hooks;
    const isRequest = ({ kind }: Fault): boolean => OF_REQUESTS.has(kind);
    this.#requests = faults.filter(isRequest).map((fault) => ({ fault, left: fault.amount }));
    this.#others = faults.filter((fault) => !isRequest(fault));
  }

  /** @returns the kind of fault of a request that is about to be sent */
  onRequest(process: SimulatedProcess, kind: 'create' | 'list'): string | undefined {
    this.#sent++;
    const sleeps = this.#hooks.running().some((one) => one !== process && this.#isAsleep(one));
    const moments: readonly Moment[] = ['any', kind, ...(sleeps ? (['asleep'] as const) : [])];
    const found = this.#requests.find(
      ({ fault, left }) => left > 0 && this.#sent > fault.at && moments.includes(fault.moment),
    );
    // One request in five gets through.
    if (!found || this.#hooks.scheduler.random() < 0.2) return undefined;
    found.left--;
    this.#count(found.fault.kind);
    return found.fault.kind;
  }

  #isAsleep({ suspendedUntil }: SimulatedProcess): boolean {
    return suspendedUntil > this.#hooks.scheduler.now;
  }

  /** Injects each fault whose moment has come; called after every step. @returns whether a fault was injected */
  inject(): boolean {
    const { scheduler, running } = this.#hooks;
    const before = this.#others.length;
    this.#others = this.#others.filter((fault) => {
      if (this.#sent < fault.at) return true;
      // A suspended run would later take back a lock that the server has lost, since no record shows the loss.
      if (isLoss(fault.kind) && running().some((one) => this.#isAsleep(one))) return true;
      const victims = running()
        .filter((one) => !this.#isAsleep(one))
        .filter((one) => isMoment(fault, one, running(), scheduler.now));
      if (victims.length === 0) return true;
      // The state server fails before or after the program has recorded the refusal.
      if (fault.moment === 'refused' && scheduler.random() < 0.7) return true;
      this.#inject(fault, victims[Math.floor(scheduler.random() * victims.length)] as SimulatedProcess);
      return false;
    });
    return this.#others.length < before;
  }

  #inject({ kind, amount }: Fault, victim: SimulatedProcess): void {
    const { scheduler, stateServer, kill, onServerLoss } = this.#hooks;
    this.#count(kind);
    scheduler.note(victim, `*** ${kind}`);
    if (kind === 'kill') kill(victim);
    if (kind === 'kill-writing') victim.diesWriting = true;
    if (kind === 'kill-rotating') victim.diesRotating = true;
    if (kind === 'suspend') victim.suspendedUntil = scheduler.now + amount;
    if (kind === 'interrupt') victim.onInterrupt();
    if (kind === 'clock-set-back') {
      victim.machine.skewMs -= amount;
      victim.machine.setAt = scheduler.now;
    }
    if (kind === 'server-down') stateServer.goDown(amount);
    if (kind === 'server-hang') stateServer.hang(amount);
    if (isLoss(kind)) {
      stateServer.lose(kind === 'server-flush' ? Number.POSITIVE_INFINITY : amount);
      onServerLoss();
    }
  }

  #count(kind: string): void {
    this.injected[kind] = (this.injected[kind] ?? 0) + 1;
  }
}

function isLoss(kind: string): boolean {
  return kind === 'server-flush' || kind === 'server-rollback';
}

function isMoment({ moment }: Fault, one: SimulatedProcess, all: readonly SimulatedProcess[], now: number): boolean {
  if (moment === 'any') return true;
  if (moment === 'lost') return one.lost > 0;
  if (moment === 'refused') return one.refusedUntil > now + 6000;
  if (moment === 'owed') return one.owed > 0;
  if (moment === 'connecting') return one.connecting > 0;
  if (moment === 'contended') {
    const isContended = all.some((other) => other !== one && other.command === 'import');
    return one.command === 'import' && one.creates > 0 && one.connecting > 0 && isContended;
  }
  return one.inFlight[moment === 'create' ? 'create' : 'list'] > 0;
}
