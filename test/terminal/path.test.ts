// `petstore api PATH`: whatever is typed, the request, and with it the key, stays below the base URL.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pathBelowBase } from '../../src/commands/api/path.ts';
import { PetstoreError } from '../../src/errors.ts';

test.each([
  ['/categories', '/categories'],
  ['/pets/1?x=1&y=a%20b', '/pets/1?x=1&y=a%20b'],
  ['/a/../categories', '/categories'],
  ['/categories/', '/categories/'],
  ['/caf\u00e9', '/caf%C3%A9'],
  ['/a//b', '/a//b'],
  ['/@evil.example', '/@evil.example'],
  ['/pets/1?next=https://evil.example', '/pets/1?next=https://evil.example'],
])('%j is sent as %j', (typed, sent) => {
  expect(pathBelowBase(typed)).toBe(sent);
});

test.each([
  '',
  'categories',
  '//evil.example/x',
  '///evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '\t//evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  'https://evil.example/',
  'ht\ntps://evil.example',
  'http:evil.example',
  '@evil.example',
  ':443/x',
  '.evil.example',
  '/..',
  '/../admin',
  '/a/../../admin',
  '/%2e%2e/admin',
  '/%2E%2e/%2e./admin',
  '/.%2e/admin',
  '/categories#part',
  '/a b',
  '/a\u0000b',
])('%j is refused', (typed) => {
  expect(() => pathBelowBase(typed)).toThrow(PetstoreError);
});

test('no path of 100,000 odd ones leaves any base URL', () => {
  const piece = fc.constantFrom(
    ...[
      '/',
      '//',
      '\\',
      '..',
      '.',
      '%2e',
      '%2F',
      '%5c',
      '@',
      ':',
      '?',
      '#',
      '\t',
      '\n',
      'evil.example',
      'http:',
      'v1',
      'a',
    ],
    ...['\u3002', '\uff0f', '\u2044', '[::1]', '%', '%00', ';', '\ud800'],
  );
  const base = new URL('https://service.example/deep/v1');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 9 }), (pieces) => {
      let path: string;
      try {
        path = pathBelowBase(`/${pieces.join('')}`);
      } catch {
        return;
      }
      const url = new URL(base.href + path);
      expect(url.origin).toBe(base.origin);
      expect(url.username + url.password).toBe('');
      if (!url.pathname.startsWith('/deep/v1/')) throw new Error(`${path} -> ${url.href}`);
    }),
    { numRuns: 100_000 },
  );
});
