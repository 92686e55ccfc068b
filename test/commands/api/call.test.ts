// `petstore api`: no path sends the request and its key outside the base URL.
import { expect, test } from 'vitest';
import { pathBelowBase } from '../../../src/commands/api/call.ts';
import { PetstoreError } from '../../../src/errors.ts';

test.each([
  ['/categories', '/categories'],
  ['categories', '/categories'],
  ['@evil.example', '/@evil.example'],
  [':443/x', '/:443/x'],
  ['.evil.example', '/.evil.example'],
  ['/pets/1?x=1&y=a%20b', '/pets/1?x=1&y=a%20b'],
  ['/a/../categories', '/categories'],
  ['/categories/', '/categories/'],
  ['/caf\u00e9', '/caf%C3%A9'],
  ['/a//b', '/a//b'],
  ['/@evil.example', '/@evil.example'],
  ['/pets/1?next=https://evil.example', '/pets/1?next=https://evil.example'],
])('`api` sends the path %j as %j', (typed, sent) => {
  expect(pathBelowBase(typed)).toBe(sent);
});

test.each([
  ...'//evil.example/x ///evil.example /\\evil.example \\\\evil.example https://evil.example/ http:evil.example'.split(
    ' ',
  ),
  ...'/.. /../admin /a/../../admin /%2e%2e/admin /%2E%2e/%2e./admin /.%2e/admin /categories#part'.split(' '),
  ...['', '\t//evil.example', '/\t/evil.example', '/\n/evil.example', 'ht\ntps://evil.example', '/a b', '/a\u0000b'],
])('`api` rejects the path %j', (typed) => {
  expect(() => pathBelowBase(typed)).toThrow(PetstoreError);
});
