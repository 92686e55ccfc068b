// Raw requests: paths below the base URL, and notices about deprecated or unstable operations.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { deprecationNotices, pathBelowBase } from '../../src/api/raw-request.ts';
import { PetstoreError } from '../../src/errors.ts';

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
  ['/pets/1?next=https://evil.example', '/pets/1?next=https://evil.example'],
])('a raw request to the path %j is sent to %j below the base URL', (typed, sent) => {
  expect(pathBelowBase(typed)).toBe(sent);
});

test.each([
  ...'//evil.example/x ///evil.example /\\evil.example \\\\evil.example https://evil.example/ http:evil.example'.split(
    ' ',
  ),
  ...'/.. /../admin /../v1x /a/../../admin /%2e%2e/admin /%2E%2e/%2e./admin /.%2e/admin /categories#part'.split(' '),
  // A gateway may decode escaped separators and merge them.
  ...'/x/..%5C..%5cadmin /x/%2f..%2F..%2fadmin /../a%2f..%2fv1/x'.split(' '),
  ...['', '\t//evil.example', '/\t/evil.example', '/\n/evil.example', 'ht\ntps://evil.example', '/a b', '/a\u0000b'],
])('a raw request to the path %j is rejected', (typed) => {
  expect(() => pathBelowBase(typed)).toThrow(PetstoreError);
});

const DOCUMENTED = "is deprecated according to the service's documentation and will be removed";

function noticesOf(request: string, headers: Record<string, string>): readonly string[] {
  const [method = '', path = ''] = request.split(' ');
  return deprecationNotices(method, path, headers);
}

test.each<[request: string, headers: Record<string, string>, notice: string]>([
  ['GET /pets/1', {}, `GET /pets/1 ${DOCUMENTED}`],
  ['GET /x?query=1', { deprecation: '@1688169599' }, 'GET /x is deprecated as of 2023-06-30'],
  ['GET /pets/1', { deprecation: 'true' }, 'GET /pets/1 is deprecated'],
  ['GET /x', { deprecation: 'Sun, 11 Nov 2018 23:59:59 GMT' }, 'GET /x is deprecated as of 2018-11-11'],
  ['GET /x', { deprecation: 'soon\u001b[2J' }, 'GET /x is deprecated as of soon␛[2J'],
  ['GET /x', { deprecation: '@99999999999999999' }, 'GET /x is deprecated as of @99999999999999999'],
  ['GET /x', { deprecation: '@999999999999' }, 'GET /x is deprecated as of @999999999999'],
  ['GET /x', { sunset: 'Wed, 31 Dec 2031 23:59:59 GMT' }, 'GET /x will be removed on 2031-12-31'],
  ['GET /x', { sunset: 'later' }, 'GET /x will be removed on later'],
  ['POST /x', { stability: 'beta' }, 'POST /x is marked beta and may change without notice'],
  ['POST /x', { 'x-api-stability': 'beta' }, 'POST /x is marked beta and may change without notice'],
  ['POST /x', { 'stability-level': 'beta' }, 'POST /x is marked beta and may change without notice'],
])('a response to %s with the headers %j causes only the notice "%s"', (request, headers, notice) => {
  expect(noticesOf(request, headers)).toEqual([notice]);
});

test.each<[request: string, headers: Record<string, string>]>([
  ['GET /categories', { 'content-type': 'application/json' }],
  ['GET /pets', {}],
  ['DELETE /pets/1', {}],
  ['GET /x', { 'x-stability': 'stable', 'x-instability': 'beta' }],
])('a response to %s with the headers %j causes no notice', (request, headers) => {
  expect(noticesOf(request, headers)).toEqual([]);
});

const part = fc.constantFrom(
  ...'/ // \\ /\\ .. . %2e%2e %2f %5c @ : ? # ; http: https:// evil.example //evil.example @evil.example'.split(' '),
  ...'categories v1 %00 % [::1] :8080 user:pw@ x'.split(' '),
  ...['\t', '\n', '\r', '\0', ' ', '\u2028', '\uff0f', '\u3002'],
);
const bases = ['https://api.example:8443/a/b/v1', 'http://127.0.0.1:4010/v1', 'http://[::1]:1/v1'];

test('a raw request to a random path is rejected or stays below the base URL', () => {
  let accepted = 0;
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), fc.constantFrom(...bases), (parts, base) => {
      let below: string;
      try {
        below = pathBelowBase(parts.join(''));
      } catch (error) {
        return void expect(error).toMatchObject({ name: 'PetstoreError', kind: 'usage' });
      }
      accepted++;
      const { origin, pathname } = new URL(base);
      // The transport joins the URL like this, and a server parses it like this.
      const sent = `${pathname}${below}`;
      const url = new URL(sent, origin);
      if (url.origin !== origin || !url.pathname.startsWith(`${pathname}/`)) throw new Error(`left: ${sent}`);
      if (!/^\/[\x21-\x7e]*$/.test(sent) || sent.startsWith('//')) throw new Error(`odd request line: ${sent}`);
    }),
    { numRuns: 5000 },
  );
  expect(accepted).toBeGreaterThan(200);
});
