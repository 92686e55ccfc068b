// The fold, by properties: whatever the order of grants, replies, losses and deaths, the window is never overdrawn.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { admit } from '../../src/rate-limit/admission.ts';
import type { LedgerRecord, Observation } from '../../src/rate-limit/ledger-record.ts';
import { formatRecord, parseRecord } from '../../src/rate-limit/ledger-record.ts';
import type { LedgerState } from '../../src/rate-limit/ledger-state.ts';
import { initialState } from '../../src/rate-limit/ledger-state.ts';
import { ledgerFormat } from '../../src/rate-limit/reducer.ts';
import { fold, LEASE, refused, START, seen } from '../support/records.ts';

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
  reply: { remaining: number; resetAt: number; date: number } | undefined;
  refused: boolean;
}

// One service, one log, any number of processes: which process writes a record makes no difference to the fold.
class Model {
  readonly lines: string[] = [];
  readonly state: LedgerState = initialState();
  readonly flights: Flight[] = [];
  overdrawn = 0;
  /** Requests that went alone to find out, were counted by the service, and whose reply never came: nobody can know of them. */
  untold = 0;
  granted = 0;
  readonly probes = { old: 0, next: 0 };
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

  /** @param rest as `admit` takes it */
  take(rest: number | undefined): void {
    const id = `t${this.#ids++}`;
    this.write({
      kind: 'ticket',
      at: this.now,
      id,
      pid: 1,
      start: 1,
      host: 'h',
      leaseMs: LEASE,
      rest,
    });
    if (!this.state.tickets.has(id)) return;
    this.granted++;
    this.flights.push({ id, sentAt: this.now, reply: undefined, refused: false });
  }

  /** To the moment after the reset at which somebody may go again, with whatever is still under way. */
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
    if (!flight || flight.reply) return;
    const { windowMs, limit, skewMs, resetDown, phase } = this.#world;
    const now = this.now + skewMs;
    const probe = this.state.tickets.get(flight.id)?.role === 'probe';
    if (probe) this.probes[now < this.#windowEnd ? 'old' : 'next']++;
    if (now >= this.#windowEnd) {
      this.#windowEnd = Math.floor((now - phase) / windowMs + 1) * windowMs + phase;
      this.#used = 0;
    }
    flight.refused = this.#used >= limit;
    if (flight.refused) this.overdrawn++;
    else this.#used++;
    const resetAt = (resetDown ? Math.floor : Math.ceil)(this.#windowEnd / 1000) * 1000;
    flight.reply = { remaining: limit - this.#used, resetAt, date: Math.floor(now / 1000) * 1000 };
  }

  answer(flight: Flight | undefined): void {
    if (!flight?.reply) return;
    this.flights.splice(this.flights.indexOf(flight), 1);
    const { remaining, resetAt, date } = flight.reply;
    const observation: Observation = {
      at: this.now,
      status: flight.refused ? 429 : 200,
      limit: this.#world.limit,
      remaining,
      reset: { at: resetAt, clock: 'server', resolution: 1000 },
      offset: { lo: date - this.now, hi: date + 1000 - flight.sentAt },
      waitMs: flight.refused ? Math.max(0, resetAt - date) : undefined,
      waitFrom: flight.refused ? 'reset' : 'backoff',
      lastAttempt: false,
      jitterDraw: 0,
    };
    this.write({ kind: 'reply', at: this.now, id: flight.id, observation });
  }

  lose(flight: Flight | undefined, how: 'unsent' | 'lost' | 'dead'): void {
    if (!flight || (how === 'unsent' && flight.reply)) return;
    if (flight.reply && this.state.tickets.get(flight.id)?.role === 'canary') this.untold++;
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
// What happens next, and to which of the requests under way.
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
    // A try ends with its time limit, which is shorter than the ticket's lease.
    for (const old of model.flights.filter((one) => model.now > one.sentAt + LEASE - 1000)) model.lose(old, 'lost');
    const flight = model.flights[which % Math.max(1, model.flights.length)];
    // A single request, one of many, or one of many whose number is known.
    if (what === 'take') model.take([undefined, 0, which + 1, which + 1][which % 4]);
    if (what === 'arrive') model.arrive(flight);
    if (what === 'answer') {
      model.arrive(flight);
      model.answer(flight);
    }
    if (what === 'lost' || what === 'dead' || what === 'unsent') model.lose(flight, what);
  }
  return model;
}

test('in 12,000 random interleavings no window is overdrawn', () => {
  let granted = 0;
  let exact = 0;
  fc.assert(
    fc.property(world, fc.array(step, { minLength: 20, maxLength: 120 }), (settings, steps) => {
      const model = play(settings, steps);
      granted += model.granted;
      expect(model.overdrawn).toBeLessThanOrEqual(model.untold);
      exact += model.untold === 0 ? 1 : 0;
    }),
    { numRuns: 12_000 },
  );
  expect(granted).toBeGreaterThan(12_000);
  expect(exact).toBeGreaterThan(6000);
});

test('in 12,000 runs whose end is known, probes meet the old window and the new one, and neither is overdrawn', () => {
  const known = fc.record({
    what: fc.constantFrom('take', 'take', 'arrive', 'answer', 'answer', 'lost', 'about the reset', 'about the reset'),
    which: fc.nat(14).map((n) => 4 * Math.floor(n / 2) + 2 + (n % 2)),
    ms: fc.nat(300),
  });
  const few = world.map((settings) => ({ ...settings, limit: 2 + (settings.limit % 4) }));
  const probes = { old: 0, next: 0 };
  fc.assert(
    fc.property(few, fc.array(known, { minLength: 30, maxLength: 90 }), (settings, steps) => {
      const model = play(settings, steps);
      expect(model.overdrawn).toBeLessThanOrEqual(model.untold);
      probes.old += model.probes.old;
      probes.next += model.probes.next;
    }),
    { numRuns: 12_000 },
  );
  expect(probes.old).toBeGreaterThan(500);
  expect(probes.next).toBeGreaterThan(500);
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

test('records survive being written and read, and nothing else is taken for one', () => {
  const time = fc.nat(2_000_000_000_000);
  const number = fc.option(fc.nat(1_000_000), { nil: undefined });
  const observation = fc.record({
    at: time,
    status: fc.integer({ min: 100, max: 599 }),
    limit: number,
    remaining: number,
    reset: fc.option(
      fc.record({
        at: time,
        clock: fc.constantFrom('server' as const, 'local' as const),
        resolution: fc.constantFrom(1, 1000),
      }),
      { nil: undefined },
    ),
    offset: fc.option(fc.record({ lo: fc.integer(), hi: fc.integer() }), { nil: undefined }),
    waitMs: number,
    waitFrom: fc.constantFrom('retry-after' as const, 'reset' as const, 'backoff' as const),
    lastAttempt: fc.boolean(),
    jitterDraw: fc.nat(999),
  });
  fc.assert(
    fc.property(observation, (seen) => {
      const record: LedgerRecord = { kind: 'reply', at: seen.at, id: 'abc', observation: seen };
      expect(parseRecord(formatRecord(record))).toEqual(record);
    }),
  );
  // Whatever a header holds: a record that is not read back would be a 429 that nobody knows of.
  const any = fc.oneof(fc.double({ noNaN: true }), fc.integer());
  fc.assert(
    fc.property(observation, any.map(Math.abs), any.map(Math.abs), any, (seen, at, waitMs, lo) => {
      const odd = { ...seen, waitMs, reset: { at, clock: 'server', resolution: 1 }, offset: { lo, hi: lo } } as const;
      expect(parseRecord(formatRecord({ kind: 'reply', at: 1, id: 'abc', observation: odd }))).toBeDefined();
      const ticket = { kind: 'ticket', at: 1, id: 'a', pid: 1, start: 1, host: 'h', rest: undefined } as const;
      expect(parseRecord(formatRecord({ ...ticket, leaseMs: waitMs }))).toBeDefined();
    }),
  );
  for (const text of ['', 'T 1 2', 'X 5 a gone', 'O 1 a 200', 'T 1 a 1 1 h 5 bulk', 'Q 1', 'C x']) {
    expect(parseRecord(text)).toBeUndefined();
  }
});

test('with no knowledge one request goes alone', () => {
  expect(admit(fold({ take: START }), START)).toMatchObject({ granted: false, reason: 'sibling' });
  expect(admit(fold({ take: START }, seen(START + 10)), START + 10)).toEqual({ granted: true, role: 'plain' });
});

test('without any rate-limit header requests go one by one', () => {
  const bare = seen(START + 10, { limit: undefined, remaining: undefined, reset: undefined });
  expect(admit(fold({ take: START }, bare), START + 20)).toEqual({ granted: true, role: 'canary' });
  expect(admit(fold({ take: START }, bare, { take: START + 20 }), START + 20)).toMatchObject({ reason: 'sibling' });
});

test('nothing left and no reset told: no end of the wait is made up, requests go one by one', () => {
  const empty = seen(START, { remaining: 0, reset: undefined });
  expect(admit(fold({ take: START }, empty), START + 10)).toEqual({ granted: true, role: 'canary' });
});

test('after a 429 nobody is granted before its time, and then one alone', () => {
  const state = fold({ take: START }, refused(START));
  expect(admit(state, START + 4999)).toEqual({ granted: false, until: START + 5000, reason: 'blocked' });
  expect(admit(state, START + 5000)).toEqual({ granted: true, role: 'canary' });
});

test('429s in a row wait at least twice as long each time, and an answer ends the row', () => {
  const waits: number[] = [];
  const state = initialState();
  let now = START;
  for (let i = 0; i < 5; i++) {
    ledgerFormat.apply(state, `T ${now} r${i} 1 1 h ${LEASE}`);
    ledgerFormat.apply(
      state,
      formatRecord({
        kind: 'reply',
        at: now,
        id: `r${i}`,
        observation: refused(now, { waitMs: i === 0 ? 3000 : 1000 }),
      }),
    );
    waits.push((state.block?.until ?? 0) - now);
    now = state.block?.until ?? 0;
  }
  expect(waits).toEqual([3000, 6000, 12_000, 24_000, 48_000]);
  ledgerFormat.apply(state, `T ${now} ok 1 1 h ${LEASE}`);
  ledgerFormat.apply(state, formatRecord({ kind: 'reply', at: now, id: 'ok', observation: seen(now) }));
  expect(state.block).toBeUndefined();
});

test('a Retry-After of zero still pauses a second, so a loop is never tight', () => {
  expect(fold({ take: START }, refused(START, { waitMs: 0 })).block?.until).toBe(START + 1000);
});

test('eight requests refused together are one refusal, and the longest wait holds', () => {
  const state = fold({ take: START }, seen(START));
  for (let i = 0; i < 8; i++) ledgerFormat.apply(state, `T ${START + 1} e${i} 1 1 h ${LEASE}`);
  for (let i = 0; i < 8; i++) {
    const observation = refused(START + 20 + i, { waitMs: 1000 * (i + 1) });
    ledgerFormat.apply(state, formatRecord({ kind: 'reply', at: START + 20 + i, id: `e${i}`, observation }));
  }
  expect(state.block).toMatchObject({ consecutive429s: 1, until: START + 27 + 8000 });
});

test('a late answer to an earlier request does not lift a block', () => {
  const state = fold({ take: START }, seen(START));
  ledgerFormat.apply(state, `T ${START + 1} early 1 1 h ${LEASE}`);
  ledgerFormat.apply(state, `T ${START + 2} later 1 1 h ${LEASE}`);
  ledgerFormat.apply(
    state,
    formatRecord({ kind: 'reply', at: START + 9, id: 'later', observation: refused(START + 9) }),
  );
  ledgerFormat.apply(
    state,
    formatRecord({ kind: 'reply', at: START + 20, id: 'early', observation: seen(START + 20) }),
  );
  expect(admit(state, START + 30)).toMatchObject({ granted: false, reason: 'blocked' });
});

test('the last try of the third refusal in a row blocks for a quarter of an hour, then half, then one', () => {
  const state = initialState();
  let now = START;
  const waits: number[] = [];
  for (let i = 0; i < 6; i++) {
    ledgerFormat.apply(state, `T ${now} s${i} 1 1 h ${LEASE}`);
    const observation = refused(now, { waitMs: 1000, lastAttempt: i >= 2 });
    ledgerFormat.apply(state, formatRecord({ kind: 'reply', at: now, id: `s${i}`, observation }));
    waits.push(((state.block?.until ?? 0) - now) / 1000);
    now = state.block?.until ?? 0;
  }
  expect(waits).toEqual([1, 2, 900, 1800, 3600, 3600]);
  expect(state.block?.reason).toBe('spent');
});

test('no header blocks a key for longer than 25 hours', () => {
  expect(fold({ take: START }, refused(START, { waitMs: 3_000_000_000 })).block?.until).toBe(START + 25 * 3_600_000);
});

test('jitter only lengthens a wait', () => {
  for (const jitterDraw of [0, 1, 500, 999]) {
    const state = fold({ take: START }, refused(START, { waitMs: 40_000, jitterDraw }));
    expect((state.block?.until ?? 0) - START).toBe(40_000 + jitterDraw);
  }
});

test('the day’s window counts beside the minute’s, and the tighter one decides', () => {
  const day = seen(START, {
    limit: 1000,
    remaining: 1,
    reset: { at: START + 9 * 3_600_000, clock: 'local', resolution: 1000 },
  });
  const state = fold({ take: START }, day, { take: START + 1 }, seen(START + 10));
  expect(state.long?.remaining).toBe(0);
  expect(state.short?.remaining).toBe(59);
  expect(admit(state, START + 20)).toEqual({ granted: false, until: START + 9 * 3_600_000 + 1000, reason: 'window' });
});

test('a minute that is over asks for one request alone, although the day’s window goes on', () => {
  const day = seen(START, {
    limit: 1000,
    remaining: 500,
    reset: { at: START + 9 * 3_600_000, clock: 'local', resolution: 1000 },
  });
  const state = fold({ take: START }, day, { take: START + 1 }, seen(START + 10));
  expect(admit(state, START + 62_000)).toEqual({ granted: true, role: 'canary' });
});

test('what others use of the key is seen, and a long run holds back twice their largest step; a single request does not', () => {
  const state = fold({ take: START }, seen(START), { take: START + 1 }, seen(START + 5, { remaining: 55 }));
  expect(state.short).toMatchObject({ foreign: 3, step: 3 });
  const scarce = fold({ take: START }, seen(START), { take: START + 1 }, seen(START + 5, { remaining: 6 }));
  expect(admit(scarce, START + 10, 0)).toMatchObject({ granted: false, reason: 'window' });
  expect(admit(scarce, START + 10)).toEqual({ granted: true, role: 'plain' });
});

test('a clock set back by an hour moves everything with it, once, whoever notices', () => {
  const late = START + 3_600_000;
  const state = fold(
    { take: late },
    refused(late, { waitMs: 30_000 }),
    { text: `C ${START}` },
    { text: `C ${START + 5}` },
  );
  expect(state.time).toBe(START);
  expect(state.block?.until).toBe(START + 30_000);
  expect(admit(state, START + 29_999)).toMatchObject({ reason: 'blocked' });
});

test('forgetting drops blocks and windows, and keeps what is in flight', () => {
  const state = fold({ take: START }, refused(START), { take: START + 5000 }, { text: `F ${START + 5001}` });
  expect(state.block).toBeUndefined();
  expect(state.tickets.size).toBe(1);
  expect(admit(state, START + 5002)).toMatchObject({ granted: false, reason: 'sibling' });
});

test('a ticket that nobody closed stops counting as under way after its lease, and is owed until a reply settles it', () => {
  const two = { remaining: 1, limit: 2 };
  const state = fold({ take: START }, seen(START, two), { take: START + 1 });
  const later = START + 1 + LEASE + 1;
  expect(admit(state, later)).toMatchObject({ granted: false, reason: 'window' });
});

test('late requests of the window before may be counted after the one that went alone, and answered before it', () => {
  const next = { at: START + 120_000, clock: 'local', resolution: 1000 } as const;
  const state = fold({ take: START }, seen(START));
  ledgerFormat.apply(state, `T ${START + 59_000} late 1 1 h 9000`);
  ledgerFormat.apply(state, `T ${START + 62_000} alone 1 1 h 9000`);
  const told = (id: string, at: number, remaining: number): void =>
    ledgerFormat.apply(
      state,
      formatRecord({ kind: 'reply', at, id, observation: seen(at, { remaining, reset: next }) }),
    );
  told('late', START + 62_100, 58);
  told('alone', START + 62_200, 59);
  expect(state.short?.remaining).toBe(58);
});

test('a late reply does not bring back what others have used since, where resets wander', () => {
  const reset = (ms: number): { reset: Observation['reset'] } => ({
    reset: { at: START + ms, clock: 'server', resolution: 1 },
  });
  const state = fold({ take: START }, seen(START, { limit: 10, remaining: 9, ...reset(5000) }));
  for (const id of ['x', 'y']) ledgerFormat.apply(state, `T ${START + 4000} ${id} 1 1 h 9000`);
  const told = (id: string, at: number, remaining: number, ms: number): void =>
    ledgerFormat.apply(
      state,
      formatRecord({ kind: 'reply', at, id, observation: seen(at, { limit: 10, remaining, ...reset(ms) }) }),
    );
  told('y', START + 4100, 0, 5400);
  told('x', START + 5460, 1, 5600);
  expect(state.short?.remaining).toBe(0);
});

const serverReset = (ms: number): { reset: Observation['reset'] } => ({
  reset: { at: START + ms, clock: 'server', resolution: 1000 },
});

test('after a reset late requests and the one that goes alone fit into the new window together', () => {
  const one = { limit: 1, remaining: 1 };
  const state = fold({ take: START }, seen(START, one), { take: START + 59_000 });
  expect(admit(state, START + 61_500)).toMatchObject({ granted: false, reason: 'sibling' });
});

test('a 429 that tells its reset blocks until that reset is certainly over, were it rounded down', () => {
  const limited = seen(START, { status: 429, remaining: 0, waitMs: 5000, waitFrom: 'reset', ...serverReset(5000) });
  expect(fold({ take: START }, limited).block?.until).toBe(START + 6000);
});

test('a late reply of the window before changes nothing', () => {
  const state = fold({ take: START }, seen(START, serverReset(10_000)), { take: START + 9000 });
  ledgerFormat.apply(state, `T ${START + 11_500} next 1 1 h ${LEASE}`);
  const told = (id: string, at: number, remaining: number, ms: number): void => {
    const observation = seen(at, { remaining, ...serverReset(ms) });
    ledgerFormat.apply(state, formatRecord({ kind: 'reply', at, id, observation }));
  };
  told('next', START + 11_600, 59, 70_000);
  told('t2', START + 11_700, 3, 10_000);
  expect(state.short).toMatchObject({ remaining: 59, reset: { at: START + 70_000 } });
});

test('where quota comes back bit by bit, the reply to who went alone replaces what was known', () => {
  const state = fold({ take: START }, seen(START, { remaining: 0, ...serverReset(1000) }), { take: START + 2000 });
  const observation = seen(START + 2010, { remaining: 10, ...serverReset(2200) });
  ledgerFormat.apply(state, formatRecord({ kind: 'reply', at: START + 2010, id: 't2', observation }));
  expect(state.short?.remaining).toBe(10);
});
