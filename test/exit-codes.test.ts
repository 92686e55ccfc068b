// The table of exit codes (docs/cli.md), row by row, with the built program.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { FakeAnswer, HttpFake, ReceivedRequest } from './support/http-fake.ts';
import { errorAnswer, quotaHeaders, startHttpFake } from './support/http-fake.ts';
import type { Outcome, Place } from './support/program.ts';
import { petstore, place } from './support/program.ts';

const KEY = 'sk_test_canary_0123456789';
const BIG = '9223372036854775807';

const answers: Readonly<Record<string, FakeAnswer | ((request: ReceivedRequest) => FakeAnswer)>> = {
  ok: ({ method }) =>
    method === 'POST'
      ? { status: 201, body: `{"id":${BIG},"name":"dog"}`, headers: quotaHeaders() }
      : { body: `[{"id":1,"name":"cat","description":"Felis"},{"id":${BIG},"name":"dog"}]`, headers: quotaHeaders() },
  unauthorized: errorAnswer(401, 'unauthorized', 'The API key is not valid.'),
  invalid: errorAnswer(400, 'invalid_name', 'The name is too long.'),
  missing: errorAnswer(404, 'not_found', 'There is nothing here.'),
  limited: errorAnswer(429, 'rate_limited', 'Slow down.', { 'retry-after': '3600', 'x-ratelimit-remaining': '0' }),
  failing: errorAnswer(500, 'internal', 'Something broke.'),
  html: { body: '<html>Sign in</html>', headers: { 'content-type': 'text/html' } },
  object: { body: { data: [] } },
  nonsense: ({ method }) => ({ status: method === 'POST' ? 201 : 200, body: { no: 'category' } }),
  redirect: { status: 302, headers: { location: 'https://elsewhere.example/v1/categories' } },
  reset: 'reset',
  silent: 'silence',
};

// The first segment of the path chooses the answer.
let service: HttpFake;
beforeAll(async () => {
  service = await startHttpFake((request) => {
    const answer = answers[request.path.split('/')[1] ?? ''] ?? 'reset';
    return typeof answer === 'function' ? answer(request) : answer;
  });
  return service.close;
});
const received = (behaviour: string, method: string): number =>
  service.requests.filter((one) => one.method === method && one.path.startsWith(`/${behaviour}/`)).length;

const at = (behaviour: string, env: Record<string, string> = {}): Place =>
  place({ PETSTORE_BASE_URL: `${service.origin}/${behaviour}/v1`, PETSTORE_API_KEY: KEY, ...env });
const list = ['categories', 'list'];
const create = ['categories', 'create', '--name', 'dog'];
const hurried = ['--max-retries', '0'];

interface Row {
  readonly code: number;
  readonly kind: string;
  readonly title: string;
  readonly where: () => Place;
  readonly args: readonly string[];
  readonly says: RegExp;
  readonly error?: Record<string, unknown>;
}

const nowhere = (): Place => at('ok', { PETSTORE_BASE_URL: 'http://127.0.0.1:9/v1' });

function damaged(): Place {
  const where = place();
  mkdirSync(join(where.dir, 'config'), { mode: 0o700 });
  for (const name of ['profile-production.json', 'active.json'])
    writeFileSync(join(where.dir, 'config', name), '{"key":', { mode: 0o600 });
  return where;
}

const ROWS: readonly Row[] = [
  {
    code: 2,
    kind: 'usage',
    title: 'an unknown option',
    where: () => at('ok'),
    args: [...list, '--frobnicate'],
    says: /--frobnicate/,
  },
  {
    code: 2,
    kind: 'usage',
    title: 'a missing name',
    where: () => at('ok'),
    args: ['categories', 'create'],
    says: /--name/,
  },
  {
    code: 2,
    kind: 'usage',
    title: 'a blank name',
    where: () => at('ok'),
    args: ['categories', 'create', '--name', ' '],
    says: /empty/,
  },
  {
    code: 2,
    kind: 'usage',
    title: 'a duration that is none',
    where: () => at('ok'),
    args: [...list, '--timeout', 'soon'],
    says: /--timeout/,
  },
  {
    code: 2,
    kind: 'usage',
    title: 'an unknown profile',
    where: () => place(),
    args: [...list, '-p', 'nobody'],
    says: /production/,
  },
  { code: 3, kind: 'auth', title: 'no URL and no key', where: () => place(), args: list, says: /auth login/ },
  {
    code: 3,
    kind: 'auth',
    title: 'an empty key',
    where: () => at('ok', { PETSTORE_API_KEY: '' }),
    args: list,
    says: /PETSTORE_API_KEY/,
  },
  {
    code: 3,
    kind: 'auth',
    title: 'a 401',
    where: () => at('unauthorized'),
    args: list,
    says: /The API key is not valid/,
    error: { code: 'unauthorized', status: 401 },
  },
  {
    code: 3,
    kind: 'auth',
    title: 'a 401 on a create',
    where: () => at('unauthorized'),
    args: create,
    says: /The API key is not valid/,
    error: { code: 'unauthorized', status: 401 },
  },
  {
    code: 4,
    kind: 'rejected',
    title: 'a 400',
    where: () => at('invalid'),
    args: create,
    says: /The name is too long/,
    error: { code: 'invalid_name', status: 400 },
  },
  {
    code: 4,
    kind: 'rejected',
    title: 'a 404',
    where: () => at('missing'),
    args: list,
    says: /There is nothing here/,
    error: { code: 'not_found', status: 404 },
  },
  {
    code: 5,
    kind: 'rate_limited',
    title: 'a 429 for an hour',
    where: () => at('limited'),
    args: create,
    says: /429.*Slow down/,
    error: { code: 'rate_limited', status: 429 },
  },
  {
    code: 6,
    kind: 'network',
    title: 'nobody listening, on a read',
    where: nowhere,
    args: [...list, ...hurried],
    says: /refused/,
  },
  {
    code: 6,
    kind: 'network',
    title: 'nobody listening, on a create',
    where: nowhere,
    args: [...create, ...hurried],
    says: /refused/,
  },
  {
    code: 6,
    kind: 'network',
    title: 'a read without an answer',
    where: () => at('silent'),
    args: [...list, ...hurried, '--timeout', '300ms'],
    says: /within 300 ms/,
  },
  {
    code: 7,
    kind: 'service',
    title: 'a 500 on a read',
    where: () => at('failing'),
    args: [...list, ...hurried],
    says: /Something broke/,
    error: { code: 'internal', status: 500 },
  },
  {
    code: 7,
    kind: 'service',
    title: 'HTML instead of JSON',
    where: () => at('html'),
    args: list,
    says: /expected JSON, got text\/html/,
  },
  {
    code: 7,
    kind: 'service',
    title: 'an object instead of a list',
    where: () => at('object'),
    args: list,
    says: /array/,
  },
  {
    code: 7,
    kind: 'service',
    title: 'a redirect',
    where: () => at('redirect'),
    args: list,
    says: /elsewhere\.example/,
  },
  {
    code: 8,
    kind: 'unknown_outcome',
    title: 'a 500 on a create',
    where: () => at('failing'),
    args: create,
    says: /categories list/,
    error: { code: 'internal', status: 500 },
  },
  {
    code: 8,
    kind: 'unknown_outcome',
    title: 'a connection cut after a create',
    where: () => at('reset'),
    args: create,
    says: /categories list/,
  },
  {
    code: 8,
    kind: 'unknown_outcome',
    title: 'a create without an answer',
    where: () => at('silent'),
    args: [...create, '--timeout', '300ms'],
    says: /categories list/,
  },
  {
    code: 8,
    kind: 'unknown_outcome',
    title: 'a 201 that is no category',
    where: () => at('nonsense'),
    args: create,
    says: /categories list/,
  },
  {
    code: 8,
    kind: 'unknown_outcome',
    title: 'HTML instead of the created category',
    where: () => at('html'),
    args: create,
    says: /categories list/,
  },
  { code: 9, kind: 'storage', title: 'a damaged config', where: damaged, args: list, says: /config/ },
];

function clean(result: Outcome): void {
  expect(result.out + result.err).not.toContain(KEY);
  expect(result.err).not.toMatch(/^\s+at /m);
}

describe.concurrent('every failure has its code, an empty stdout, and says what to do', () => {
  test.each(ROWS)('$code $kind: $title', async ({ code, kind, where, args, says, error }) => {
    const text = await petstore(where(), args);
    expect({ code: text.code, out: text.out }, text.err).toEqual({ code, out: '' });
    expect(text.err).toMatch(/^error: /);
    expect(text.err).toMatch(says);
    clean(text);

    const json = await petstore(where(), [...args, '--json']);
    expect({ code: json.code, out: json.out }, json.err).toEqual({ code, out: '' });
    const told = JSON.parse(json.err.trim().split('\n').at(-1) ?? '');
    expect(told.error).toMatchObject({ kind, ...error });
    expect(Object.keys(told)).toEqual(['error']);
    if (kind === 'rate_limited') expect(Date.parse(told.error.retryAt)).toBeGreaterThan(Date.now());
    clean(json);
  });
});

describe.concurrent('success is 0', () => {
  test('a list, with the quota on stderr', async () => {
    const result = await petstore(at('ok'), list);
    expect(result.code).toBe(0);
    expect(result.out).toContain('9223372036854775807');
    expect(result.err).toMatch(/^quota: 57 of 60 left, resets in \d+s\n$/);
  });

  test('with --json stderr stays empty', async () => {
    const result = await petstore(at('ok'), [...list, '--json']);
    expect(result).toEqual({
      code: 0,
      out: '[{"id":1,"name":"cat","description":"Felis"},{"id":9223372036854775807,"name":"dog"}]\n',
      err: '',
    });
  });

  test('the largest id comes through every way unchanged', async () => {
    const created = await petstore(at('ok'), [...create, '--json']);
    expect(created.out).toBe('{"id":9223372036854775807,"name":"dog"}\n');
    const csv = await petstore(at('ok'), [...list, '--format', 'csv', '-q']);
    expect(csv.out.split(/\r?\n/)).toContain('9223372036854775807,dog,');
  });
});

test('a create whose response is lost was sent once', async () => {
  const before = received('reset', 'POST');
  await petstore(at('reset'), create);
  expect(received('reset', 'POST')).toBe(before + 1);
});

test('a 429 is remembered: the next process sends nothing', async () => {
  const where = at('limited');
  const first = await petstore(where, list);
  const before = service.requests.length;
  const second = await petstore(where, list);
  expect([first.code, second.code]).toEqual([5, 5]);
  expect(service.requests).toHaveLength(before);
});
