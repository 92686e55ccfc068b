// The ledger's format: properties of random interleavings, snapshots, and damaged records.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ledgerFormat } from '../../src/rate-limit/ledger-log.ts';
import type { LedgerRecord, Observation } from '../../src/rate-limit/ledger-record.ts';
import type { KeyState } from '../../src/rate-limit/policy.ts';
import { admit, initialState } from '../../src/rate-limit/policy.ts';
import type { Verdict } from '../support/limiter.ts';
import { Limiter } from '../support/limiter.ts';
import { history, LEASE, refused, START } from '../support/records.ts';

// `PROPERTY_RUNS=10 npx vitest run test/rate-limit` runs ten times as many cases.
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 1);

interface World {
  readonly windowMs: number;
  readonly limit: number;
  /** The service's clock minus ours. */
  readonly skewMs: number;
  readonly reset: 'ceil' | 'floor';
  /** How long after a whole second windows begin, milliseconds. */
  readonly phase: number;
}

interface Flight {
  readonly id: string;
  readonly sentAt: number;
  response: (Verdict & { readonly date: number }) | undefined;
}

// One service and one log; it makes no difference which process writes a record.
class Model {
  readonly lines: string[] = [];
  readonly state: KeyState = initialState();
  readonly flights: Flight[] = [];
  overdrawn = 0;
  /** Probes that the service may have counted although their response was lost, or took more than 5 s. */
  unknown = 0;
  granted = 0;
  now = START;
  #ids = 0;
  #windowEnd = 0;
  readonly #world: World;
  readonly #limiter: Limiter;

  constructor(world: World) {
    this.#world = world;
    this.#limiter = new Limiter({ ...world, mode: 'fixed' });
  }

  write(record: LedgerRecord): void {
    const line = JSON.stringify(record);
    this.lines.push(line);
    ledgerFormat.apply(this.state, line);
  }

  take(): void {
    const id = `t${this.#ids++}`;
    this.write({ kind: 'ticket', at: this.now, id, pid: 1, start: '1', host: 'h', leaseMs: LEASE });
    if (!(id in this.state.tickets)) return;
    this.granted++;
    // A probe excludes others for 5 s: a second one may be sent while the first has no response.
    const isProbe = (one: string): boolean => this.state.tickets[one]?.probe === true;
    if (isProbe(id) && this.flights.some((flight) => isProbe(flight.id))) this.unknown++;
    this.flights.push({ id, sentAt: this.now, response: undefined });
  }

  /** Moves to a time near the end of the last window that a request opened, with requests still in flight. */
  approach(ms: number): void {
    this.now = Math.max(this.now, this.#windowEnd + ms);
  }

  arrive(flight: Flight | undefined): void {
    if (!flight || flight.response) return;
    const { windowMs, skewMs, phase } = this.#world;
    const now = this.now + skewMs;
    this.#windowEnd = Math.floor((now - phase) / windowMs + 1) * windowMs + phase - skewMs;
    flight.response = { ...this.#limiter.take(now), date: Math.floor(now / 1000) * 1000 };
    if (!flight.response.allowed) this.overdrawn++;
  }

  respond(flight: Flight | undefined): void {
    if (!flight?.response) return;
    this.flights.splice(this.flights.indexOf(flight), 1);
    const { allowed, headers, date } = flight.response;
    const resetAt = 1000 * Number(headers['x-ratelimit-reset']);
    const observation: Observation = {
      at: this.now,
      status: allowed ? 200 : 429,
      refused: !allowed,
      limit: this.#world.limit,
      remaining: Number(headers['x-ratelimit-remaining']),
      reset: { at: resetAt, clock: 'service', resolution: 1000 },
      offset: { lo: date - this.now, hi: date + 1000 - flight.sentAt },
      waitMs: allowed ? undefined : Math.max(0, resetAt - date),
      waitFrom: allowed ? 'backoff' : 'reset',
    };
    this.write({ kind: 'response', at: this.now, id: flight.id, seen: observation, jitterDraw: 0 });
  }

  lose(flight: Flight | undefined, how: 'unsent' | 'lost' | 'dead'): void {
    if (!flight || (how === 'unsent' && flight.response)) return;
    if (flight.response && this.state.tickets[flight.id]?.probe) this.unknown++;
    this.flights.splice(this.flights.indexOf(flight), 1);
    this.write({ kind: 'closed', at: this.now, id: flight.id, how });
  }
}

const world = fc.record({
  windowMs: fc.integer({ min: 3, max: 20 }).map((s) => s * 1000),
  limit: fc.integer({ min: 1, max: 12 }),
  skewMs: fc.oneof(fc.integer({ min: -1500, max: 1500 }), fc.constantFrom(3_600_000, -3_600_000)),
  reset: fc.constantFrom('ceil' as const, 'floor' as const),
  phase: fc.oneof(fc.constant(0), fc.nat(999)),
});
// The next event, and the request in flight that it affects.
const step = fc.record({
  what: fc.constantFrom(
    ...'take take take arrive arrive respond respond respond lost dead unsent later rollover reset'.split(' '),
  ),
  which: fc.nat(30),
  ms: fc.oneof({ weight: 4, arbitrary: fc.nat(120) }, { weight: 1, arbitrary: fc.nat(9000) }),
});

function play(settings: World, steps: readonly { what: string; which: number; ms: number }[]): Model {
  const model = new Model(settings);
  for (const { what, which, ms } of steps) {
    if (what === 'later') model.now += ms;
    else if (what === 'rollover') model.approach(1000 + (ms % 1200));
    else if (what === 'reset') model.approach(((7 * ms) % 1300) - 300);
    else model.now += ms % 40;
    // The timeout of an attempt is shorter than the lease of its ticket.
    for (const old of model.flights.filter((one) => model.now > one.sentAt + LEASE - 1000)) model.lose(old, 'lost');
    const flight = model.flights[which % Math.max(1, model.flights.length)];
    if (what === 'take') model.take();
    if (what === 'arrive') model.arrive(flight);
    if (what === 'respond') {
      model.arrive(flight);
      model.respond(flight);
    }
    if (what === 'lost' || what === 'dead' || what === 'unsent') model.lose(flight, what);
  }
  return model;
}

test('windows are overdrawn only by lost or slow probes, or by one refused probe of a brief window, in 6,000 random runs', () => {
  let granted = 0;
  let exact = 0;
  fc.assert(
    fc.property(world, fc.array(step, { minLength: 20, maxLength: 120 }), (settings, steps) => {
      const model = play(settings, steps);
      granted += model.granted;
      // One refused probe may teach that resets of brief windows are rounded down.
      const taught = settings.reset === 'floor' && settings.windowMs <= 11_000 ? 1 : 0;
      expect(model.overdrawn).toBeLessThanOrEqual(model.unknown + taught);
      exact += model.unknown === 0 ? 1 : 0;
    }),
    { numRuns: 6000 * RUNS },
  );
  expect(granted).toBeGreaterThan(6000 * RUNS);
  expect(exact).toBeGreaterThan(3000 * RUNS);
});

test('all processes reduce the same state, whether they read from the start or from a snapshot', () => {
  fc.assert(
    fc.property(world, fc.array(step, { minLength: 5, maxLength: 60 }), fc.nat(60), (settings, steps, cut) => {
      const { lines, state, now } = play(settings, steps);
      const asking = initialState();
      for (const line of lines) {
        admit(asking, Math.max(now, asking.time));
        ledgerFormat.apply(asking, line);
      }
      expect(asking).toEqual(state);
      const before = initialState();
      for (const line of lines.slice(0, cut)) ledgerFormat.apply(before, line);
      const after = initialState();
      for (const line of ledgerFormat.snapshot(before)) ledgerFormat.apply(after, line);
      for (const line of lines.slice(cut)) ledgerFormat.apply(after, line);
      expect(after).toEqual(state);
    }),
    { numRuns: 2000 * RUNS },
  );
});

test.each([
  [4000, 10],
  [700_010, 100_010],
  [5, 5],
])('a 429 after 10 ms whose record reaches the server after %i ms is dated %i ms', (recordedAt, datedAt) => {
  const state = history({ take: START });
  const seen = refused(START + 10, { waitMs: 5000 });
  const line = JSON.stringify({ kind: 'response', at: seen.at, id: 't1', seen, jitterDraw: 0 });
  ledgerFormat.apply(state, line, START + recordedAt);
  expect(state.block?.until).toBe(START + datedAt + 5000);
});
