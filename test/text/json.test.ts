// JSON with exact integers: all digits are kept, and invalid and hostile documents are rejected.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson, stringifyJson, toPlainJson } from '../../src/text/json.ts';

test.each([
  '9223372036854775807',
  '-9223372036854775808',
  '9007199254740993',
  '[{"id":1234567890123456789}]',
  '{"a":[1.5,-9007199254740993,2]}',
  '{"a":"9007199254740993","b":9007199254740993}',
  '{"__proto__":{"polluted":9007199254740993}}',
])('the JSON document %s is written as it was read', (text) => {
  expect(stringifyJson(parseJson(text))).toBe(text);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

test('an integer of 2^53 or more is parsed as a bigint, and the last of two fields with one name is kept', () => {
  expect(parseJson('[9007199254740991,9007199254740992]')).toEqual([9007199254740991, 9007199254740992n]);
  expect(parseJson('{"a":1,"a": 9007199254740993}')).toEqual({ a: 9007199254740993n });
  expect(toPlainJson([1, 9007199254740993n])).toEqual([1, 9007199254740992]);
});

test.each([
  ...'{"a":1,} 007 [1000000000000000007,007] {1e5:2} {1000000000000000000:1} 1. .5e3 1e51e5 1.5.5e1 [1e3-1]'.split(' '),
  ...['"open 1.5e3', '1e5 "open', '"a\\"', '[1e999"a"]', 'NaN', '', ' ', "{'a':1.0}", '["\n", 1.0]'],
])('the invalid JSON document %j is rejected with an error that does not quote it', (text) => {
  expect(() => JSON.parse(text)).toThrow(SyntaxError);
  expect(() => parseJson(text)).toThrow(/^not valid JSON$/);
});

test('digits in strings with quotes and backslashes are not parsed as numbers', () => {
  for (const value of ['9007199254740993', 'a", 9007199254740993, "b', '\\', '\\"1e5\\\\', ', -0', '[1.0']) {
    const text = JSON.stringify([value, { [value]: value }, 1]).replace(/,1\]$/, ',9007199254740993]');
    expect(stringifyJson(parseJson(text))).toBe(text);
  }
});

const token = fc.constantFrom(
  ...'{ } [ ] , : " \\ - 0 1 1234567890123456789 . e E5 + true "a"'.split(' '),
  ...[' ', '\n'],
);

test('`parseJson` parses a random text without 20 digits in a row as `JSON.parse` does', () => {
  const rewritten = (parse: (text: string) => unknown, text: string): string => {
    try {
      return JSON.stringify(JSON.parse(stringifyJson(parse(text))));
    } catch {
      return 'invalid';
    }
  };
  const tokens = fc.array(token, { maxLength: 9 }).map((some) => some.join(''));
  const isSame = (text: string): boolean => {
    fc.pre(!/\d{20}/.test(text));
    return rewritten(parseJson, text) === rewritten(JSON.parse, text);
  };
  fc.assert(fc.property(fc.oneof(tokens, fc.json({ maxDepth: 4 })), isSame), { numRuns: 4000 });
});

test.each([20, 1_000_000])('an integer of %i digits is rejected, and one of 19 is not', (digits) => {
  const text = '9'.repeat(digits);
  expect(() => parseJson(`{"id":-${text}}`)).toThrow(/^an integer has more than 19 digits$/);
  expect(() => parseJson(text)).toThrow(SyntaxError);
  expect(parseJson(`[-${'9'.repeat(19)},"${text}",0.${text}]`)).toEqual([-9999999999999999999n, text, 1]);
});

test('a JSON document nested more than 100 levels deep is rejected', () => {
  const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
  expect(stringifyJson(parseJson(nested(100)))).toBe(nested(100));
  expect(() => parseJson(nested(101))).toThrow('nested more than 100 levels deep');
  expect(() => parseJson(nested(100_000))).toThrow(SyntaxError);
  expect(() => parseJson(`[9007199254740993,${nested(100_000)}]`)).toThrow(SyntaxError);
});

test('`stringifyJson` writes undefined as null, and a bigint with all digits', () => {
  expect(stringifyJson(undefined)).toBe('null');
  expect(stringifyJson({ a: 1n, b: [2n ** 64n] }, 2)).toBe('{\n  "a": 1,\n  "b": [\n    18446744073709551616\n  ]\n}');
});
