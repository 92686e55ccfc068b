// The ledger's records: read back as written, validated, and bound to the version in the file's name.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { admit } from '../../src/rate-limit/admission.ts';
import type { LedgerRecord } from '../../src/rate-limit/ledger-record.ts';
import { formatRecord, parseRecord } from '../../src/rate-limit/ledger-record.ts';
import type { LedgerState } from '../../src/rate-limit/ledger-state.ts';
import { initialState } from '../../src/rate-limit/ledger-state.ts';
import { quotaView } from '../../src/rate-limit/quota-view.ts';
import { ledgerFormat } from '../../src/rate-limit/reducer.ts';
import { LEDGER_VERSION, RULES } from '../../src/rate-limit/rules.ts';
import { mutated } from '../support/mutations.ts';
import { history, refused, START, seen } from '../support/records.ts';

// Where the rules change and the version does not, two versions of the program disagree about one ledger.
const RULES_OF_VERSION: Readonly<Record<number, string>> = { 5: '2aa36984c5345c47' };

test('the rules are those of the ledger version in the file’s name', () => {
  const hash = createHash('sha256').update(JSON.stringify(RULES)).digest('hex').slice(0, 16);
  expect(RULES_OF_VERSION).toHaveProperty(String(LEDGER_VERSION), hash);
});

const time = fc.integer({ min: -8e15, max: 8e15 });
const number = fc.option(fc.nat(1_000_000), { nil: undefined });
const observation = fc.record({
  at: time,
  status: fc.integer({ min: 100, max: 599 }),
  refused: fc.boolean(),
  limit: number,
  remaining: number,
  reset: fc.option(
    fc.record({
      at: fc.double({ min: 0, max: 8e15, noNaN: true }),
      clock: fc.constantFrom('server' as const, 'local' as const),
      resolution: fc.constantFrom(1, 1000),
    }),
    { nil: undefined },
  ),
  offset: fc.option(fc.record({ lo: fc.integer(), hi: fc.integer() }), { nil: undefined }),
  waitMs: fc.option(fc.double({ min: 0, max: 8e15, noNaN: true }), { nil: undefined }),
  waitFrom: fc.constantFrom('retry-after' as const, 'reset' as const, 'backoff' as const),
  jitterDraw: fc.nat(999),
});

test('whatever a header says, its record is read back: one that is not would be a 429 that nobody knows of', () => {
  fc.assert(
    fc.property(observation, time, (response, at) => {
      const record: LedgerRecord = { kind: 'response', at, id: 'abc', seen: response };
      expect(JSON.stringify(parseRecord(formatRecord(record)))).toBe(formatRecord(record));
    }),
  );
});

test.each([
  '',
  'T 1 2 3',
  'null',
  '[]',
  '{"kind":"ticket","at":1}',
  '{"kind":"toString","at":1}',
  '{"kind":"clock","at":"1"}',
  '{"kind":"clock","at":1e300}',
  '{"kind":"closed","at":1,"id":"a","how":"gone"}',
  '{"kind":"response","at":1,"id":"a","seen":{"at":1,"status":200}}',
  '{"kind":"response","at":1,"id":"a","seen":null}',
])('a damaged record is ignored: %s', (text) => {
  expect(parseRecord(text)).toBeUndefined();
  const state = initialState();
  ledgerFormat.apply(state, text);
  expect(state).toEqual(initialState());
});

const busy = (): LedgerState =>
  history({ take: START }, seen(START, { offset: { lo: -5, hi: 5 } }), { take: START + 1 }, refused(START + 2), {
    take: START + 5002,
  });

const restored = (line: string): LedgerState => {
  const state = initialState();
  ledgerFormat.apply(state, line);
  return state;
};
const snapshotOf = (state: LedgerState): string => [...ledgerFormat.snapshot(state)].join();

test('a snapshot gives the state back', () => {
  expect(JSON.stringify([...restored(snapshotOf(busy())).tickets])).toBe(JSON.stringify([...busy().tickets]));
  expect(snapshotOf(restored(snapshotOf(busy())))).toBe(snapshotOf(busy()));
});

test('a snapshot behind other records is ignored', () => {
  const state = history({ take: START });
  ledgerFormat.apply(state, snapshotOf(busy()));
  expect(state.seq).toBe(1);
});

test('a damaged snapshot never stops anybody for longer than the rules allow, and nothing throws (3,000 mutations)', () => {
  fc.assert(
    fc.property(mutated([snapshotOf(busy())]), (bytes) => {
      const state = restored(bytes.toString());
      const now = Math.max(START + 60_000, state.time);
      const admission = admit(state, now);
      const latest = state.time + 1.1 * Math.max(RULES.blockCapMs, RULES.farthestResetMs);
      if ('until' in admission) expect(admission.until).toBeLessThanOrEqual(Math.max(now, latest) + RULES.floorCapMs);
      const view = quotaView(state, now, true);
      expect(() => new Date(view.nextAt ?? 0).toISOString()).not.toThrow();
      ledgerFormat.apply(state, formatRecord({ kind: 'clock', at: START }));
      expect(() => snapshotOf(state)).not.toThrow();
    }),
    { numRuns: 3000 },
  );
});

test('a snapshot that blocks until the year 33658 blocks for 25 hours at most', () => {
  const state = history({ take: START }, refused(START));
  const far = snapshotOf(state).replace(/"until":\d+/, '"until":999999999999999');
  expect((restored(far).block?.until ?? 0) - START).toBeLessThanOrEqual(1.1 * 25 * 3_600_000);
  const window = snapshotOf(history({ take: START }, seen(START, { remaining: 0 }))).replace(
    /("short":.*?"reset":\{"at":)\d+/,
    '$1999999999999999',
  );
  expect(restored(window)).toMatchObject({ short: undefined, seq: 2 });
});
