// Decoding of responses: every digit and field is kept, and errors name the problem without quoting the response.
import { expect, test } from 'vitest';
import { decodeCreated, decodeList, hasNextPage } from '../../src/api/decode.ts';
import type { HttpResponse } from '../../src/http/types.ts';
import { stringifyJson } from '../../src/text/json.ts';

const response = (body: string | Uint8Array, headers = {}): HttpResponse => {
  return { status: 200, headers, body: Buffer.from(body), receivedAt: 0, sentAt: 0 };
};
const list = (...args: Parameters<typeof response>) => decodeList(response(...args));

test('an id keeps every digit up to the largest int64', () => {
  const [category] = list('[{"id":9223372036854775807,"name":"dog"}]');
  expect(category?.id).toBe(9223372036854775807n);
  expect(stringifyJson(category)).toBe('{"id":9223372036854775807,"name":"dog"}');
});

test('additional fields of a category are kept, with exact integers and names such as "__proto__"', () => {
  const text = '{"id":1,"name":"dog","legs":4.5,"__proto__":{"polluted":true},"big":1234567890123456789}';
  const category = decodeCreated(response(text));
  expect(stringifyJson(category)).toBe(text);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

test('a description of null and a byte order mark before a list are ignored', () => {
  expect(list('\ufeff[{"id":1,"name":"dog","description":null}]')).toEqual([{ id: 1, name: 'dog' }]);
});

function expectInvalid(text: string, problem: string): void {
  const error = { kind: 'service', status: 200, message: `invalid response: ${problem}` };
  expect(() => list(text)).toThrow(expect.objectContaining(error));
}

test.each([
  ['{"data":[]}', 'expected an array of categories'],
  ['null', 'expected an array of categories'],
  ['[{"id":1,"name":"dog"},7]', 'item 2 of the list is not an object'],
  ['[[]]', 'item 1 of the list is not an object'],
  ['[{"id":1}]', 'item 1 of the list has no name'],
  ['[{"id":1,"name":"a","description":[]}]', 'item 1 of the list has a description that is not a string'],
  ...['9223372036854775808', '-9223372036854775809', '1.5', '"1"', 'null', 'true'].map((id): [string, string] => [
    `[{"id":${id},"name":"dog"}]`,
    'item 1 of the list has no integer id',
  ]),
])('the list response %s is invalid: %s', expectInvalid);

test('a list with JSON nested 20,000 levels deep is invalid', () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  expectInvalid(`[{"id":1,"name":"dog","x":${deep}}]`, 'JSON nested more than 100 levels deep');
});

test.each([
  [
    'HTML',
    'expected JSON, got text/html',
    '<html>sk_live_secret</html>',
    { 'content-type': 'text/html; charset=utf-8' },
  ],
  ['HTML without a content type', 'not valid JSON', '<html>sk_live_secret</html>', {}],
  ['no body', 'expected JSON, got an empty body', '', {}],
  ['bytes that are not UTF-8', 'not UTF-8', Uint8Array.of(0x22, 0xff, 0x22), {}],
])('a response with %s causes the error "invalid response: %s"', (_what, problem, body, headers) => {
  const error = { message: `invalid response: ${problem}`, hint: 'check the base URL' };
  expect(() => list(body, headers)).toThrow(expect.objectContaining(error));
});

test.each([
  ['</v1/categories?page=2>; rel="next"', 'has a'],
  ['<a>; rel="prev"; title="x", <b>; title="y" ; REL = next', 'has a'],
  ['<a>; rel="last next"', 'has a'],
  ['<a>; rel="prev"; title="next"', 'has no'],
  ['<a;rel=next>; rel="prev"', 'has no'],
  ['<a>; rel=prev; title=next', 'has no'],
  ['', 'has no'],
])('a list with the header `Link: %s` %s next page', (link, has) => {
  expect([hasNextPage(response('[]', { link })), hasNextPage(response('[]'))]).toEqual([has === 'has a', false]);
});
