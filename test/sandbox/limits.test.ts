// Rate limits: windows, bans, and the headers of responses.
import { expect, test } from 'vitest';
import type { RateLimit } from '../../src/sandbox/limiter.ts';
import { PLANS, parseLimit } from '../../src/sandbox/limiter.ts';
import type { ServerOptions } from '../../src/sandbox/server.ts';
import { FakeClock } from '../support/fake-clock.ts';
import type { SandboxResponse } from './support.ts';
import { OTHER_KEY, startTestSandbox } from './support.ts';

// Summarizes a response: status or error code, remaining requests, limit, time of the reset, and Retry-After.
function summary({ status, json, headers }: SandboxResponse): string {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) => headers[`x-ratelimit-${name}`]);
  const until = new Date(Number(reset) * 1000).toISOString().slice(11, 19);
  const after = headers['retry-after'] === undefined ? '' : `, retry after ${headers['retry-after']}`;
  return `${json.code ?? status}: ${remaining} of ${limit} until ${until}${after}`;
}

test('the sandbox plans have the documented limits', () => {
  expect([...PLANS.values()].map(String)).toEqual(['60/1m,1000/1d', '300/1m,10000/1d', '1000/1m,100000/1d', '']);
});

/** At this time, this many requests are sent, and `last` summarizes the response to the last one. */
type Step = readonly [time: string, requests: number, last: string];

test.each<[title: string, options: Partial<ServerOptions>, ...steps: Step[]]>([
  [
    'the minute window',
    {},
    ['12:00:10', 60, '200: 0 of 60 until 12:01:00'],
    ['12:00:59.999', 1, 'rate_limited: 0 of 60 until 12:01:00, retry after 1'],
    ['12:01:00', 1, '200: 59 of 60 until 12:02:00'],
  ],
  [
    'the daily window if it has fewer requests left than the minute window',
    { limits: ['3/1m', '5/1d'] },
    ['12:00:10', 3, '200: 0 of 3 until 12:01:00'],
    ['12:01:00', 2, '200: 0 of 5 until 00:00:00'],
    ['23:59:59.500', 1, 'rate_limited: 0 of 5 until 00:00:00, retry after 1'],
    ['24:00:00', 1, '200: 2 of 3 until 00:01:00'],
  ],
  [
    'the later reset of two windows with the same number of requests left',
    { limits: ['3/1m', '3/1d'] },
    ['12:00:10', 2, '200: 1 of 3 until 00:00:00'],
  ],
  [
    'a ban for a minute from the fifth request within one wait',
    { limits: ['2/1m'] },
    ['12:00:50', 2, '200: 0 of 2 until 12:01:00'],
    ['12:00:50', 5, 'rate_limited: 0 of 2 until 12:01:00, retry after 10'],
    ['12:00:50', 1, 'key_banned: 0 of 2 until 12:01:50, retry after 60'],
    ['12:01:10', 1, 'key_banned: 0 of 2 until 12:01:50, retry after 40'],
    ['12:01:50', 1, '200: 1 of 2 until 12:02:00'],
  ],
  [
    'a ban, after which the wait for the daily limit continues',
    { limits: ['1/1d'] },
    ['12:00:00', 6, 'rate_limited: 0 of 1 until 00:00:00, retry after 43200'],
    ['12:00:00', 1, 'key_banned: 0 of 1 until 00:00:00, retry after 43200'],
    ['12:01:00', 1, 'rate_limited: 0 of 1 until 00:00:00, retry after 43140'],
  ],
  [
    'a ban for five requests before the later reset of two exhausted windows',
    { limits: ['1/1m', '1/1d'] },
    ['12:00:10', 4, 'rate_limited: 0 of 1 until 00:00:00, retry after 43190'],
    ['12:01:00', 3, 'key_banned: 0 of 1 until 00:00:00, retry after 43140'],
  ],
  [
    'the latest window, even if a request of an earlier window is recorded late',
    { limits: ['2/1m'] },
    ['12:01:00', 1, '200: 1 of 2 until 12:02:00'],
    ['12:00:59', 1, '200: 0 of 2 until 12:02:00'],
    ['12:01:00', 1, 'rate_limited: 0 of 2 until 12:02:00, retry after 60'],
  ],
  [
    'no ban for a client that waits for Retry-After',
    { limits: ['1/1m'] },
    ...[0, 1, 2, 3, 4, 5, 6].flatMap((minute): Step[] => [
      [`12:0${minute}:00`, 1, `200: 0 of 1 until 12:0${minute + 1}:00`],
      [`12:0${minute}:00`, 1, `rate_limited: 0 of 1 until 12:0${minute + 1}:00, retry after 60`],
    ]),
  ],
  ['no Retry-After', { limits: ['1/1m'], retryAfter: 'none' }, ['12:00:00', 2, 'rate_limited: 0 of 1 until 12:01:00']],
  [
    'Retry-After as a date that is never too early',
    { limits: ['1/1500ms'], retryAfter: 'date' },
    ['12:00:00.100', 2, 'rate_limited: 0 of 1 until 12:00:02, retry after Sat, 21 Nov 2026 12:00:02 GMT'],
  ],
  [
    'the limit 2147483647 of an unlimited plan',
    { plan: 'enterprise' },
    ['12:00:10', 70, '200: 2147483647 of 2147483647 until 12:01:10'],
  ],
])('responses of the sandbox to one key show %s, and another key is not limited', async (_title, options, ...steps) => {
  const clock = new FakeClock();
  const { list } = await startTestSandbox({ clock, ...options });
  for (const [time, requests, last] of steps) {
    clock.at = Date.parse(`2026-11-21T${time}Z`);
    let response = await list();
    for (let sent = 1; sent < requests; sent++) response = await list();
    expect(summary(response)).toBe(last);
  }
  expect((await list({ key: OTHER_KEY })).status).toBe(200);
});

test('requests that get a 400, 404 or 501 count against the limit, but a request for the OpenAPI document does not', async () => {
  const { call, create, list } = await startTestSandbox({ clock: new FakeClock() });
  const responses = [await create({}), await call('GET', '/v1/nothing'), await call('GET', '/v1/store/orders')];
  expect((await call('GET', '/v1/openapi.json')).status).toBe(200);
  const left = [...responses, await list()].map(({ headers }) => headers['x-ratelimit-remaining']);
  expect(left).toEqual(['59', '58', '57', '56']);
});

test.each<[string, RateLimit]>([
  ['60/6s', { count: 60, windowMs: 6_000 }],
  ['1000/1d', { count: 1000, windowMs: 86_400_000 }],
  ['5/10', { count: 5, windowMs: 10_000 }],
  [' 999999999/1d ', { count: 999_999_999, windowMs: 86_400_000 }],
  ['3/500ms', { count: 3, windowMs: 500 }],
])('the limit "%s" is parsed as %j', (text, limit) => {
  expect(parseLimit(text, '--limit')).toEqual(limit);
});

test.each(['1000000000/1d', '0/1m', '5/0s', '5', '5/', '-5/1m', '5/1y'])('the limit "%s" is a usage error', (text) => {
  const message = `invalid value "${text}" for --limit`;
  expect(() => parseLimit(text, '--limit')).toThrow(expect.objectContaining({ kind: 'usage', message }));
});
