// The rate limiters that the benchmark runs, as models in virtual time: every request ends, near the rate, with few refusals.
import { expect, test } from 'vitest';
import type { LimiterOptions } from '../support/limiter.ts';
import { simulate } from '../support/simulation.ts';

interface Model {
  readonly title: string;
  readonly service: LimiterOptions;
  /** The least time for all requests, milliseconds. */
  readonly optimumMs: number;
  readonly atMost: number;
  /** The largest share of refused requests; a tenth unless given. */
  readonly refusedShare?: number;
}

const silent = { describes: 'nothing', retryAfter: 'none' } as const;
const window = { mode: 'anchored', limit: 20, windowMs: 5000 } as const;
const minute = { mode: 'anchored', limit: 20, windowMs: 60_000 } as const;
const MODELS: readonly Model[] = [
  {
    title: 'nginx rate=60r/m burst=10 nodelay',
    service: { ...silent, mode: 'bucket', limit: 60, windowMs: 60_000, burst: 11 },
    optimumMs: 109_000,
    atMost: 1.5,
  },
  {
    title: 'nginx rate=4r/s without burst',
    service: { ...silent, mode: 'bucket', limit: 4, windowMs: 1000, burst: 1 },
    optimumMs: 29_750,
    atMost: 1.5,
  },
  {
    title: '20 per 5 s in a sliding window where refused requests count',
    service: { ...silent, mode: 'sliding', limit: 20, windowMs: 5000, countsRefused: true },
    optimumMs: 25_000,
    atMost: 1.5,
  },
  {
    title: '20 per 5 s that only Retry-After tells',
    service: { ...window, describes: 'nothing' },
    optimumMs: 25_000,
    atMost: 1.5,
  },
  {
    title: '20 per 5 s that nothing tells',
    service: { ...window, ...silent },
    optimumMs: 25_000,
    atMost: 1.5,
  },
  {
    title: '20 per minute, Retry-After rounded down',
    service: { ...minute, describes: 'nothing', retryAfter: 'floor' },
    optimumMs: 300_000,
    atMost: 1.5,
  },
  {
    title: '20 per minute beside 4980 of 5000 left and Retry-After: 1',
    service: { ...minute, describes: 'other', retryAfter: 'one' },
    optimumMs: 300_000,
    atMost: 1.8,
    refusedShare: 0.2,
  },
];

for (const { title, service, optimumMs, atMost, refusedShare = 0.1 } of MODELS)
  for (const [processes, workers] of [
    [1, 8],
    [4, 4],
  ] as const)
    test(`${title}: ${processes} processes of ${workers} send 120 requests near the rate`, async () => {
      const run = { ...service, processes, workers, requests: 120, latencyMs: [3, 12], maxWaitMs: 120_000 } as const;
      const { answered, failures, insideLate, refused, sent, makespan } = await simulate(run);
      expect
        .soft({ answered, failed: failures.length, insideLate })
        .toEqual({ answered: 120, failed: 0, insideLate: 0 });
      expect.soft(refused / sent, 'refused').toBeLessThanOrEqual(refusedShare);
      expect.soft(makespan / optimumMs, 'makespan').toBeLessThanOrEqual(atMost);
    });

test.each([
  [10, 1000, 1.2],
  [20, 5000, 1.1],
])(
  '%d per %d ms with a reset rounded up to a whole second are sent near the rate, without a refusal',
  async (limit, windowMs, atMost) => {
    for (const processes of [1, 4]) {
      const service = { mode: 'anchored', limit, windowMs, processes, workers: 4, requests: 121 } as const;
      const { answered, refused, makespan } = await simulate({ ...service, latencyMs: [3, 12] });
      expect({ answered, refused }).toEqual({ answered: 121, refused: 0 });
      expect(makespan / ((Math.ceil(121 / limit) - 1) * windowMs)).toBeLessThanOrEqual(atMost);
    }
  },
);

// Eight at a time that take 400 ms to start: the first and the last twenty need a second each beside two whole windows.
const SINGLE = { ...window, processes: 8, workers: 1, requests: 60, startMs: 400, latencyMs: [3, 12] } as const;

test.each<[string, Partial<LimiterOptions>, number, number]>([
  // A reset in whole seconds is waited for up to two seconds too long.
  ['20 per 5 s with a reset rounded up', {}, 1.4, 0],
  ['20 per 5 s with a reset in seconds from now', { reset: 'delta' }, 1.4, 0],
  ['20 per 5 s with a reset in milliseconds', { reset: 'ms' }, 1.1, 0],
  ['20 per 5 s that only Retry-After tells', { describes: 'nothing' }, 1.5, 0.1],
])('%s: 60 creates, each a process of its own, are sent near the rate', async (_title, service, atMost, share) => {
  for (let seed = 1; seed <= 5; seed++) {
    const { answered, failures, insideLate, refused, sent, makespan } = await simulate({ ...SINGLE, ...service, seed });
    expect({ answered, failures, insideLate }).toEqual({ answered: 60, failures: [], insideLate: 0 });
    expect(refused / sent).toBeLessThanOrEqual(share);
    expect(makespan / 11_000).toBeLessThanOrEqual(atMost);
  }
});
