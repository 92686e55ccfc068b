// The rules for base URLs and API keys (docs/cli.md, "Profiles and keys").
import { expect, test } from 'vitest';
import { checkBaseUrl, checkKey, MAX_KEY_LENGTH } from '../../src/settings/credential-rules.ts';

test.each([
  ['https://api.example/v1', 'https://api.example/v1', 'https://api.example'],
  ['HTTPS://API.Example:443/v1', 'https://api.example/v1', 'https://api.example'],
  ['https://api.example:8443/pet/store/v1/', 'https://api.example:8443/pet/store/v1', 'https://api.example:8443'],
  ['http://localhost:4010/v1', 'http://localhost:4010/v1', 'http://localhost:4010'],
  ['http://127.1/v1', 'http://127.0.0.1/v1', 'http://127.0.0.1'],
  ['http://[::1]:4010/v1', 'http://[::1]:4010/v1', 'http://[::1]:4010'],
])('the base URL %s is valid, and is parsed as %s with the origin %s', (text, url, origin) => {
  expect(checkBaseUrl(text, '--url')).toEqual({ url, origin });
});

const SCHEME = 'must start with https://, or http:// for loopback';
const HTTPS = 'must use https (http is allowed only for loopback)';

test.each([
  [undefined, 'is missing'],
  [5, 'is not a string'],
  ['', 'is empty'],
  ['ftp://api.example/v1', SCHEME],
  ['https:///v1', 'has no host'],
  ['https:api.example/v1', SCHEME],
  ['http://127.0.0.1.evil.example/v1', HTTPS],
  ['http://[::ffff:10.0.0.1]/v1', HTTPS],
  // The error does not repeat the URL, which may contain a password.
  ...['ann:hunter2@', ':hunter2@', '@'].map((info): [string, string] => [
    `https://${info}api.example/v1`,
    'must not contain user info (NAME:PASSWORD@)',
  ]),
  ['https://api.example/v1?x=1', 'must not contain a query or a fragment'],
  ['https://api.example/v1#', 'must not contain a query or a fragment'],
  ['https://api.example/v1 ', 'contains a space, a backslash or a control character'],
  ['https://api.ex\u202eample/v1', 'contains a space, a backslash or a control character'],
  ['https://api.example/xv1', 'must end in /v1'],
  ...['/', '/a%2fb', '/a%5Cb', '/a%2Eb'].map((path): [string, string] => [
    `https://api.example${path}/v1`,
    'contains an escaped dot, slash or backslash, or a double slash, in its path',
  ]),
  ['https://%zz/v1', 'is not a valid URL'],
])('the base URL %j is rejected with the error "--url %s"', (text, problem) => {
  const error = { kind: 'usage', message: `--url ${problem}`, hint: 'use the form https://HOST/v1' };
  expect(() => checkBaseUrl(text, '--url')).toThrow(expect.objectContaining(error));
});

test.each([
  ['127.0.0.1:4010/shop/v1', 'use http://127.0.0.1:4010/shop/v1'],
  ['localhost:4010', 'use http://localhost:4010/v1'],
  ['http://[::1]:4010', 'use http://[::1]:4010/v1'],
  ['http://localhost:4010/shop/v1/categories', 'use http://localhost:4010/shop/v1'],
  // The intended base URL is unknown.
  ['http://localhost:4010/shop', 'use the form https://HOST/v1'],
  ['http://localhost:4010//v1', 'use the form https://HOST/v1'],
  ['http://localhost:4010/v10', 'use the form https://HOST/v1'],
  ['http://ann:hunter2@127.0.0.1:4010/v1', 'use http://127.0.0.1:4010/v1'],
  ['sk_live_0123456789', 'use the form https://HOST/v1'],
])('the hint for the invalid base URL %s is: %s', (text, hint) => {
  expect(() => checkBaseUrl(text, '--url')).toThrow(expect.objectContaining({ hint }));
});

test.each(['!', '~'])('the key %j, the first or last visible ASCII character, is valid', (key) => {
  expect(checkKey(key, 'stdin')).toBe(key);
});

test(`a key of ${MAX_KEY_LENGTH} characters is valid, and a longer one is rejected`, () => {
  const key = 'x'.repeat(MAX_KEY_LENGTH);
  expect(checkKey(key, 'stdin')).toBe(key);
  expect(() => checkKey(`${key}x`, 'stdin')).toThrow(/^(?!.*xxx).*longer than/);
});

test.each([
  [undefined, 'is missing'],
  [5, 'is not a string'],
  ['', 'is empty'],
  [' ', 'a space'],
  ['sekret\n', 'line break'],
  ['sekret\r', 'line break'],
  ['sekret\tkey', 'tab'],
  ['sekret\u007f', 'a control'],
  ['\u201csekret\u201d', 'non-ASCII'],
])('the key %j is rejected with an error that contains "%s" but not "sekret"', (key, word) => {
  const message = expect.stringMatching(new RegExp(`^(?!.*sekret).*PETSTORE_API_KEY.*${word}`));
  expect(() => checkKey(key, 'PETSTORE_API_KEY')).toThrow(expect.objectContaining({ kind: 'auth', message }));
});
