// The ledger's format: all processes reduce the same records to the same state, even from a snapshot.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { admit } from '../../src/rate-limit/admission.ts';
import type { KeyState, LedgerEvent, RateLimitReading } from '../../src/rate-limit/key-state.ts';
import { initialState } from '../../src/rate-limit/key-state.ts';
import { ledgerFormat, recordOf } from '../../src/rate-limit/policy.ts';
import { LEDGER_VERSION, RULES } from '../../src/rate-limit/rules.ts';
import { LEASE, play, refused, START } from '../support/records.ts';

// `PROPERTY_RUNS=10 npx vitest run test/rate-limit` runs ten times as many cases.
const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 1);

const id = fc.constantFrom('a', 'b', 'c', 'd');
const reading: fc.Arbitrary<RateLimitReading> = fc
  .record({
    status: fc.constantFrom(200, 201, 429, 502),
    limit: fc.option(fc.constantFrom(3, 60, 1000), { nil: undefined }),
    remaining: fc.option(fc.nat(3), { nil: undefined }),
    resetInMs: fc.nat(90_000),
    waitMs: fc.option(fc.nat(9000), { nil: undefined }),
    waitFrom: fc.constantFrom('retry_after' as const, 'reset' as const, 'backoff' as const),
  })
  .map((facts) => ({ ...facts, refused: facts.status === 429 }));
const event: fc.Arbitrary<LedgerEvent> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('ticket'), id, leaseMs: fc.constant(LEASE) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('response'), id, reading, jitterDraw: fc.nat(999) }) },
  fc.record({ kind: fc.constantFrom('unsent', 'lost'), id }),
  fc.record({ kind: fc.constantFrom('clock', 'forget') }),
);

/** The lines of records, each up to 3 s after the one before it or, if a clock was set back, 10 s earlier. */
const lines = fc
  .array(fc.tuple(event, fc.oneof({ weight: 9, arbitrary: fc.nat(3000) }, fc.constant(-10_000))), { maxLength: 60 })
  .map((steps) => {
    let at = START;
    return steps.map(([one, ms]) => {
      at += ms;
      return recordOf(one)(at);
    });
  });

function reduced(all: readonly string[], onRecord: (state: KeyState) => void = () => undefined): KeyState {
  const state = initialState();
  for (const line of all) {
    ledgerFormat.apply(state, line);
    onRecord(state);
  }
  return state;
}

test('all processes derive the same state, whether they read from the start or from a snapshot', () => {
  let granted = 0;
  fc.assert(
    fc.property(lines, fc.nat(60), (all, cut) => {
      const state = reduced(all, ({ tickets }) => {
        granted += tickets.length;
      });
      expect(reduced(all, (asking) => void admit(asking, asking.time + 1000))).toEqual(state);
      const snapshot = [...ledgerFormat.snapshot(reduced(all.slice(0, cut)))];
      expect(reduced([...snapshot, ...all.slice(cut)])).toEqual(state);
    }),
    { numRuns: 1000 * RUNS },
  );
  expect(granted).toBeGreaterThan(1000 * RUNS);
});

test("the state server's time replaces the time in a record from the server", () => {
  const state = play('0 take t1');
  const line = recordOf({ kind: 'response', id: 't1', reading: refused(), jitterDraw: 0 })(0);
  ledgerFormat.apply(state, line, START + 4000);
  expect(state.block?.until).toBe(START + 9000);
});

// Two versions of the program with different rules would disagree about one ledger.
const RULES_OF_VERSION: Readonly<Record<number, string>> = { 16: '864e522cf57edee1' };

test("the rules change only together with the version in the ledger's file name", () => {
  const hash = createHash('sha256').update(JSON.stringify(RULES)).digest('hex').slice(0, 16);
  expect(RULES_OF_VERSION).toHaveProperty(String(LEDGER_VERSION), hash);
});
