// The ledger's records: read back as written, and validated.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LedgerRecord } from '../../src/rate-limit/ledger-record.ts';
import { formatRecord, parseRecord } from '../../src/rate-limit/ledger-record.ts';
import { initialState } from '../../src/rate-limit/policy.ts';
import { reduceLine } from '../support/records.ts';

const time = fc.integer({ min: -8e15, max: 8e15 });
const number = fc.option(fc.nat(1_000_000), { nil: undefined });
const reset = fc.record({
  at: fc.double({ min: 0, max: 8e15, noNaN: true }),
  clock: fc.constantFrom('service' as const, 'local' as const),
  resolution: fc.constantFrom(1, 1000),
});
const observation = fc.record({
  status: fc.integer({ min: 100, max: 599 }),
  refused: fc.boolean(),
  limit: number,
  remaining: number,
  reset: fc.option(reset, { nil: undefined }),
  offset: fc.option(fc.record({ lo: fc.integer(), hi: fc.integer() }), { nil: undefined }),
  waitMs: fc.option(fc.double({ min: 0, max: 8e15, noNaN: true }), { nil: undefined }),
  waitFrom: fc.constantFrom('retry_after' as const, 'reset' as const, 'backoff' as const),
});

test('the record of every observation is read back as written', () => {
  fc.assert(
    fc.property(observation, time, fc.nat(999), (seen, at, jitterDraw) => {
      const record: LedgerRecord = { kind: 'response', at, id: 'abc', seen: { ...seen, at }, jitterDraw };
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
  '{"kind":"block","at":1,"until":"2","reason":"reset"}',
  '{"kind":"response","at":1,"id":"a","seen":{"at":1,"status":200}}',
  '{"kind":"response","at":1,"id":"a","seen":null}',
  '{"kind":"response","at":1,"id":"a","seen":{"at":9,"status":200,"refused":false,"waitFrom":"reset"},"jitterDraw":0}',
  '{"kind":"response","at":1,"id":"a","seen":{"at":1,"status":200,"refused":false,"waitFrom":"reset"},"jitterDraw":-1}',
])('the damaged record %j is ignored', (text) => {
  expect(parseRecord(text)).toBeUndefined();
  const state = initialState();
  reduceLine(state, text);
  expect(state).toEqual(initialState());
});
