// Which proxy is used: the variables as curl reads them, loopback always direct.
import { expect, test } from 'vitest';
import { proxyFor } from '../../src/http/proxy.ts';

const proxy = (url: string, env: Record<string, string>): string | undefined => proxyFor(new URL(url), env)?.href;
const HTTPS_PROXY = 'http://proxy.example:3128';

test.each([
  ['https://pets.example/v1', {}, undefined],
  ['https://pets.example/v1', { HTTPS_PROXY }, 'http://proxy.example:3128/'],
  ['https://pets.example/v1', { https_proxy: 'proxy.example:8080' }, 'http://proxy.example:8080/'],
  ['https://pets.example/v1', { HTTP_PROXY: HTTPS_PROXY }, undefined],
  ['https://pets.example/v1', { HTTPS_PROXY, NO_PROXY: 'pets.example' }, undefined],
  ['https://api.pets.example/v1', { HTTPS_PROXY, NO_PROXY: '.pets.example' }, undefined],
  ['https://api.pets.example/v1', { HTTPS_PROXY, NO_PROXY: 'a.b, pets.example' }, undefined],
  ['https://otherpets.example/v1', { HTTPS_PROXY, NO_PROXY: 'pets.example' }, 'http://proxy.example:3128/'],
  ['https://pets.example:8443/v1', { HTTPS_PROXY, NO_PROXY: 'pets.example:8443' }, undefined],
  ['https://pets.example:8443/v1', { HTTPS_PROXY, NO_PROXY: 'pets.example:9000' }, 'http://proxy.example:3128/'],
  ['https://pets.example/v1', { HTTPS_PROXY, NO_PROXY: '*' }, undefined],
  ['https://127.0.0.1:1/v1', { HTTPS_PROXY }, undefined],
  ['https://[::1]:1/v1', { HTTPS_PROXY }, undefined],
  ['http://localhost:1/v1', { HTTP_PROXY: HTTPS_PROXY }, undefined],
  ['https://pets.example/v1', { HTTPS_PROXY: ' ' }, undefined],
])('%s with %j goes through %s', (url, env, expected) => {
  expect(proxy(url, env)).toBe(expected);
});

test.each(['socks5://proxy.example', 'http://', 'http://[', 'ftp://x'])(
  '%s is refused without being repeated',
  (value) => {
    expect(() => proxy('https://pets.example/v1', { HTTPS_PROXY: `${value}` })).toThrow(/^HTTPS_PROXY does not hold/);
  },
);
