import { expect, test } from 'vitest';
import { checkBaseUrl, parseBaseUrl } from '../../src/profiles/credential-rules.ts';

test.each([
  ['https://api.example/v1', 'https://api.example/v1', 'https://api.example'],
  ['https://api.example/v1/', 'https://api.example/v1', 'https://api.example'],
  ['HTTPS://API.Example:443/v1', 'https://api.example/v1', 'https://api.example'],
  ['https://api.example:8443/pet/store/v1/', 'https://api.example:8443/pet/store/v1', 'https://api.example:8443'],
  ['http://localhost:4010/v1', 'http://localhost:4010/v1', 'http://localhost:4010'],
  ['http://127.0.0.1:4010/v1', 'http://127.0.0.1:4010/v1', 'http://127.0.0.1:4010'],
  ['http://127.9.8.7/v1', 'http://127.9.8.7/v1', 'http://127.9.8.7'],
  ['http://127.1/v1', 'http://127.0.0.1/v1', 'http://127.0.0.1'],
  ['http://[::1]:4010/v1', 'http://[::1]:4010/v1', 'http://[::1]:4010'],
])('%s is a base URL', (text, url, origin) => {
  expect(parseBaseUrl(text)).toEqual({ url, origin });
});

test.each([
  ['', 'empty'],
  ['api.example/v1', 'start with https'],
  ['ftp://api.example/v1', 'start with https'],
  ['file:///v1', 'start with https'],
  ['https:///v1', 'start with https'],
  ['https:api.example/v1', 'start with https'],
  ['https:\\\\api.example\\v1', 'backslash'],
  ['http://api.example/v1', 'unencrypted'],
  ['http://127.0.0.1.evil.example/v1', 'unencrypted'],
  ['http://localhost.evil.example/v1', 'unencrypted'],
  ['http://0.0.0.0/v1', 'unencrypted'],
  ['http://[::]/v1', 'unencrypted'],
  ['http://[::ffff:10.0.0.1]/v1', 'unencrypted'],
  ['https://user:pw@api.example/v1', 'user info'],
  ['https://@api.example/v1', 'user info'],
  ['https://api.example/v1?x=1', 'query'],
  ['https://api.example/v1?', 'query'],
  ['https://api.example/v1#', 'fragment'],
  ['https://api.example/v1 ', 'a space'],
  ['https://api.ex\tample/v1', 'a space'],
  ['https://api.ex\u202eample/v1', 'control'],
  ['https://api.example', '/v1'],
  ['https://api.example/v2', '/v1'],
  ['https://api.example/xv1', '/v1'],
  ['https://api.example//v1', 'double slash'],
  ['https://api.example/a%2fb/v1', 'escaped'],
  ['https://%zz/v1', 'start with https'],
])('%j is rejected', (text, word) => {
  const parsed = parseBaseUrl(text);
  expect('problem' in parsed ? parsed.problem : parsed).toEqual(expect.stringContaining(word));
});

test('a missing /v1 is suggested', () => {
  expect(parseBaseUrl('https://api.example/')).toMatchObject({ suggestion: 'https://api.example/v1' });
  expect(() => checkBaseUrl('https://api.example/pets', '--url')).toThrow(
    expect.objectContaining({ kind: 'usage', hint: 'did you mean https://api.example/pets/v1?' }),
  );
});

test('a rejected URL is not repeated, since it may contain a password', () => {
  expect(() => checkBaseUrl('https://ann:hunter2@api.example/v1', 'PETSTORE_BASE_URL')).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
  );
});
