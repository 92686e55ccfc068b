// The scenarios of the benchmark, and the clients that take part in each.
import type { LimitServerOptions } from './limit-server.ts';
import type { Peer } from './limits-peers.ts';
import { PEERS } from './limits-peers.ts';
import type { Race } from './limits-race.ts';

/** One scenario; a client that cannot take part has no races. */
export interface Scenario {
  readonly letter: string;
  readonly title: string;
  /** True if another client uses the key, so that 429s cannot always be avoided. */
  readonly foreign?: boolean;
  /** Number of creates that the service admits; by default all. */
  readonly possible?: number;
  races(peer: Peer): readonly Race[];
}

// 60 requests per minute, ten times as fast.
const FAST: LimitServerOptions = { mode: 'fixed', limit: 60, windowMs: 6000, latencyMs: 10, reset: 'ceil' };
const REAL: LimitServerOptions = { mode: 'fixed', limit: 60, windowMs: 60_000, latencyMs: 40, reset: 'ceil' };
const LIBRARIES = new Set<Peer>(PEERS.filter((peer) => peer !== 'curl'));

const ours = (peer: Peer, races: readonly Omit<Race, 'peer'>[]): readonly Race[] =>
  peer === 'petstore' ? races.map((race) => ({ ...race, peer })) : [];
const libraries = (peer: Peer, race: Omit<Race, 'peer'>): readonly Race[] =>
  LIBRARIES.has(peer) ? [{ ...race, peer }] : [];

const one = { requests: 300, processes: 1, workers: 8 };
const eight = { requests: 300, processes: 8, workers: 1 };
const dayEndsAt = Date.now() + 9 * 3_600_000;
const DAY: LimitServerOptions = { ...FAST, reports: 'tightest', daily: { limit: 150, endsAt: dayEndsAt } };
const BANS: LimitServerOptions = { ...FAST, ban: { after: 3, forMs: 20_000 } };

function scenario(
  letter: string,
  title: string,
  races: Scenario['races'],
  more: Pick<Scenario, 'foreign' | 'possible'> = {},
): Scenario {
  return { letter, title, races, ...more };
}

export const SCENARIOS: readonly Scenario[] = [
  scenario('A', '1 process, 8 workers', (peer) => libraries(peer, { ...one, service: FAST })),
  scenario('B', '8 processes', (peer) => libraries(peer, { ...eight, service: FAST })),
  scenario('C', 'a process per request, xargs -P 8', (peer) => {
    const service = { ...FAST, limit: 20, windowMs: 10_000 };
    const takesPart = peer === 'petstore' || peer === 'curl';
    return takesPart ? [{ ...eight, peer, requests: 80, perRequest: true, service }] : [];
  }),
  scenario('D', '300 at once in one process', (peer) => libraries(peer, { ...one, workers: 300, service: FAST })),
  scenario('E', 'two hosts, one key', (peer) => ours(peer, [{ ...one, processes: 2, hosts: 2, service: FAST }]), {
    foreign: true,
  }),
  scenario(
    'F',
    'another client sends 2 per second',
    (peer) => libraries(peer, { ...one, requests: 200, foreignPerSecond: 2, service: FAST }),
    { foreign: true },
  ),
  scenario('G', 'a ban of 20 s after 3 requests inside a wait, 8 processes', (peer) =>
    libraries(peer, { ...eight, service: BANS }),
  ),
  scenario(
    'I',
    'the day’s 150 used up in the middle, 8 processes',
    (peer) => libraries(peer, { ...eight, requests: 200, patienceMs: 45_000, service: DAY }),
    { possible: 150 },
  ),
];

/** The limit of the free plan (docs/service.md), run with `--real`: about five minutes each. */
export const REAL_SCENARIOS: readonly Scenario[] = [
  scenario('K', '60 per minute, 8 processes', (peer) => libraries(peer, { ...eight, service: REAL })),
  scenario('L', '60 per minute in other windows, 8 processes', (peer) =>
    ours(
      peer,
      (['anchored', 'sliding', 'bucket'] as const).map((mode) => ({ ...eight, service: { ...REAL, mode } })),
    ),
  ),
];
