// How wide text is on a terminal: CJK, emoji and combining characters, and cutting at the right place.
import fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { escapeControls } from '../../src/escape.ts';
import { cellWidth, pad, truncate } from '../../src/output/cell-width.ts';

test.each([
  ['dog', 3],
  ['犬', 2],
  ['ﾊﾝｶｸ', 4],
  ['ねこ', 4],
  ['강아지', 6],
  ['e\u0301', 1],
  ['é', 1],
  ['👩‍👩‍👧', 2],
  ['🐕', 2],
  ['👍🏽', 2],
  ['🇩🇪', 2],
  ['नमस्ते', 3],
  ['…', 1],
  ['', 0],
])('%s takes %i cells', (text, cells) => {
  expect(cellWidth(text)).toBe(cells);
});

const letters = fc.string({ unit: 'grapheme', maxLength: 20 });

test('simple letters are measured as string-width measures them', () => {
  const simple = fc.string({ unit: fc.constantFrom(...'aZ9 ~éñßàŒΩжЯ–“”…ねコ犬猫가힣') });
  fc.assert(
    fc.property(
      fc.oneof(simple, letters),
      (text) => cellWidth(escapeControls(text)) === stringWidth(escapeControls(text)),
    ),
  );
});

test('truncated text is never too wide, and text that fits is not truncated', () => {
  fc.assert(
    fc.property(letters, fc.integer({ min: 0, max: 30 }), (raw, width) => {
      const text = escapeControls(raw);
      const short = truncate(text, width);
      if (cellWidth(short) > width) throw new Error(`${JSON.stringify(text)} at ${width}: ${JSON.stringify(short)}`);
      if (cellWidth(text) <= width && width > 0) expect(short).toBe(text);
    }),
    { numRuns: 20_000 },
  );
});

test('text is cut between grapheme clusters', () => {
  expect(truncate('犬と猫', 4)).toBe('犬…');
  expect(truncate('👩‍👩‍👧👩‍👩‍👧', 3)).toBe('👩‍👩‍👧…');
  expect(truncate('cafe\u0301s', 5)).toBe('cafe\u0301s');
  expect(truncate('cafe\u0301 bar', 5)).toBe('cafe\u0301…');
  expect(truncate('dachshund', 5)).toBe('dach…');
});

test('many combining marks are cut without measuring all of them', () => {
  const flood = `z${'\u0301'.repeat(5_000_000)}`;
  expect(truncate(flood, 10).length).toBeLessThan(1000);
});

test('padding counts cells, on both sides', () => {
  expect(pad('犬', 4)).toBe('犬  ');
  expect(pad('42', 4, 'right')).toBe('  42');
  expect(pad('too wide', 3)).toBe('too wide');
});
