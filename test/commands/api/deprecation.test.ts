// The notices about Deprecation, Sunset and stability headers.
import { expect, test } from 'vitest';
import { deprecationNotices } from '../../../src/commands/api/deprecation.ts';

test('a response without deprecation headers causes no notice', () => {
  expect(deprecationNotices('GET', '/categories', { 'content-type': 'application/json' })).toEqual([]);
});

test('GET /pets/{petId} is reported as deprecated even without a header, and other operations are not', () => {
  expect(deprecationNotices('GET', '/pets/1', {})).toEqual([
    "GET /pets/1 is deprecated according to the service's documentation and will be removed",
  ]);
  expect(deprecationNotices('GET', '/pets', {})).toEqual([]);
  expect(deprecationNotices('DELETE', '/pets/1', {})).toEqual([]);
});

test.each([
  ['@1688169599', 'GET /x has been deprecated since 2023-06-30'],
  ['true', 'GET /x is deprecated'],
  ['Sun, 11 Nov 2018 23:59:59 GMT', 'GET /x has been deprecated since 2018-11-11'],
  ['soon\u001b[2J', 'GET /x is deprecated (soon␛[2J)'],
  ['@99999999999999999', 'GET /x is deprecated (@99999999999999999)'],
  ['@999999999999', 'GET /x is deprecated (@999999999999)'],
])('the Deprecation header %j causes the notice %j', (value, sentence) => {
  expect(deprecationNotices('GET', '/x?query=1', { deprecation: value })).toEqual([sentence]);
});

test('a Sunset header is shown as a date, or unchanged if it is not a date', () => {
  expect(deprecationNotices('GET', '/x', { sunset: 'Wed, 31 Dec 2031 23:59:59 GMT' })).toEqual([
    'GET /x will be removed on 2031-12-31',
  ]);
  expect(deprecationNotices('GET', '/x', { sunset: 'later' })).toEqual(['GET /x will be removed on later']);
});

test.each(['stability', 'x-stability', 'x-api-stability', 'stability-level'])(
  'the header "%s: beta" causes a notice',
  (name) => {
    expect(deprecationNotices('POST', '/x', { [name]: ['beta'] })).toEqual([
      'POST /x is marked beta and may change without notice',
    ]);
  },
);

test('a stable operation causes no notice', () => {
  expect(deprecationNotices('GET', '/x', { 'x-stability': 'stable', 'x-instability': 'beta' })).toEqual([]);
});
