// The cost of refusals in virtual time, behind services and limiters as found in the wild.
import { appendFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { MakeService } from '../support/services.ts';
import * as services from '../support/services.ts';
import type { Simulation } from '../support/simulation.ts';
import { simulate } from '../support/simulation.ts';

const { atOnce, bucket, changing, everyOther, haproxy, limiter, once, queued, random, usedByOthers, windows } =
  services;

const START = Date.parse('2026-11-21T12:00:00.250Z');
const FOREVER = Number.POSITIVE_INFINITY;
// `PROPERTY_RUNS=10 npx vitest run test/rate-limit` draws ten times as many services; TABLE names a file for the figures.
const SEEDS = 2 * Number(process.env['PROPERTY_RUNS'] ?? 1);
const TABLE = process.env['TABLE'];

interface Case {
  readonly title: string;
  readonly requests: number;
  readonly service: MakeService;
  /** The makespan over the least time or, with `waiting`, over that of a client that only waits stated times. */
  readonly atMost: number;
  readonly waiting?: boolean;
  /** The least time in milliseconds, if sending continuously does not find it. */
  readonly optimumMs?: number;
  readonly refusedShare?: number;
  readonly latencyMs?: readonly [number, number];
  readonly shapes?: readonly Shape[];
  readonly skewMs?: number;
}

type Shape = Pick<Simulation, 'processes' | 'workers' | 'startMs'>;

const IMPORT: Shape = { processes: 1, workers: 8 };
const IMPORTS: Shape = { processes: 4, workers: 4 };
/** `xargs -P 8`, and sequential commands: each request is a process that takes 400 ms to start. */
const XARGS: Shape = { processes: 8, workers: 1, startMs: 400 };
const COMMANDS: Shape = { processes: 1, workers: 1, startMs: 400 };

type Row = readonly [title: string, requests: number, service: MakeService, more?: Partial<Case>];
const rows = (shared: Partial<Case> & Pick<Case, 'atMost'>, list: readonly Row[]): readonly Case[] =>
  list.map(([title, requests, service, more]) => ({ ...shared, title, requests, service, ...more }));

const MINUTE_SILENT = windows(20, 60_000, { retryAfter: 'delta' });
const GROUPS: Record<string, readonly Case[]> = {
  'with a service that refuses for reasons other than a rate': rows({ atMost: 2, waiting: true, latencyMs: [5, 40] }, [
    ['used up by others for 58 s, then free; an import', 15, usedByOthers(58_000), { atMost: 1.2 }],
    ['used up by others for 58 s, then free; xargs', 60, usedByOthers(58_000), { atMost: 1.2, shapes: [XARGS] }],
    ['used up by others for 58 s, then free; commands', 3, usedByOthers(58_000), { atMost: 1.2, shapes: [COMMANDS] }],
    ['used up by others for 59 s, then 20 per minute', 15, usedByOthers(59_000, MINUTE_SILENT), { atMost: 1.2 }],
    ['refusals for the first 8 s, 8 s stated', 15, usedByOthers(8000), { atMost: 1.2 }],
    ['one refusal in mid-run, 1 s stated', 100, once(50, 1)],
    ['one refusal in mid-run, nothing stated', 100, once(50)],
    ['one refusal in mid-run, slow responses', 200, once(50, 1), { latencyMs: [150, 250] }],
    ['every other create refused, 1 s stated', 14, everyOther(1)],
    ['every other create refused, 1 s stated, 60 rows', 60, everyOther(1)],
    ['every other create refused, nothing stated', 30, everyOther(), { atMost: 2.1 }],
    ['5 % refused at random, 1 s stated', 200, random(0.05, FOREVER, 1)],
    ['10 % refused at random, 1 s stated', 120, random(0.1, FOREVER, 1)],
    ['20 % refused at random, 1 s stated', 60, random(0.2, FOREVER, 1)],
    ['20 % refused at random, 5 s stated', 60, random(0.2, FOREVER, 5)],
    ['30 % refused at random, 1 s stated', 120, random(0.3, FOREVER, 1)],
    // Accepted: half of the refusals follow another one, whose wait is doubled.
    ['50 % refused at random, 1 s stated (accepted)', 60, random(0.5, FOREVER, 1), { atMost: 2.2 }],
    ['30 % refused at random for 20 s, then none', 200, random(0.3, 20_000, 1)],
    // Accepted: the doubled floor is longer than the second that the other client waits.
    ['20 % refused at random, nothing stated (accepted)', 60, random(0.2, FOREVER), { atMost: 4 }],
  ]),
  'with a limiter without headers': rows(
    { atMost: 2, refusedShare: 0.25, latencyMs: [3, 12], shapes: [IMPORT, IMPORTS] },
    [
      ['nginx 60r/m burst=10', 120, bucket(1, 10)],
      ['nginx 4r/s', 120, bucket(4, 0)],
      ['nginx 4r/s burst=10, Retry-After 1', 120, bucket(4, 10, 'one')],
      ['nginx 4r/s burst=10, delayed', 120, queued(4, 4)],
      ['nginx 10r/s', 240, bucket(10, 0)],
      ['nginx 10r/s burst=20, Retry-After 1', 240, bucket(10, 20, 'one')],
      ['nginx 20r/s', 240, bucket(20, 0)],
      ['nginx 7.7r/s', 240, bucket(7.7, 0)],
      ['nginx 3.3r/s burst=2', 120, bucket(3.3, 2)],
      ['nginx 3r/s', 120, bucket(3, 0)],
      ['nginx 2r/s', 120, bucket(2, 0)],
      ['nginx 1.6r/s', 120, bucket(1.6, 0)],
      ['nginx 1r/s, Retry-After 1', 60, bucket(1, 0, 'one')],
      ['nginx 30r/m', 60, bucket(0.5, 0)],
      ['nginx 15r/m', 100, bucket(0.25, 0)],
      ['GCRA 4 per s, burst 2, exact Retry-After', 120, bucket(4, 1, 'delta')],
      ['GCRA 2 per s, burst 5, exact Retry-After', 120, bucket(2, 4, 'delta')],
      ['GCRA 0.5 per s, burst 3, exact Retry-After', 60, bucket(0.5, 2, 'delta')],
      ['HAProxy 20 per 5 s', 120, haproxy(20, 5000), { optimumMs: 30_000 }],
      [
        'sliding 20 per 5 s, refused requests count',
        120,
        windows(20, 5000, { mode: 'sliding', countsRefused: true }),
        { optimumMs: 25_000 },
      ],
      ['20 per 5 s', 120, windows(20, 5000)],
      ['20 per 5 s with Retry-After', 120, windows(20, 5000, { retryAfter: 'delta' })],
      ['10 per 1 s', 120, windows(10, 1000)],
      ['20 per minute', 120, windows(20, 60_000)],
      ['60 per minute, fixed', 300, windows(60, 60_000, { mode: 'fixed' })],
      ['20 per minute, Retry-After rounded down', 120, windows(20, 60_000, { retryAfter: 'floor' })],
      // Accepted: a client that keeps a stated wait, times four at most, asks 17 times in such a minute.
      [
        '20 per minute, Retry-After 1 (accepted)',
        120,
        windows(20, 60_000, { retryAfter: 'one' }),
        { refusedShare: 0.45, shapes: [IMPORT] },
      ],
      [
        '20 per minute beside 4980 of 5000 left, Retry-After 1 (accepted)',
        120,
        windows(20, 60_000, { retryAfter: 'one', describes: 'other' }),
        { refusedShare: 0.45, shapes: [IMPORT] },
      ],
      [
        // Accepted: headers of another quota hide the exhausted one.
        '20 per minute beside 4980 of 5000 left, exact Retry-After (accepted)',
        120,
        windows(20, 60_000, { retryAfter: 'delta', describes: 'other' }),
        { refusedShare: 0.3 },
      ],
    ],
  ),
  'with a limit on concurrency or a limit that changes': rows({ atMost: 2, latencyMs: [3, 12] }, [
    ['four in flight, 200 ms each', 100, atOnce(4), { optimumMs: 5000 }],
    ['four in flight, 200 ms each, 300 rows', 300, atOnce(4), { optimumMs: 15_000 }],
    ['two in flight, Retry-After 1', 100, atOnce(2, 1), { optimumMs: 10_000 }],
    ['1 per s for a minute, then one refusal', 400, services.lifted, { optimumMs: 62_000 }],
    ['20, 4, 200 per 5 s', 544, changing([20, 4, 200], 6, 'nothing')],
    ['20, 4, 200 per 5 s with Retry-After', 544, changing([20, 4, 200], 6, 'retry-after')],
    ['20, 4, 200 per 5 s with headers', 544, changing([20, 4, 200], 6, 'headers')],
  ]),
  // Accepted: 10 per 1 s in anchored windows is 2.09, since the service's clock is known to a second.
  'with brief windows and resets in whole seconds': rows(
    { atMost: 2.1, refusedShare: 0.01, latencyMs: [3, 12], skewMs: 300, shapes: [IMPORT, IMPORTS] },
    (['anchored', 'fixed'] as const).flatMap((mode) =>
      (['ceil', 'floor'] as const).flatMap((reset): Row[] => [
        [`10 per 1 s, ${mode}, reset rounded by ${reset}`, 121, limiter({ mode, reset, limit: 10, windowMs: 1000 })],
        [
          `20 per 5 s, ${mode}, reset rounded by ${reset}`,
          121,
          limiter({ mode, reset, limit: 20, windowMs: 5000 }),
          { atMost: 1.5 },
        ],
      ]),
    ),
  ),
};

const mean = (of: readonly number[]): number => of.reduce((sum, one) => sum + one, 0) / of.length;

// Runs a case with each seed. Returns the makespans over the least time, and the shares of refused requests.
async function measure({ requests, service, ...one }: Case, shape: Shape): Promise<[number[], number[]]> {
  const [ratios, shares]: [number[], number[]] = [[], []];
  const [low, high] = one.latencyMs ?? [10, 10];
  for (let seed = 1; seed <= SEEDS; seed++) {
    const unused = { mode: 'fixed', limit: 1, windowMs: 1 } as const;
    const run = { ...unused, ...shape, requests, startsAt: START, seed, skewMs: one.skewMs ?? 0 };
    const made = service(START, seed);
    const outcome = await simulate({ ...run, latencyMs: [low, high], maxWaitMs: 600_000, service: made });
    expect.soft(outcome).toMatchObject({ answered: requests, failures: [], insideLate: 0 });
    // The start of processes takes time with any service.
    const perRequest = ((low + high) / 2 + (shape.startMs ?? 0)) / shape.processes / shape.workers;
    const waiting = one.waiting && services.waitingTime(service, START, seed, requests, perRequest);
    const least = waiting || (one.optimumMs ?? services.leastTime(service, START, seed, requests));
    ratios.push(outcome.makespan / least);
    shares.push(outcome.refused / outcome.sent);
  }
  return [ratios, shares];
}

function titleOf({ title, atMost, waiting }: Case, { processes, workers }: Shape): string {
  const other = waiting ? 'the time of a client that only waits as stated' : 'the optimum';
  return `${processes} × ${workers} workers take at most ${atMost} times ${other}: ${title}`;
}

for (const [group, cases] of Object.entries(GROUPS))
  describe(group, () => {
    for (const one of cases)
      for (const shape of one.shapes ?? [IMPORT])
        test(titleOf(one, shape), { timeout: 120_000 }, async () => {
          const [ratios, shares] = await measure(one, shape);
          const line = [group, one.title, `${shape.processes}x${shape.workers}`, one.atMost, mean(ratios).toFixed(2)];
          if (TABLE) appendFileSync(TABLE, `${[...line, mean(shares).toFixed(3)].join('\t')}\n`);
          // A run with random refusals may miss the bound, so the mean is checked.
          expect.soft(one.waiting ? mean(ratios) : Math.max(...ratios), 'makespan').toBeLessThanOrEqual(one.atMost);
          expect.soft(Math.max(...shares), 'refused').toBeLessThanOrEqual(one.refusedShare ?? 1);
        });
  });

// Eight processes at a time: the first and the last 20 requests take a second each, besides two whole windows.
const SINGLE = { mode: 'anchored', limit: 20, windowMs: 5000, ...XARGS, requests: 60, latencyMs: [3, 12] } as const;

test.each([
  ['rounded up', {}, 1.4, 0],
  ['in seconds from now', { reset: 'delta' }, 1.4, 0],
  ['in milliseconds', { reset: 'ms' }, 1.1, 0],
  ['that only Retry-After states', { describes: 'nothing' }, 1.5, 0.1],
] as const)(
  '60 creates by xargs are sent near the limit of 20 per 5 s with a reset %s',
  async (_title, more, atMost, share) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const outcome = await simulate({ ...SINGLE, ...more, seed });
      expect(outcome).toMatchObject({ answered: 60, failures: [], insideLate: 0 });
      expect(outcome.refused / outcome.sent).toBeLessThanOrEqual(share);
      expect(outcome.makespan / 11_000).toBeLessThanOrEqual(atMost);
    }
  },
);
