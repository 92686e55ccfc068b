// Many processes share one key in virtual time: they get no avoidable 429, and take little longer than the limit requires.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PetstoreError } from '../../src/errors.ts';
import { seededRandom } from '../../src/sandbox/faults.ts';
import { Limiter } from '../support/limiter.ts';
import type { Service, Simulation } from '../support/simulation.ts';
import { simulate } from '../support/simulation.ts';

const START = Date.parse('2026-11-21T12:00:00.250Z');
const minute = { limit: 60, windowMs: 60_000 };
const noRefusal = { refused: 0, insideWait: 0, failures: [] };

const SHAPES = [
  ['fixed', 8, 8, 'floor', 3_600_000],
  ['fixed', 8, 8, 'ceil', 700],
  ['anchored', 8, 8, 'ms', -3_600_000],
  ['sliding', 8, 8, 'ceil', 0],
  ['bucket', 8, 1, 'floor', 0],
] as const;

test.each(SHAPES)(
  'with the limiter "%s", %i processes finish in near-minimum time without a 429 (workers: %i, reset: %s, skew: %i ms)',
  async (mode, processes, workers, reset, skewMs) => {
    const load = { processes, workers, requests: 300 };
    const outcome = await simulate({ ...minute, ...load, mode, reset, skewMs, startsAt: START });
    expect(outcome).toMatchObject({ ...noRefusal, sent: 300, answered: 300 });
    // 59.75 s of the first fixed window are left; windows of other modes begin with the first request.
    const leastMs = mode === 'fixed' ? 59_750 + 3 * 60_000 : 240_000;
    expect(outcome.makespan).toBeGreaterThanOrEqual(leastMs);
    expect(outcome.makespan).toBeLessThanOrEqual(leastMs * 1.03 + 2000);
  },
);

// Each predicate chooses when two of six processes fail, from the number of the next request and the last response.
const MOMENTS: Readonly<Record<string, NonNullable<Simulation['failsAt']>>> = {
  'before the first response': (request) => request === 1,
  'after a 429': (_request, last) => last?.allowed === false,
  'in an open window': (_request, last) => last?.headers['x-ratelimit-remaining'] === '5',
  'during the last request of a window': (_request, last) => last?.headers['x-ratelimit-remaining'] === '1',
};
const BRIEF = {
  mode: 'fixed',
  limit: 10,
  windowMs: 5000,
  processes: 6,
  workers: 2,
  requests: 60,
} as const;

test.each(Object.entries(MOMENTS))(
  'if two of six processes are killed or stopped %s, the rest finish at most 6 s later',
  async (moment, failsAt) => {
    const describes = moment === 'after a 429' ? 'nothing' : 'limit';
    const without = await simulate({ ...BRIEF, describes });
    const outcome = await simulate({ ...BRIEF, describes, failsAt });
    expect(outcome).toMatchObject({ failures: [], insideLate: 0 });
    expect(outcome.answered).toBeGreaterThanOrEqual(56);
    expect(outcome.makespan - without.makespan).toBeLessThanOrEqual(6000);
  },
);

const endsAt = Date.parse('2026-11-22T00:00:00Z');

test('a daily limit that headers report causes no 429, and requests beyond it fail with the retry time', async () => {
  const limits = { ...minute, daily: { limit: 100, endsAt }, mode: 'fixed', reports: 'tightest' } as const;
  const outcome = await simulate({ ...limits, processes: 8, workers: 1, requests: 130, maxWaitMs: 120_000 });
  expect(outcome).toMatchObject({ sent: 100, refused: 0, answered: 100 });
  expect(outcome.failures).toEqual(Array(30).fill(expect.objectContaining({ kind: 'rate_limited' })));
  // The service's clock is known to a second, and the reset is sent in seconds.
  const late = (outcome.failures as readonly PetstoreError[]).map(({ retryAt = 0 }) => retryAt - endsAt);
  expect(late.filter((ms) => ms >= 1000 && ms <= 2000)).toEqual(late);
});

test.each([
  [5, 1000, 8, 2],
  [20, 2000, 32, 1.5],
  [60, 60_000, 64, 1.5],
])(
  'if headers alternate between the daily limit and %i per %i ms, %i workers use up five windows in at most %f times their length',
  async (limit, windowMs, workers, atMost) => {
    const run = { limit, windowMs, mode: 'fixed', reports: 'share', daily: { limit: 1000, endsAt }, workers } as const;
    const outcome = await simulate({ ...run, processes: 1, requests: 5 * limit, latencyMs: [3, 40] });
    expect(outcome).toMatchObject({ failures: [], answered: 5 * limit, insideLate: 0 });
    expect(outcome.makespan).toBeLessThanOrEqual(atMost * 5 * windowMs);
  },
);

const ALLOWED = { allowed: true, insideWait: undefined, headers: {} };
const refusal = (seconds: number) => ({ ...ALLOWED, allowed: false, headers: { 'retry-after': String(seconds) } });

/** Services without rate-limit headers, whose refusals state a wait. */
const REFUSING: Readonly<Record<string, () => Service>> = {
  'whose quota other clients have exhausted for the next 58 s': () => ({
    take: (now) => (now < START + 58_000 ? refusal(Math.ceil((START + 58_000 - now) / 1000)) : ALLOWED),
  }),
  'that refuses one request in five at random': () => {
    const draw = seededRandom(7919);
    return { take: () => (draw() < 0.2 ? refusal(1) : ALLOWED) };
  },
  'whose limit falls and is then raised': () => {
    const shared = { mode: 'fixed', windowMs: 5000, phase: START, describes: 'nothing' } as const;
    const limiters = [20, 4, 200].map((limit) => new Limiter({ ...shared, limit }));
    const take: Service['take'] = (now) =>
      (limiters[Math.floor((now - START) / 30_000)] ?? (limiters[2] as Limiter)).take(now);
    return { take };
  },
};

// The time in milliseconds that a sequential client takes if it waits exactly `Retry-After` after each 429.
function waitingTime({ take }: Service, requests: number): number {
  let now = START;
  for (let served = 0; served < requests; now += 10) {
    const { allowed, headers } = take(now);
    if (allowed) served++;
    else now += 1000 * Number(headers['retry-after']);
  }
  return now - START;
}

test.each(Object.keys(REFUSING))(
  'with a service %s, eight workers take at most twice as long as a client that waits exactly as stated',
  async (name) => {
    const service = REFUSING[name] as () => Service;
    const run = { mode: 'fixed', limit: 1, windowMs: 1, processes: 1, workers: 8, requests: 200 } as const;
    const outcome = await simulate({ ...run, service: service(), startsAt: START, maxWaitMs: 600_000 });
    expect(outcome).toMatchObject({ answered: 200, failures: [], insideLate: 0 });
    expect(outcome.makespan).toBeLessThanOrEqual(2 * waitingTime(service(), 200));
  },
);

test('if a token bucket sends no rate-limit headers, at most half of the attempts are refused, and all requests succeed in at most twice the minimum time', async () => {
  const bucket = {
    mode: 'bucket',
    limit: 1,
    windowMs: 1000,
    burst: 11,
    describes: 'nothing',
    retryAfter: 'none',
  } as const;
  const outcome = await simulate({ ...bucket, processes: 1, workers: 8, requests: 120 });
  expect(outcome).toMatchObject({ answered: 120, failures: [] });
  expect(outcome.refused / outcome.sent).toBeLessThanOrEqual(0.5);
  expect(outcome.makespan).toBeLessThanOrEqual(2 * (120 - 11) * 1000);
});

test('with random limits, even if a sixth of the responses is lost, each request gets a response and no 429', async () => {
  const service = fc.record({
    mode: fc.constantFrom('fixed' as const, 'anchored' as const, 'sliding' as const, 'bucket' as const),
    reset: fc.constantFrom('ceil' as const, 'floor' as const, 'ms' as const),
    limit: fc.integer({ min: 1, max: 40 }),
    windowMs: fc.oneof(
      fc.integer({ min: 1, max: 60 }).map((s) => s * 1000),
      fc.integer({ min: 1000, max: 8000 }),
    ),
    phase: fc.integer({ min: 0, max: 4000 }),
    processes: fc.integer({ min: 1, max: 8 }),
    workers: fc.integer({ min: 1, max: 8 }),
    skewMs: fc.oneof(fc.constantFrom(0, 3_600_000, -3_600_000), fc.integer({ min: -5000, max: 5000 })),
    latencyMs: fc.constantFrom([1, 1], [5, 40], [20, 600]) as fc.Arbitrary<[number, number]>,
    lose: fc.constantFrom(0, 0, 1 / 6),
    seed: fc.nat(),
  });
  await fc.assert(
    fc.asyncProperty(service, async (options) => {
      const requests = Math.min(80, options.limit * 3);
      // If each response of a window is lost, no client can know that the window is exhausted.
      const lose = options.limit < 8 ? 0 : options.lose;
      const outcome = await simulate({ ...options, lose, requests });
      expect(outcome).toMatchObject({ ...noRefusal, answered: requests });
    }),
    { numRuns: 50 * Number(process.env['PROPERTY_RUNS'] ?? 1) },
  );
});
