// The choice of the proxy by HTTPS_PROXY and NO_PROXY, in upper and lower case.
import { expect, test } from 'vitest';
import { proxyFor } from '../../src/http/proxy.ts';

const proxy = (url: string, env: Record<string, string>): string => proxyFor(new URL(url), env)?.url.href ?? 'no proxy';
const HTTPS_PROXY = 'http://proxy.example:3128';
const USED = 'http://proxy.example:3128/';

test.each([
  ['https://pets.example/v1', {}, 'no proxy'],
  ['https://pets.example/v1', { HTTPS_PROXY }, USED],
  ['https://pets.example/v1', { https_proxy: 'proxy.example:8080' }, 'http://proxy.example:8080/'],
  ['https://pets.example/v1', { HTTP_PROXY: HTTPS_PROXY }, 'no proxy'],
  ['https://127.0.0.1:1/v1', { HTTPS_PROXY }, 'no proxy'],
  ['https://[::1]:1/v1', { HTTPS_PROXY }, 'no proxy'],
  ['http://localhost:1/v1', { HTTP_PROXY: HTTPS_PROXY }, 'no proxy'],
  ['https://pets.example/v1', { HTTPS_PROXY: ' ' }, 'no proxy'],
  ['https://pets.example/v1', { HTTPS_PROXY, https_proxy: '' }, 'no proxy'],
  ['https://pets.example/v1', { HTTPS_PROXY: 'HTTP://proxy.example:3128', NO_PROXY: '*', no_proxy: '' }, USED],
])('a request to %s with the environment %j uses %s', (url, env, expected) => {
  expect(proxy(url, env)).toBe(expected);
});

test.each([
  ['pets.example', 'pets.example', 'no proxy'],
  ['pets.example', 'PETS.example.', 'no proxy'],
  ['api.pets.example', '.pets.example', 'no proxy'],
  ['api.pets.example', 'a.b, *.pets.example', 'no proxy'],
  ['otherpets.example', 'pets.example', USED],
  ['pets.example', '*', 'no proxy'],
  ['pets.example:8443', 'pets.example:8443', 'no proxy'],
  ['pets.example', 'pets.example:443', 'no proxy'],
  ['pets.example', 'pets.example:80', USED],
  ['10.1.2.3', '2.3', USED],
  ['[fd00::12]', 'fd00::12', 'no proxy'],
  ['[fd00::12]:8443', '[fd00::12]:8443', 'no proxy'],
])('a request to https://%s with HTTPS_PROXY set and NO_PROXY=%j uses %s', (host, exceptions, expected) => {
  expect(proxy(`https://${host}/v1`, { HTTPS_PROXY, NO_PROXY: exceptions })).toBe(expected);
});

test.each([
  ...['socks5://proxy.example', 'http://', 'http://['].map((value) => [value, 'is not an http or https URL']),
  ...['http://127.0.0.1:9/path', 'http://127.0.0.1:9?query', 'http://127.0.0.1:9#part'].map((value) => [
    value,
    'must not contain a path, query or fragment',
  ]),
])('HTTPS_PROXY=%s is a usage error: HTTPS_PROXY %s', (value, problem) => {
  const hint = 'use a URL such as http://proxy.example:3128';
  expect(() => proxy('https://pets.example/v1', { HTTPS_PROXY: value ?? '' })).toThrow(
    expect.objectContaining({ kind: 'usage', message: `HTTPS_PROXY ${problem}`, hint }),
  );
});

test('the error about an invalid https_proxy names this variable, even if HTTPS_PROXY is valid', () => {
  const env = { https_proxy: 'ftp://proxy.example', HTTPS_PROXY };
  expect(() => proxy('https://pets.example/v1', env)).toThrow('https_proxy is not an http or https URL');
});
