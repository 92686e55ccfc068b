// The cost of refusals in virtual time, behind models of real services and limiters.
import { expect, test } from 'vitest';
import type { MakeService } from '../support/services.ts';
import * as services from '../support/services.ts';
import type { Simulation } from '../support/simulation.ts';
import { simulate } from '../support/simulation.ts';

const { atOnce, bucket, changing, everyOther, haproxy, limiter, once, random, usedByOthers, windows } = services;

const START = Date.parse('2026-11-21T12:00:00.250Z');
// `PROPERTY_RUNS=10 npx vitest run test/rate-limit` draws ten times as many services.
const SEEDS = 2 * Number(process.env['PROPERTY_RUNS'] ?? 1);

interface Case {
  readonly atMost: number;
  /** True: `atMost` bounds the makespan relative to a client that only waits as stated, otherwise to the least time. */
  readonly waiting?: boolean;
  /** The minimum time in milliseconds, if `leastTime` cannot find it by sending continuously. */
  readonly leastMs?: number;
  readonly refusedShare?: number;
  readonly latencyMs?: readonly [number, number];
  readonly shape?: Shape;
  readonly skewMs?: number;
}

type Shape = Pick<Simulation, 'processes' | 'workers' | 'startMs'>;
type Row = readonly [shared: Case, title: string, requests: number, service: MakeService, more?: Partial<Case>];

const IMPORT: Shape = { processes: 1, workers: 8 };
const IMPORTS: Shape = { processes: 4, workers: 4 };
/** `xargs -P 8`: each request is a process that takes 400 ms to start. */
const XARGS: Shape = { processes: 8, workers: 1, startMs: 400 };

/** A service that refuses for reasons other than a rate. */
const REFUSING: Case = { atMost: 2, waiting: true, latencyMs: [5, 40] };
/** A limiter without headers. */
const SILENT: Case = { atMost: 2, refusedShare: 0.25, latencyMs: [3, 12] };
/** A limit on concurrency, or a limit that changes. */
const CHANGING: Case = { atMost: 2, latencyMs: [3, 12] };
/** Brief windows, and resets in whole seconds: no refusal. */
const BRIEF: Case = { atMost: 1.5, refusedShare: 0, latencyMs: [3, 12], skewMs: 300 };

const countsRefused = windows(20, 5000, { mode: 'sliding', countsRefused: true });
const statesOneSecond = windows(20, 60_000, { retryAfter: 'one' });
const describesAnother = windows(20, 60_000, { retryAfter: 'delta', describes: 'other' });
const roundsDown = limiter({ mode: 'fixed', reset: 'floor', limit: 20, windowMs: 5000 });

const ROWS: readonly Row[] = [
  [REFUSING, 'exhausted by others for 58 s; xargs', 60, usedByOthers(58_000), { atMost: 1.2, shape: XARGS }],
  [REFUSING, 'one refusal in mid-run, nothing stated', 100, once(50)],
  [REFUSING, 'every other create refused, 1 s stated', 60, everyOther(1)],
  [REFUSING, '20% refused at random, 1 s stated', 60, random(0.2, 1)],
  // Accepted: half of the refusals follow another one, whose wait is doubled.
  [REFUSING, '50% refused at random, 1 s stated (accepted)', 60, random(0.5, 1), { atMost: 2.2 }],
  // Accepted: the doubled backoff is longer than the second that the other client waits.
  [REFUSING, '20% refused at random, nothing stated (accepted)', 60, random(0.2), { atMost: 4 }],
  // Accepted: after each wait, one request is allowed and the next one is refused.
  [SILENT, 'nginx 60r/m burst=10 (accepted)', 120, bucket(1, 10), { refusedShare: 0.5 }],
  [SILENT, 'nginx 4r/s burst=10, Retry-After 1', 120, bucket(4, 10, 'one')],
  [SILENT, 'GCRA 2 per s, burst 5, exact Retry-After (accepted)', 120, bucket(2, 4, 'delta'), { refusedShare: 0.35 }],
  [SILENT, 'HAProxy 20 per 5 s', 120, haproxy(20, 5000), { leastMs: 30_000, shape: IMPORTS }],
  [SILENT, 'sliding 20 per 5 s, refused requests count', 120, countsRefused, { leastMs: 25_000 }],
  [SILENT, '20 per minute', 120, windows(20, 60_000)],
  // Accepted: a client that waits at most four times a stated wait asks 17 times in such a minute.
  [SILENT, '20 per minute, Retry-After 1 (accepted)', 120, statesOneSecond, { refusedShare: 0.45 }],
  // Accepted: headers of another quota hide the exhausted one.
  [SILENT, '20 per minute beside 4980 of 5000 left (accepted)', 120, describesAnother, { refusedShare: 0.3 }],
  [CHANGING, 'four in flight, 200 ms each', 300, atOnce(4), { leastMs: 15_000 }],
  [CHANGING, '20, 4, 200 per 5 s with Retry-After', 544, changing([20, 4, 200], 6)],
  // Accepted: the reset, `Date` and the guard cost up to a second each.
  [
    BRIEF,
    '10 per 1 s (accepted)',
    121,
    limiter({ mode: 'anchored', reset: 'ceil', limit: 10, windowMs: 1000 }),
    { atMost: 3.1 },
  ],
  [BRIEF, '20 per 5 s, reset rounded down', 121, roundsDown, { shape: IMPORTS }],
];

const mean = (of: readonly number[]): number => of.reduce((sum, one) => sum + one, 0) / of.length;

// Runs a case with each seed. Returns the makespans over the least time, and the shares of refused requests.
async function measure(requests: number, service: MakeService, one: Case): Promise<[number[], number[]]> {
  const [ratios, shares]: [number[], number[]] = [[], []];
  const { latencyMs = [10, 10], shape = IMPORT, skewMs = 0 } = one;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const run = { mode: 'fixed', limit: 1, windowMs: 1, ...shape, requests, startsAt: START, seed, skewMs } as const;
    const outcome = await simulate({ ...run, latencyMs, maxWaitMs: 600_000, service: service(START, seed) });
    expect.soft(outcome).toMatchObject({ answered: requests, failures: [], insideLate: 0 });
    // The start of processes takes time with any service.
    const perRequest = (mean(latencyMs) + (shape.startMs ?? 0)) / shape.processes / shape.workers;
    const waiting = one.waiting && services.waitingTime(service(START, seed), START, requests, perRequest);
    const least = waiting || (one.leastMs ?? services.leastTime(service(START, seed), START, requests));
    ratios.push(outcome.makespan / least);
    shares.push(outcome.refused / outcome.sent);
  }
  return [ratios, shares];
}

for (const [shared, title, requests, service, more] of ROWS)
  test(`requests take little longer than the minimum time: ${title}`, { timeout: 120_000 }, async () => {
    const one = { ...shared, ...more };
    const [ratios, shares] = await measure(requests, service, one);
    // A run with random refusals may miss the bound, so the mean is checked.
    expect.soft(one.waiting ? mean(ratios) : Math.max(...ratios), 'makespan').toBeLessThanOrEqual(one.atMost);
    expect.soft(Math.max(...shares), 'refused').toBeLessThanOrEqual(one.refusedShare ?? 1);
  });
