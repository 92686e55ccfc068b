// The reducer, by properties: whatever the order of grants, responses, losses and deaths, no window is overdrawn.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { admit } from '../../src/rate-limit/admission.ts';
import type { LedgerRecord, Observation } from '../../src/rate-limit/ledger-record.ts';
import { formatRecord } from '../../src/rate-limit/ledger-record.ts';
import type { LedgerState } from '../../src/rate-limit/ledger-state.ts';
import { initialState } from '../../src/rate-limit/ledger-state.ts';
import { ledgerFormat } from '../../src/rate-limit/reducer.ts';
import { LEASE, START } from '../support/records.ts';

interface World {
  /** Seconds between resets, requests per window, service's clock minus ours, rounding of the reset. */
  readonly windowMs: number;
  readonly limit: number;
  readonly skewMs: number;
  readonly resetDown: boolean;
  /** Milliseconds that a window begins after the whole second. */
  readonly phase: number;
}

interface Flight {
  readonly id: string;
  readonly sentAt: number;
  response: { remaining: number; resetAt: number; date: number } | undefined;
  refused: boolean;
}

// One service, one log, any number of processes: which process writes a record makes no difference.
class Model {
  readonly lines: string[] = [];
  readonly state: LedgerState = initialState();
  readonly flights: Flight[] = [];
  overdrawn = 0;
  /** Canaries that the service counted and whose response never came: nobody can know of them. */
  unknown = 0;
  granted = 0;
  now = START;
  #ids = 0;
  #windowEnd = 0;
  #used = 0;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  write(record: LedgerRecord): void {
    const line = formatRecord(record);
    this.lines.push(line);
    ledgerFormat.apply(this.state, line);
  }

  take(bulk: boolean): void {
    const id = `t${this.#ids++}`;
    this.write({
      kind: 'ticket',
      at: this.now,
      id,
      pid: 1,
      start: '1',
      host: 'h',
      leaseMs: LEASE,
      bulk,
    });
    if (!this.state.tickets.has(id)) return;
    this.granted++;
    this.flights.push({ id, sentAt: this.now, response: undefined, refused: false });
  }

  /** To the moment after the reset at which somebody may go again, with whatever is still in flight. */
  rollOver(ms: number): void {
    const end = this.#windowEnd - this.#world.skewMs;
    if (end > this.now && end < this.now + 20_000) this.now = end + 1000 + ms;
  }

  /** To a moment about the reset, before or after it. */
  approach(ms: number): void {
    const at = this.#windowEnd - this.#world.skewMs + ms;
    if (at > this.now && at < this.now + 20_000) this.now = at;
  }

  arrive(flight: Flight | undefined): void {
    if (!flight || flight.response) return;
    const { windowMs, limit, skewMs, resetDown, phase } = this.#world;
    const now = this.now + skewMs;
    if (now >= this.#windowEnd) {
      this.#windowEnd = Math.floor((now - phase) / windowMs + 1) * windowMs + phase;
      this.#used = 0;
    }
    flight.refused = this.#used >= limit;
    if (flight.refused) this.overdrawn++;
    else this.#used++;
    const resetAt = (resetDown ? Math.floor : Math.ceil)(this.#windowEnd / 1000) * 1000;
    flight.response = { remaining: limit - this.#used, resetAt, date: Math.floor(now / 1000) * 1000 };
  }

  answer(flight: Flight | undefined): void {
    if (!flight?.response) return;
    this.flights.splice(this.flights.indexOf(flight), 1);
    const { remaining, resetAt, date } = flight.response;
    const observation: Observation = {
      at: this.now,
      status: flight.refused ? 429 : 200,
      refused: flight.refused,
      limit: this.#world.limit,
      remaining,
      reset: { at: resetAt, clock: 'server', resolution: 1000 },
      offset: { lo: date - this.now, hi: date + 1000 - flight.sentAt },
      waitMs: flight.refused ? Math.max(0, resetAt - date) : undefined,
      waitFrom: flight.refused ? 'reset' : 'backoff',
      jitterDraw: 0,
    };
    this.write({ kind: 'response', at: this.now, id: flight.id, seen: observation });
  }

  lose(flight: Flight | undefined, how: 'unsent' | 'lost' | 'dead'): void {
    if (!flight || (how === 'unsent' && flight.response)) return;
    if (flight.response && this.state.tickets.get(flight.id)?.canary) this.unknown++;
    this.flights.splice(this.flights.indexOf(flight), 1);
    this.write({ kind: 'closed', at: this.now, id: flight.id, how });
  }
}

const world = fc.record({
  windowMs: fc.integer({ min: 3, max: 20 }).map((s) => s * 1000),
  limit: fc.integer({ min: 1, max: 12 }),
  skewMs: fc.oneof(fc.integer({ min: -1500, max: 1500 }), fc.constantFrom(3_600_000, -3_600_000)),
  resetDown: fc.boolean(),
  phase: fc.oneof(fc.constant(0), fc.nat(999)),
});
// What happens next, and to which of the requests in flight.
const step = fc.record({
  what: fc.constantFrom(
    'take',
    'take',
    'take',
    'arrive',
    'arrive',
    'answer',
    'answer',
    'answer',
    'lost',
    'dead',
    'unsent',
    'later',
    'roll over',
    'about the reset',
  ),
  which: fc.nat(30),
  ms: fc.oneof({ weight: 4, arbitrary: fc.nat(120) }, { weight: 1, arbitrary: fc.nat(9000) }),
});

function play(settings: World, steps: readonly { what: string; which: number; ms: number }[]): Model {
  const model = new Model(settings);
  for (const { what, which, ms } of steps) {
    if (what === 'later') model.now += ms;
    else if (what === 'roll over') model.rollOver(ms % 1200);
    else if (what === 'about the reset') model.approach(((7 * ms) % 1300) - 300);
    else model.now += ms % 40;
    // An attempt ends by its timeout, which is shorter than the ticket's lease.
    for (const old of model.flights.filter((one) => model.now > one.sentAt + LEASE - 1000)) model.lose(old, 'lost');
    const flight = model.flights[which % Math.max(1, model.flights.length)];
    if (what === 'take') model.take(which % 2 === 1);
    if (what === 'arrive') model.arrive(flight);
    if (what === 'answer') {
      model.arrive(flight);
      model.answer(flight);
    }
    if (what === 'lost' || what === 'dead' || what === 'unsent') model.lose(flight, what);
  }
  return model;
}

test('in 6,000 random interleavings no window is overdrawn', () => {
  let granted = 0;
  let exact = 0;
  fc.assert(
    fc.property(world, fc.array(step, { minLength: 20, maxLength: 120 }), (settings, steps) => {
      const model = play(settings, steps);
      granted += model.granted;
      expect(model.overdrawn).toBeLessThanOrEqual(model.unknown);
      exact += model.unknown === 0 ? 1 : 0;
    }),
    { numRuns: 6_000 },
  );
  expect(granted).toBeGreaterThan(6_000);
  expect(exact).toBeGreaterThan(3000);
});

test('all processes agree, whether they read from the start, from any snapshot, or looked in between', () => {
  fc.assert(
    fc.property(world, fc.array(step, { minLength: 5, maxLength: 60 }), fc.nat(60), (settings, steps, cut) => {
      const { lines, state, now } = play(settings, steps);
      const looking = initialState();
      for (const line of lines) {
        admit(looking, Math.max(now, looking.time));
        ledgerFormat.apply(looking, line);
      }
      expect(looking).toEqual(state);
      const before = initialState();
      for (const line of lines.slice(0, cut)) ledgerFormat.apply(before, line);
      const after = initialState();
      for (const line of ledgerFormat.snapshot(before)) ledgerFormat.apply(after, line);
      for (const line of lines.slice(cut)) ledgerFormat.apply(after, line);
      expect(after).toEqual(state);
      expect([...ledgerFormat.snapshot(after)]).toEqual([...ledgerFormat.snapshot(state)]);
    }),
    { numRuns: 2000 },
  );
});
