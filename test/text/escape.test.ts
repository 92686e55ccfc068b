// Escaping of untrusted text, which must not control a terminal or hide text.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapeControls, terminalSafeJson } from '../../src/text/escape.ts';

// Independent of the pattern under test; a list, because \p{Cf} includes visible Arabic signs.
const DANGEROUS =
  /[\u0000-\u001f\u007f-\u009f]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\p{Zl}|\p{Zp}|\p{Cs}|[\u200b\u2060\ufeff]|[\u{e0000}-\u{e007f}]/u;

// Random text with escape sequences, C1, bidi and tag characters, lone surrogates, emoji and letters.
const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\u001b[2J', '\u001b]0;x\u0007', '\u001b]52;c;aGk=\u0007', '\u009b31m'),
    fc.constantFrom(...'\u009d\u202e\u2066\r\n\t\b\u007f\u0000\u2028\ufeff\u200b\u200d', '\ud83d', '\udc00'),
    fc.constantFrom('👩‍👩‍👧', '🏳️‍🌈', '犬', 'é', '\u{e0041}', 'a', '"', '\\'),
    fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code)),
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
  ),
  maxLength: 12,
});

test('escaping leaves no dangerous character, removes no letter and keeps the value of JSON', () => {
  const letters = (text: string): number => text.match(/[a-zA-Z0-9犬é"\\]/g)?.length ?? 0;
  fc.assert(
    fc.property(hostile, (text) => {
      const shown = escapeControls(text);
      const json = terminalSafeJson(JSON.stringify([text]));
      const hasAllLetters = letters(shown.replace(/<U\+[0-9A-F]+>/g, '')) >= letters(text);
      const isSafe = !DANGEROUS.test(shown) && !DANGEROUS.test(json);
      return isSafe && hasAllLetters && escapeControls(shown) === shown && JSON.parse(json)[0] === text;
    }),
    { numRuns: 25_000 },
  );
});

test.each([
  ['a\u001b[31mb', 'a␛[31mb'],
  ['a\u0000\u007f', 'a␀␡'],
  ['x\u009b31m', 'x<U+009B>31m'],
  ['\u{e0041}', '<U+E0041>'],
  ['👩🏽‍🚀 and 👨‍👩‍👧', '👩🏽‍🚀 and 👨‍👩‍👧'],
  ['🏳️‍🌈', '🏳️‍🌈'],
  ['a\u200db', 'a<U+200D>b'],
  ['سگ\u200cها', 'سگ\u200cها'],
  ['क्\u200dष', 'क्\u200dष'],
  ['سگ\u200c', 'سگ<U+200C>'],
  ['\u200dक', '<U+200D>क'],
  ['क\u{e0148}\u200dष', 'क<U+E0148><U+200D>ष'],
  ['क\u200d\u3164', 'क<U+200D><U+3164>'],
  ['犬 café ñ 🐕', '犬 café ñ 🐕'],
])('the text %j is shown as %s', (text, shown) => {
  expect(escapeControls(text)).toBe(shown);
});
