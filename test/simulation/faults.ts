// Faults: drawn from the seed, injected at their moment, and counted by the state that they met.
import type { Machine, Scheduler, SimulatedProcess } from './scheduler.ts';
import type { StateServer } from './state-server.ts';
import type { Trace } from './trace.ts';

const ANY_REQUEST =
  'no-connection lost-request slow silent truncated doubled refuse slow-refusal slow-response error-before unavailable';
const CREATES =
  'lost-response late-request error-after unavailable-after accepted-late gateway-timeout-late false-created garbage ' +
  'rejects truncated doubled unavailable-after silent late-request late-request very-late-request';
const LISTS = 'aged-list aged-list cut-list cut-list cut-list empty-list html';
const LATE = 'accepted-late gateway-timeout-late';
const DELAYED = 'slow slow-response';
const ENDS = 'kill kill-writing interrupt kill';
const FAILING = 'no-connection lost-request lost-request refuse refuse error-before silent';
const FEW = [1, 9] as const;

/** The faults that wait for a request; the others of the table wait for a state of a process. */
const OF_REQUESTS = new Set(`${ANY_REQUEST} ${CREATES} ${LISTS} forbids created-twice`.split(' '));
/** Faults that only an import is guaranteed to detect. */
const OF_IMPORTS = new Set(['aged-list', 'cut-list', 'empty-list', 'false-created']);
/** Longer than a command may wait for anything but the service. */
const LONG_OUTAGE_MS = 3_600_000;

/** Faults of one cause. A world draws from some of them only, so that its other checks stay exact and faults meet often. */
export type Cause = 'service' | 'process' | 'server' | 'clock';

/**
 * The request or process that a fault waits for. `first`, `lookup`: a list before or after the first create; `owed`: the
 * service may still process a create after its response; `lost`: a create has ended without a response; `refused`: a stated
 * wait has begun; `connecting`: a request is allowed, and not sent yet;
 * `contended`: a create is allowed, and another import waits for the lock;
 * `asleep`: another process is suspended.
 */
type Moment =
  | 'create'
  | 'list'
  | 'first'
  | 'lookup'
  | 'owed'
  | 'lost'
  | 'refused'
  | 'connecting'
  | 'contended'
  | 'asleep'
  | 'any';

/** One of the kinds at one of the moments; `amount` is the number of requests, or milliseconds, or the least and the most. */
type Draw = readonly [kinds: string, moments: string, amount?: number | readonly [number, number]];

/** Faults that are injected together, so that one meets what another made uncertain. */
const TABLE: readonly (readonly [cause: Cause, weight: number, ...draws: Draw[]])[] = [
  ['service', 2, [ANY_REQUEST, 'create list any', FEW]],
  ['service', 3, [CREATES, 'create', FEW]],
  ['service', 2, [LISTS, 'first lookup', [1, 4]]],
  ['service', 4, [CREATES, 'create', FEW], [LISTS, 'lookup', [1, 4]]],
  // A refusal while other requests are in flight, whose responses arrive later.
  ['service', 4, [DELAYED, 'create', 3], ['refuse refuse slow-refusal', 'create', 2], [DELAYED, 'create', 3]],
  // A late refusal that extends a wait while a probe is in flight.
  ['service', 4, ['slow-refusal', 'create', 2], ['refuse', 'create', 1], [DELAYED, 'create', 2]],
  // A stale list, then two empty ones.
  ['service', 2, ['cut-list', 'first', 1], ['empty-list', 'first', 2]],
  ['service', 1, ['very-late-request', 'create', 4]],
  ['service', 2, ['slow-response', 'create', 4]],
  // Longer than any run tries.
  ['service', 3, [FAILING, 'create create list any', [8, 48]]],
  // More often than a row is sent again.
  ['service', 3, ['lost-request', 'create', 40]],
  ['service', 2, ['error-after', 'create', 9]],
  ['service', 3, ['refuse', 'create', 12]],
  ['service', 2, ['lost-response silent slow', 'create', 1], ['forbids', 'create', 14]],
  ['service', 2, ['lost-response', 'create', 2], ['lost-request', 'create', 2], ['no-connection', 'create', 2]],
  ['service', 1, ['new-key', 'create any']],
  ['process', 2, [ENDS, 'create create list any']],
  ['process', 4, [CREATES, 'create', FEW], [ENDS, 'create list any'], [LISTS, 'first', [1, 4]]],
  ['process', 4, ['slow', 'create', 8], [ENDS, 'create']],
  ['process', 2, [LATE, 'create', 4], ['kill', 'owed'], ['kill', 'owed']],
  // So long that another machine takes over.
  ['process', 3, ['suspend', 'create connecting any', [65_000, 165_000]]],
  // A refusal that the suspended process must know of before it sends its request.
  ['process', 5, ['suspend', 'connecting', [2000, 8000]], ['refuse', 'asleep', 2]],
  ['process', 4, ['suspend', 'contended', [65_000, 165_000]]],
  ['process', 2, ['disk-full', 'create any', [1000, 60_000]]],
  // A process that dies after the seal of a log, while others have it open.
  ['process', 4, ['kill-rotating', 'create list any'], ['kill-rotating kill-writing', 'create any']],
  // Records that the server loses while older ones stay.
  ['server', 6, ['slow', 'create', 3], ['refuse', 'any', 2], ['server-rollback', 'refused', [500, 5000]]],
  ['server', 4, ['false-created', 'create', FEW]],
  ['server', 6, [`lost-response error-after ${LATE}`, 'create', 3], ['server-flush kill', 'lost owed']],
  ['server', 5, ['slow', 'create', 3], ['refuse', 'any', 2], ['server-down server-flush', 'refused', [8000, 90_000]]],
  // A refusal that the state server does not receive.
  ['server', 6, ['server-down server-hang', 'any', [2000, 12_000]], ['refuse', 'any', 3]],
  ['server', 3, ['server-down', 'any', LONG_OUTAGE_MS]],
  ['server', 6, ['server-down server-hang server-flush', 'create create any', [100, 15_000]]],
  ['clock', 4, ['clock-jump', 'create any', [-3_600_000, 3_600_000]]],
  ['clock', 2, ['refuse', 'any', 2], ['clock-jump', 'refused', [-5_000_000, 2_200_000]]],
];

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
      // Few requests and short times are more frequent, except for a clock that is set.
      const share = least < 0 ? random() : random() ** 2;
      const amount = Math.floor(least + share * (most - least + 1));
      return { kind: pick(kinds.split(' ')), at, moment: pick(moments.split(' ')) as Moment, amount };
    });
  }).flat();
}

interface Hooks {
  readonly scheduler: Scheduler;
  readonly trace: Trace;
  readonly stateServer: StateServer;
  readonly running: () => readonly SimulatedProcess[];
  readonly kill: (process: SimulatedProcess) => void;
  readonly renewKey: () => void;
  readonly onClockSet: (machine: Machine) => void;
  readonly violate: (what: string) => void;
  /** Called after the locks on the server were lost. */
  readonly onServerLoss: () => void;
}

/** How often each fault met each state, for example `kill × create in flight of import`. */
export type Coverage = Map<string, number>;

export class Faults {
  readonly coverage: Coverage = new Map();
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

  /** @returns the fault of a request that is about to be sent */
  onRequest(process: SimulatedProcess, kind: 'create' | 'list'): string | undefined {
    this.#sent++;
    const which = kind === 'create' ? kind : process.creates === 0 ? 'first' : 'lookup';
    const sleeps = this.#hooks.running().some((one) => one !== process && this.#isAsleep(one));
    const moments: readonly Moment[] = ['any', kind, which, ...(sleeps ? (['asleep'] as const) : [])];
    const found = this.#requests.find(
      ({ fault, left }) =>
        left > 0 &&
        this.#sent > fault.at &&
        moments.includes(fault.moment) &&
        (process.command === 'import' || !OF_IMPORTS.has(fault.kind)),
    );
    // One request in five gets through.
    if (!found || this.#hooks.scheduler.random() < 0.2) return undefined;
    found.left--;
    this.#count(found.fault.kind, `${which} of ${process.command}`);
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
      // A suspended run that has lost the lock without a record would take it back.
      if (isLoss(fault.kind) && running().some((one) => this.#isAsleep(one))) return true;
      const victims = running()
        .filter((one) => !this.#isAsleep(one) && one.sparedUntil < scheduler.now)
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
    const { scheduler, trace, stateServer, kill, renewKey, onClockSet, onServerLoss } = this.#hooks;
    this.#count(kind, `${stateOf(victim)} of ${victim.command}`);
    trace.add(victim, `*** ${kind} (${stateOf(victim)})`);
    const { machine } = victim;
    if (kind === 'kill') kill(victim);
    if (kind === 'kill-writing') victim.diesWriting = true;
    if (kind === 'kill-rotating') victim.diesRotating = true;
    if (kind === 'suspend') victim.suspendedUntil = scheduler.now + amount;
    if (kind === 'interrupt') victim.onInterrupt();
    if (kind === 'new-key') renewKey();
    if (kind === 'clock-jump') {
      machine.skewMs += amount;
      machine.jumps.push(scheduler.now);
      onClockSet(machine);
    }
    if (kind === 'disk-full') {
      machine.wasFull = true;
      machine.freeBytes = Math.floor(scheduler.random() * 300);
      scheduler.after(amount, undefined, () => {
        machine.freeBytes = Number.POSITIVE_INFINITY;
      });
    }
    if (kind === 'server-down') stateServer.goDown(amount);
    if (kind === 'server-hang') stateServer.hang(amount);
    if (isLoss(kind)) {
      stateServer.lose(kind === 'server-flush' ? Number.POSITIVE_INFINITY : amount);
      onServerLoss();
    }
    if (amount >= LONG_OUTAGE_MS && kind === 'server-down') this.#expectNoneWaits(amount);
  }

  // No command waits for a server that is unavailable.
  #expectNoneWaits(amount: number): void {
    const { scheduler, running, violate } = this.#hooks;
    const before = running().filter(({ maxWaitMs, suspendedUntil }) => maxWaitMs < amount / 2 && suspendedUntil === 0);
    scheduler.after(amount, undefined, () => {
      if (before.some(({ dead }) => !dead)) violate('a command waits for the state server');
    });
  }

  #count(kind: string, state: string): void {
    const cell = `${kind} × ${state}`;
    this.coverage.set(cell, (this.coverage.get(cell) ?? 0) + 1);
  }
}

function isLoss(kind: string): boolean {
  return kind === 'server-flush' || kind === 'server-rollback';
}

function isMoment(
  { moment }: Fault,
  process: SimulatedProcess,
  running: readonly SimulatedProcess[],
  now: number,
): boolean {
  const { inFlight, owed, lost, refusedUntil, connecting, creates, command } = process;
  if (moment === 'any') return true;
  if (moment === 'lost') return lost > 0;
  if (moment === 'refused') return refusedUntil > now + 6000;
  if (moment === 'owed') return owed > 0;
  if (moment === 'connecting') return connecting > 0;
  if (moment === 'contended')
    return (
      command === 'import' &&
      creates > 0 &&
      connecting > 0 &&
      running.some((one) => one !== process && one.command === 'import')
    );
  return inFlight[moment === 'create' ? 'create' : 'list'] > 0;
}

function stateOf({ inFlight, activeAt }: SimulatedProcess): string {
  if (inFlight.create > 0) return 'create in flight';
  if (inFlight.list > 0) return 'list in flight';
  return activeAt < 0 ? 'start' : 'between requests';
}
