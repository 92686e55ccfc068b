// The rules for base URLs and API keys (docs/cli.md, "Profiles and keys").
import { expect, test } from 'vitest';
import { checkBaseUrl, checkKey, LONGEST_KEY, parseBaseUrl } from '../../src/profiles/credential-rules.ts';

test.each([
  ['https://api.example/v1', 'https://api.example/v1', 'https://api.example'],
  ['https://api.example/v1/', 'https://api.example/v1', 'https://api.example'],
  ['HTTPS://API.Example:443/v1', 'https://api.example/v1', 'https://api.example'],
  ['https://api.example:8443/pet/store/v1/', 'https://api.example:8443/pet/store/v1', 'https://api.example:8443'],
  ['http://localhost:4010/v1', 'http://localhost:4010/v1', 'http://localhost:4010'],
  ['http://127.0.0.1:4010/v1', 'http://127.0.0.1:4010/v1', 'http://127.0.0.1:4010'],
  ['http://127.1/v1', 'http://127.0.0.1/v1', 'http://127.0.0.1'],
  ['http://[::1]:4010/v1', 'http://[::1]:4010/v1', 'http://[::1]:4010'],
])('the base URL %s is valid and parsed to %s with the origin %s', (text, url, origin) => {
  expect(parseBaseUrl(text)).toEqual({ url, origin });
});

test.each([
  ['', 'empty'],
  ['api.example/v1', 'start with https'],
  ['ftp://api.example/v1', 'start with https'],
  ['https:///v1', 'has no host'],
  ['https:api.example/v1', 'start with https'],
  ['http://api.example/v1', 'must use https (http is allowed only for loopback)'],
  ['http://127.0.0.1.evil.example/v1', 'must use https (http is allowed only for loopback)'],
  ['http://0.0.0.0/v1', 'must use https (http is allowed only for loopback)'],
  ['http://[::ffff:10.0.0.1]/v1', 'must use https (http is allowed only for loopback)'],
  ['https://user:pw@api.example/v1', 'user info'],
  ['https://api.example/v1?x=1', 'query'],
  ['https://api.example/v1#', 'fragment'],
  ['https://api.example/v1 ', 'a space'],
  ['https://api.ex\u202eample/v1', 'control'],
  ['https://api.example', '/v1'],
  ['https://api.example/v2', '/v1'],
  ['https://api.example/xv1', '/v1'],
  ['https://api.example//v1', 'double slash'],
  ['https://api.example/a%2fb/v1', 'escaped'],
  ['https://%zz/v1', 'is not a valid URL'],
])('the base URL %j is rejected with an error that contains "%s"', (text, word) => {
  const parsed = parseBaseUrl(text);
  expect('problem' in parsed ? parsed.problem : parsed).toEqual(expect.stringContaining(word));
});

test('the hint about a base URL without /v1 suggests the URL with /v1', () => {
  expect(parseBaseUrl('https://api.example/')).toMatchObject({ suggestion: 'https://api.example/v1' });
  expect(() => checkBaseUrl('https://api.example/pets', '--url')).toThrow(
    expect.objectContaining({ kind: 'usage', hint: 'did you mean https://api.example/pets/v1?' }),
  );
});

test('the hint about a base URL with another version does not suggest to append /v1', () => {
  expect(() => checkBaseUrl('https://api.example/v2', '--url')).toThrow(
    expect.objectContaining({ message: '--url must end in /v1', hint: 'use the form https://HOST/v1' }),
  );
});

test('the error about a rejected URL does not repeat it, because it may contain a password', () => {
  expect(() => checkBaseUrl('https://ann:hunter2@api.example/v1', 'PETSTORE_BASE_URL')).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
  );
});

test.each([['k'], ['!'], ['~'], ['sk_live_0123456789'], ['"quoted"\\']])(
  'the printable ASCII text %j is a valid key',
  (key) => {
    expect(checkKey(key, 'stdin')).toBe(key);
  },
);

test(`a key of ${LONGEST_KEY} characters is valid, and a longer one is rejected`, () => {
  const key = 'x'.repeat(LONGEST_KEY);
  expect(checkKey(key, 'stdin')).toBe(key);
  expect(() => checkKey(`${key}x`, 'stdin')).toThrow(/^(?!.*xxx).*longer than/);
});

test.each([
  ['', 'is empty'],
  [' ', 'a space'],
  ['sekret\n', 'line break'],
  ['sekret\tkey', 'tab'],
  ['sekret\u0000', 'a control'],
  ['sekret\u007f', 'a control'],
  ['\u201csekret\u201d', 'non-ASCII'],
  ['\ufeffsekret', 'non-ASCII'],
  ['sekret\u00a0', 'non-ASCII'],
])('the key %j is rejected with an error that contains "%s" but not the key', (key, word) => {
  const message = expect.stringMatching(new RegExp(`^(?!.*sekret).*PETSTORE_API_KEY.*${word}`));
  expect(() => checkKey(key, 'PETSTORE_API_KEY')).toThrow(expect.objectContaining({ kind: 'auth', message }));
});
