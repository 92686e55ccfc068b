// Faults: drawn from the seed, injected at their moment, and counted by the state that they met.
import type { Machine, Scheduler, SimulatedProcess } from './scheduler.ts';
import type { ServiceFault } from './service.ts';
import type { StateServer } from './state-server.ts';
import type { Trace } from './trace.ts';

export type RequestFault =
  | ServiceFault
  | 'no-connection'
  | 'lost-request'
  | 'lost-response'
  | 'late-request'
  | 'very-late-request'
  | 'slow'
  | 'slow-refusal'
  | 'slow-response'
  | 'silent'
  | 'truncated'
  | 'doubled';
type ProcessFault = 'kill' | 'kill-writing' | 'suspend' | 'sleep' | 'interrupt';
type MachineFault = 'clock-jump' | 'disk-full' | 'power-failure' | 'journal-replaced';
type ServerFault = 'server-down' | 'server-hang' | 'server-flush' | 'server-evict' | 'server-restart';
export type FaultKind = RequestFault | ProcessFault | MachineFault | ServerFault | 'new-key';

/**
 * The requests or processes that a fault waits for; `owed`: the service may still process a create after its response;
 * `lost`: a create has ended without a response; `refused`: a stated wait has begun; `connecting`: a request is allowed,
 * and not sent yet.
 */
type Moment = 'create' | 'list' | 'first list' | 'lookup' | 'owed' | 'lost' | 'refused' | 'connecting' | 'any';

export interface Fault {
  readonly kind: FaultKind;
  /** The number of requests after which the fault waits for its moment. */
  readonly at: number;
  readonly moment: Moment;
  /** The number of requests, or a duration in milliseconds. */
  readonly amount: number;
}

const ANY_REQUEST: readonly RequestFault[] = [
  'no-connection',
  'lost-request',
  'slow',
  'silent',
  'truncated',
  'doubled',
  'refuse',
  'slow-refusal',
  'slow-response',
  'error-before',
  'unavailable',
];
const CREATES: readonly RequestFault[] = [
  'lost-response',
  'late-request',
  'error-after',
  'unavailable-after',
  'accepted-late',
  'gateway-timeout-late',
  'false-created',
  'garbage',
  'rejects',
  'truncated',
  'doubled',
  'lost-response',
  'silent',
  'late-request',
  'late-request',
  'very-late-request',
];
const LISTS: readonly RequestFault[] = [
  'aged-list',
  'aged-list',
  'cut-list',
  'cut-list',
  'cut-list',
  'empty-list',
  'html',
];
const ENDS: readonly ProcessFault[] = ['kill', 'kill-writing', 'interrupt', 'kill'];
const SERVERS: readonly ServerFault[] = [
  'server-down',
  'server-hang',
  'server-flush',
  'server-evict',
  'server-restart',
];
/** Longer than a command may wait for anything but the service. */
export const LONG_OUTAGE_MS = 3_600_000;
/** Faults that only an import is guaranteed to detect. */
const OF_IMPORTS = new Set<FaultKind>(['aged-list', 'cut-list', 'empty-list', 'false-created']);

/** Faults of one cause. A world draws from some of them only, so that its other checks stay exact and faults meet often. */
type Cause = 'service' | 'process' | 'pause' | 'machine' | 'server';

/**
 * Draws the faults of a world. Some are combined, so that one meets an outcome that another made uncertain.
 * @param longest the number of requests after which no fault begins to wait for its moment
 */
export function drawFaults(random: () => number, longest: number, causes: ReadonlySet<Cause>): Fault[] {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const time = (): number => Math.floor(random() ** 2 * longest);
  const few = (): number => 1 + Math.floor(random() ** 2 * 9);
  const ofCreate = (at = time()): Fault => ({ kind: pick(CREATES), at, moment: 'create', amount: few() });
  const ofList = (moment: Moment, at = time()): Fault => ({
    kind: pick(LISTS),
    at,
    moment,
    amount: 1 + Math.floor(random() * 4),
  });
  const end = (at = time()): Fault => ({
    kind: pick(ENDS),
    at,
    moment: pick(['create', 'create', 'list', 'any']),
    amount: 0,
  });
  const one = (kind: FaultKind, moment: Moment, amount: number, at = time()): Fault => ({ kind, at, moment, amount });
  const together = (draw: (at: number) => Fault[]): Fault[] => draw(time());
  const draws: readonly [cause: Cause, weight: number, draw: () => Fault[]][] = [
    ['service', 2, () => [one(pick(ANY_REQUEST), pick(['create', 'list', 'any']), few())]],
    ['service', 3, () => [ofCreate()]],
    ['service', 2, () => [ofList(pick(['first list', 'lookup']))]],
    ['service', 4, () => together((at) => [ofCreate(at), ofList('lookup', at)])],
    // A refusal while other requests are in flight, whose responses arrive later.
    [
      'service',
      4,
      () =>
        together((at) => [
          one(pick(['slow', 'slow-response']), 'create', 3, at),
          one(pick(['refuse', 'refuse', 'slow-refusal']), 'create', 2, at),
          one(pick(['slow', 'slow-response']), 'create', 3, at),
        ]),
    ],
    // A stale list, then two empty ones.
    [
      'service',
      2,
      () => together((at) => [one('cut-list', 'first list', 1, at), one('empty-list', 'first list', 2, at)]),
    ],
    // A late refusal that extends a wait while a probe is in flight.
    [
      'service',
      4,
      () =>
        together((at) => [
          one('slow-refusal', 'create', 2, at),
          one('refuse', 'create', 1, at),
          one(pick(['slow', 'slow-response']), 'create', 2, at),
        ]),
    ],
    ['service', 1, () => [one('very-late-request', 'create', 4)]],
    ['service', 2, () => [one('slow-response', 'create', 4)]],
    // Longer than any run tries.
    [
      'service',
      3,
      () => {
        const kinds = [
          'no-connection',
          'lost-request',
          'lost-request',
          'refuse',
          'refuse',
          'error-before',
          'silent',
        ] as const;
        return [one(pick(kinds), pick(['create', 'create', 'list', 'any']), 8 + Math.floor(random() ** 2 * 40))];
      },
    ],
    [
      'service',
      2,
      () =>
        together((at) => [
          one(pick(['lost-response', 'silent', 'slow']), 'create', 1, at),
          one('forbids', 'create', 14, at),
        ]),
    ],
    [
      'service',
      2,
      () =>
        together((at) => [
          one('lost-response', 'create', 2, at),
          one('lost-request', 'create', 2, at),
          one('no-connection', 'create', 2, at),
        ]),
    ],
    ['service', 1, () => [one('new-key', pick(['create', 'any']), 1)]],
    ['process', 2, () => [end()]],
    // Kills a process during the first write of the world.
    ['process', 2, () => [one('kill-writing', 'any', 0, 0)]],
    [
      'process',
      2,
      () =>
        together((at) => [
          one(pick(['accepted-late', 'gateway-timeout-late']), 'create', 4, at),
          one('kill', 'owed', 0, at),
          one('kill', 'owed', 0, at),
        ]),
    ],
    ['process', 4, () => together((at) => [ofCreate(at), end(at), ofList('first list', at)])],
    ['process', 4, () => together((at) => [one('slow', 'create', 8, at), { ...end(at), moment: 'create' }])],
    ['pause', 2, () => [one('suspend', pick(['create', 'list', 'any']), Math.floor(random() ** 2 * 120_000))]],
    // So long that another machine takes over.
    [
      'pause',
      3,
      () => [one('suspend', pick(['create', 'connecting', 'any']), 65_000 + Math.floor(random() * 100_000))],
    ],
    // The whole machine; its monotonic clock stops meanwhile.
    ['pause', 2, () => [one('sleep', pick(['connecting', 'any']), 5000 + Math.floor(random() * 120_000))]],
    [
      'pause',
      4,
      () =>
        together((at) => [
          one(pick(['sleep', 'suspend']), 'connecting', 4000 + Math.floor(random() * 20_000), at),
          one('refuse', 'any', 8, at),
        ]),
    ],
    ['machine', 2, () => [one('clock-jump', pick(['create', 'any']), Math.floor((random() - 0.5) * 7_200_000))]],
    [
      'machine',
      2,
      () =>
        together((at) => [
          one('refuse', 'any', 2, at),
          one('clock-jump', 'refused', Math.floor((random() - 0.7) * 7_200_000), at),
        ]),
    ],
    ['machine', 1, () => [one('disk-full', pick(['create', 'any']), Math.floor(random() * 60_000))]],
    [
      'machine',
      8,
      () =>
        together((at) => [
          one(pick(['slow', 'slow', 'slow', 'late-request', 'gateway-timeout-late']), 'create', 8, at),
          one('power-failure', pick(['create', 'owed', 'lost']), 0, at),
        ]),
    ],
    ['machine', 6, () => [one('journal-replaced', pick(['create', 'connecting', 'any']), 0)]],
    ['server', 4, () => [one('false-created', 'create', few())]],
    [
      'server',
      6,
      () =>
        together((at) => [
          one(pick(['lost-response', 'error-after', 'gateway-timeout-late']), 'create', 3, at),
          one('server-restart', pick(['lost', 'owed']), 0, at),
          ...(random() < 0.4 ? [one('kill', pick(['lost', 'owed']), 0, at)] : []),
        ]),
    ],
    [
      'server',
      5,
      () =>
        together((at) => [
          one('slow', 'create', 3, at),
          one('refuse', 'any', 2, at),
          one(pick(['server-down', 'server-down', 'server-restart', 'server-flush']), 'refused', 8000, at),
        ]),
    ],
    // A refusal that the state server does not receive.
    [
      'server',
      6,
      () =>
        together((at) => [
          one(pick(['server-down', 'server-hang']), 'any', 2000 + Math.floor(random() * 10_000), at),
          one('refuse', 'any', 3, at),
        ]),
    ],
    ['server', 3, () => [one('server-down', 'any', LONG_OUTAGE_MS)]],
    ['server', 6, () => [one(pick(SERVERS), pick(['create', 'create', 'any']), Math.floor(random() ** 3 * 15_000))]],
  ];
  const urn = draws
    .filter(([cause]) => causes.has(cause) && random() < 0.6)
    .flatMap(([, weight, draw]) => Array.from({ length: weight }, () => draw));
  const count = urn.length === 0 || random() < 0.1 ? 0 : 2 + Math.floor(random() * 8);
  const drawn = Array.from({ length: count }, () => pick(urn)()).flat();
  // Keep at most two empty lists, since a list that stays empty for 6 s counts as another account (docs/import.md).
  const kept = drawn.find(({ kind }) => kind === 'empty-list');
  const firewall = drawn.find(({ kind }) => kind === 'forbids');
  return drawn.flatMap((fault) => {
    if (fault.kind === 'forbids') return fault === firewall ? [fault] : [];
    return fault.kind !== 'empty-list'
      ? [fault]
      : fault === kept
        ? [{ ...fault, amount: Math.min(2, fault.amount) }]
        : [];
  });
}

interface Hooks {
  readonly scheduler: Scheduler;
  readonly trace: Trace;
  readonly stateServer: StateServer;
  readonly machines: readonly Machine[];
  readonly running: () => readonly SimulatedProcess[];
  readonly kill: (process: SimulatedProcess) => void;
  readonly cutPower: (machine: Machine) => void;
  readonly replaceJournals: (machine: Machine) => void;
  readonly renewKey: () => void;
  readonly violate: (what: string) => void;
  /** Called after the journals on the server may have been lost. */
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
    const isRequest = ({ kind }: Fault): boolean =>
      [...ANY_REQUEST, ...CREATES, ...LISTS, 'forbids'].includes(kind as RequestFault);
    this.#requests = faults.filter(isRequest).map((fault) => ({ fault, left: fault.amount }));
    this.#others = faults.filter((fault) => !isRequest(fault));
  }

  /** @returns the fault of a request that is about to be sent */
  onRequest(process: SimulatedProcess, kind: 'create' | 'list'): RequestFault | undefined {
    const { scheduler } = this.#hooks;
    this.#sent++;
    const which = kind === 'create' ? kind : process.creates === 0 ? 'first list' : 'lookup';
    const found = this.#requests.find(
      ({ fault, left }) =>
        left > 0 &&
        this.#sent > fault.at &&
        (fault.moment === 'any' || fault.moment === kind || fault.moment === which) &&
        (process.command === 'import' || !OF_IMPORTS.has(fault.kind)),
    );
    // One request in five gets through.
    if (!found || scheduler.random() < 0.2) return undefined;
    found.left--;
    this.#met(found.fault.kind, `${which} of ${process.command}`);
    return found.fault.kind as RequestFault;
  }

  /** Injects each fault whose moment has come; called after every step. @returns whether a fault was injected */
  inject(): boolean {
    const { scheduler } = this.#hooks;
    const before = this.#others.length;
    this.#others = this.#others.filter((fault) => {
      if (this.#sent < fault.at) return true;
      // Without the latest records, a suspended run that has lost the lock would take it back.
      const isAsleep = this.#hooks.running().some(({ suspendedUntil }) => suspendedUntil > scheduler.now);
      if (/^server-(?:restart|flush|evict)$/.test(fault.kind) && isAsleep) return true;
      const victims = this.#hooks
        .running()
        .filter((one) => one.suspendedUntil <= scheduler.now && one.sparedUntil < scheduler.now)
        .filter((one) => isMoment(fault, one, scheduler.now));
      if (victims.length === 0) return true;
      // The state server fails before or after the program has recorded the refusal.
      if (fault.moment === 'refused' && scheduler.random() < 0.7) return true;
      const victim = victims[Math.floor(scheduler.random() * victims.length)] as SimulatedProcess;
      const isSpared = (one: SimulatedProcess): boolean =>
        one.machine === victim.machine && one.sparedUntil >= scheduler.now;
      if (fault.kind === 'power-failure' && this.#hooks.running().some(isSpared)) return true;
      this.#inject(fault, victim);
      return false;
    });
    return this.#others.length < before;
  }

  #inject({ kind, amount }: Fault, victim: SimulatedProcess): void {
    const { scheduler, trace, stateServer, kill, cutPower, replaceJournals, renewKey, onServerLoss } = this.#hooks;
    this.#met(kind, `${stateOf(victim)} of ${victim.command}`);
    trace.add(victim, `*** ${kind} (${stateOf(victim)})`);
    const { machine } = victim;
    if (kind === 'kill') kill(victim);
    if (kind === 'kill-writing') victim.diesWriting = true;
    if (kind === 'suspend') victim.suspendedUntil = scheduler.now + amount;
    if (kind === 'sleep') {
      for (const one of this.#hooks.running().filter((one) => one.machine === machine)) {
        one.suspendedUntil = Math.max(one.suspendedUntil, scheduler.now + amount);
        one.sleptMs += amount;
      }
    }
    if (kind === 'power-failure') cutPower(machine);
    if (kind === 'journal-replaced') replaceJournals(machine);
    if (kind === 'interrupt') victim.onInterrupt();
    if (kind === 'new-key') renewKey();
    if (kind === 'clock-jump') {
      machine.skewMs += amount;
      machine.jumps.push(scheduler.now);
    }
    if (kind === 'disk-full') {
      machine.freeBytes = Math.floor(scheduler.random() * 300);
      scheduler.after(Math.abs(amount) % 60_000, undefined, () => {
        machine.freeBytes = Number.POSITIVE_INFINITY;
      });
    }
    if (kind === 'server-down') {
      stateServer.goDown(amount);
      if (amount === LONG_OUTAGE_MS) this.#expectNoneWaits(amount);
    }
    if (kind === 'server-hang') stateServer.hang(amount);
    if (kind === 'server-flush') stateServer.flush();
    if (kind === 'server-evict') stateServer.evict();
    if (kind === 'server-restart') stateServer.restart();
    if (kind === 'server-flush' || kind === 'server-evict' || kind === 'server-restart') onServerLoss();
  }

  // No command waits for a server that is away.
  #expectNoneWaits(amount: number): void {
    const { scheduler, running, violate } = this.#hooks;
    const before = running().filter(({ maxWaitMs, suspendedUntil }) => maxWaitMs < amount / 2 && suspendedUntil === 0);
    scheduler.after(amount, undefined, () => {
      if (before.some(({ dead }) => !dead)) violate('a command waits for the state server');
    });
  }

  #met(kind: FaultKind, state: string): void {
    const cell = `${kind} × ${state}`;
    this.coverage.set(cell, (this.coverage.get(cell) ?? 0) + 1);
  }
}

function isMoment({ moment }: Fault, process: SimulatedProcess, now: number): boolean {
  const { inFlight, owed, lost, refusedUntil, connecting } = process;
  if (moment === 'any') return true;
  if (moment === 'lost') return lost > 0;
  if (moment === 'refused') return refusedUntil > now + 6000;
  if (moment === 'owed') return owed > 0;
  if (moment === 'connecting') return connecting > 0;
  return inFlight[moment === 'create' ? 'create' : 'list'] > 0;
}

function stateOf({ inFlight, activeAt }: SimulatedProcess): string {
  if (inFlight.create > 0) return 'create in flight';
  if (inFlight.list > 0) return 'list in flight';
  return activeAt < 0 ? 'start' : 'between requests';
}
