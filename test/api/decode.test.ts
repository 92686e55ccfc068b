// Decoding of responses: every digit and field is kept, and errors name the problem without quoting the response.
import { expect, test } from 'vitest';
import { DecodeError, decodeCategories, decodeCategory, decodeJson } from '../../src/api/decode.ts';
import { decodeServiceError } from '../../src/http/error-body.ts';
import { stringifyJson } from '../../src/json.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const list = (text: string) => decodeCategories(decodeJson(bytes(text), {}));

test('an id keeps every digit up to the largest int64', () => {
  const [category] = list('[{"id":9223372036854775807,"name":"dog"}]');
  expect(category?.id).toBe(9223372036854775807n);
  expect(stringifyJson(category)).toBe('{"id":9223372036854775807,"name":"dog"}');
});

test('an id that is not an int64 is rejected', () => {
  for (const id of ['9223372036854775808', '-9223372036854775809', '1.5', '1.0', '1e3', '"1"', 'null', 'true']) {
    expect(() => list(`[{"id":${id},"name":"dog"}]`), id).toThrow(/category 1 has no integer id/);
  }
});

test('additional fields are kept, with exact numbers and unusual names', () => {
  const text = '{"id":1,"name":"dog","legs":4.0,"__proto__":{"polluted":true},"big":12345678901234567890.5}';
  const category = decodeCategory(decodeJson(bytes(text), {}));
  expect(stringifyJson(category)).toBe(text);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

test('a description of null counts as absent', () => {
  expect(list('[{"id":1,"name":"dog","description":null}]')).toEqual([{ id: 1, name: 'dog' }]);
});

test('a document that is not a list is named by its type', () => {
  expect(() => list('{"data":[]}')).toThrow('expected an array of categories, got an object');
  expect(() => list('null')).toThrow('expected an array of categories, got null');
  expect(() => list('[{"id":1,"name":"dog"},7]')).toThrow('category 2 is a number, not an object');
  expect(() => list('[{"id":1}]')).toThrow('category 1 has no name');
  expect(() => list('[{"id":1,"name":"a","description":[]}]')).toThrow(
    'category 1 has a description that is an array, not a string',
  );
});

test('a body that is not JSON is named by its media type and never quoted', () => {
  const html = bytes('<html>sk_live_secret</html>');
  expect(() => decodeJson(html, { 'content-type': 'text/html; charset=utf-8' })).toThrow(
    'expected JSON, got text/html',
  );
  expect(() => decodeJson(html, {})).toThrow(/^expected JSON, got something else$/);
  expect(() => decodeJson(bytes(''), {})).toThrow('expected JSON, got an empty body');
  expect(() => decodeJson(Uint8Array.of(0x22, 0xff, 0x22), {})).toThrow(DecodeError);
});

test('deep nesting is rejected without a stack overflow', () => {
  const deep = `[{"id":1,"name":"dog","x":${'['.repeat(20_000)}${']'.repeat(20_000)}}]`;
  expect(() => list(deep)).toThrow('nested more than 100 levels deep');
});

test('an Error body is decoded as far as possible', () => {
  expect(decodeServiceError(bytes('{"code":"invalid","message":"no name","status":400}'))).toEqual({
    code: 'invalid',
    message: 'no name',
  });
  expect(decodeServiceError(bytes('{"code":7,"message":" "}'))).toEqual({ code: undefined, message: undefined });
  expect(decodeServiceError(bytes('<html>'))).toEqual({ code: undefined, message: undefined });
  expect(decodeServiceError(bytes(JSON.stringify({ message: 'x'.repeat(9999) }))).message).toHaveLength(501);
});

test('a byte order mark is ignored', () => {
  expect(list('\ufeff[{"id":1,"name":"dog"}]')).toEqual([{ id: 1, name: 'dog' }]);
});
