// The lines of a log file: torn and damaged lines are never read as records.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  FILE_STARTS,
  parseLine,
  recordFrame,
  SEAL_FRAME,
  snapshotFrame,
  withChecksum,
  withoutChecksum,
} from '../../src/shared-log/framing.ts';

const meaning = (text: string) => text.split('\n').flatMap((line) => parseLine(line) ?? []);
const record = fc.string().map((text) => text.replaceAll('\n', ' '));
const ID = '5f0a1b2c3d4e1z';

test('a record with its ID, a snapshot with its size, and a seal are read as they were written', () => {
  fc.assert(
    fc.property(record, fc.array(record), (one, records) => {
      const snapshot = snapshotFrame(records);
      expect(meaning(recordFrame(ID, one) + snapshot + SEAL_FRAME)).toEqual([
        { is: 'record', id: ID, record: one },
        { is: 'snapshot', records, size: snapshot.length - '~\n\n'.length },
        { is: 'seal' },
      ]);
    }),
  );
});

test.each([
  ['record', recordFrame(ID, '{"a":"b . c"}')],
  ['snapshot', snapshotFrame(['a . ', 'b'])],
  ['seal', SEAL_FRAME],
])('a %s that was torn anywhere is void, and does not damage the frame after it', (_what, frame) => {
  const next = recordFrame(ID, 'next');
  for (let length = 0; length < frame.length; length++)
    expect(meaning(frame.slice(0, length) + next)).toEqual([{ is: 'record', id: ID, record: 'next' }]);
});

test.each([
  ['a changed letter', recordFrame(ID, 'category').replace('gory', 'gary')],
  ['a lost letter', recordFrame(ID, 'category').replace('gory', 'gor')],
  ['a changed snapshot', snapshotFrame(['a']).replace('"a"', '"b"')],
  ['a record without a checksum', '~\nID record .\n'],
  ['a line without an ID', '~\nrecord .\n'],
  ['an empty line', '~\n .\n'],
])('%s is read as damage', (_what, text) => {
  expect(meaning(text)).toEqual([{ is: 'damaged' }]);
});

test('every frame begins with a valid start of a log file', () => {
  for (const frame of [recordFrame(ID, 'a'), snapshotFrame([]), SEAL_FRAME])
    expect(FILE_STARTS.some((start) => frame.startsWith(start))).toBe(true);
});

test('a checksum matches only its own record', () => {
  expect(withoutChecksum(withChecksum('ab cd'))).toBe('ab cd');
  const framed = withChecksum('ab cd');
  for (const text of ['', 'ab cd', ` ${framed}`, `${framed} `, framed.slice(0, -1)])
    expect(withoutChecksum(text)).toBeUndefined();
});
