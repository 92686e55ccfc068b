// The table of exit codes (docs/cli.md), row by row.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { run } from '../../src/program.ts';
import { EXIT_CODES } from '../../src/reference.ts';
import type { FakeResponse, HttpFake } from '../support/http-fake.ts';
import { errorResponse, startHttpFake } from '../support/http-fake.ts';
import type { Outcome, Place } from '../support/processes.ts';
import { place } from '../support/processes.ts';
import { KEY, savedPlace } from '../support/program.ts';
import { inProcess, world } from '../support/world.ts';

const responses: Readonly<Record<string, FakeResponse>> = {
  unauthorized: errorResponse(401, 'unauthorized', 'The API key is not valid.'),
  invalid: errorResponse(400, 'invalid_name', 'The name is too long.'),
  missing: errorResponse(404, 'not_found', 'There is nothing here.'),
  limited: errorResponse(429, 'rate_limited', 'Slow down.', { 'retry-after': '3600', 'x-ratelimit-remaining': '0' }),
  failing: errorResponse(500, 'internal', 'Something broke.'),
  html: { body: '<html>Sign in</html>', headers: { 'content-type': 'text/html' } },
  nonsense: { status: 201, body: { no: 'category' } },
  redirect: { status: 302, headers: { location: 'https://elsewhere.example/v1/categories' } },
  silent: 'silence',
};

// The first segment of the path chooses the response.
let service: HttpFake;
beforeAll(async () => {
  service = await startHttpFake(({ path }) => responses[path.split('/')[1] ?? ''] ?? 'reset');
  return service.close;
});

/** A place whose saved profile is of the service that behaves like this. */
const at = (behavior: string): Place => savedPlace(`${service.origin}/${behavior}/v1`);
const list: string[] = ['categories', 'list'];
const create = ['categories', 'create', '--name', 'dog'];
const once = ['--max-retries', '0'];
const closedPort = (): Place => savedPlace('http://127.0.0.1:9/v1');

function damagedConfig(): Place {
  const home = at('unused');
  writeFileSync(join(home.dir, 'config', 'profile-production.json'), '{"key":');
  return home;
}

type Failure = [cause: string, code: number, home: string | (() => Place), args: string[], message: RegExp];
const FAILURES: readonly Failure[] = [
  ['an unknown option', 2, 'unused', [...list, '--frobnicate'], /--frobnicate/],
  ['a blank name', 2, 'unused', ['categories', 'create', '--name', ' '], /empty|blank/],
  ['an unknown profile', 2, place, [...list, '-p', 'farm'], /production/],
  ['a profile without URL and key', 3, place, list, /auth login/],
  ['an empty key', 3, () => place({ PETSTORE_API_KEY: '', PETSTORE_BASE_URL: service.url }), list, /PETSTORE_API_KEY/],
  ['status 401 on a read', 3, 'unauthorized', list, /The API key is not valid/],
  ['status 400', 4, 'invalid', create, /The name is too long/],
  ['status 404', 4, 'missing', list, /There is nothing here/],
  ['status 429 with a wait of an hour', 5, 'limited', create, /429.*Slow down/],
  ['a closed port on a read', 6, closedPort, [...list, ...once], /refused/],
  ['a closed port on a create', 6, closedPort, [...create, ...once], /refused/],
  ['a read without a response', 6, 'silent', [...list, ...once, '--timeout', '300ms'], /timed out after 300 ms/],
  ['status 500 on a read', 7, 'failing', [...list, ...once], /Something broke/],
  ['HTML instead of JSON', 7, 'html', list, /text\/html/],
  ['a redirect', 7, 'redirect', list, /elsewhere\.example/],
  ['status 500 on a create', 8, 'failing', create, /categories list/],
  ['a create without a response', 8, 'silent', [...create, '--timeout', '300ms'], /categories list/],
  ['status 201 without a category', 8, 'nonsense', create, /categories list/],
  ['a damaged config file', 9, damagedConfig, list, /config/],
];

function expectClean(result: Outcome): void {
  expect(result.out + result.err).not.toContain(KEY);
  expect(result.err).not.toMatch(/^\s+at /m);
}

test.each(FAILURES)('%s causes exit code %i with an error and a hint', async (_cause, code, home, args, message) => {
  const fresh = () => (typeof home === 'string' ? at(home) : home());
  const text = await inProcess(args, fresh());
  expect({ code: text.code, out: text.out }, text.err).toEqual({ code, out: '' });
  // The quota line stands before the error, and only after a response with rate limit headers.
  expect(text.err).toMatch(code === 5 ? /^quota: rate limited, .*\nerror: .*\nhint: .*\n$/ : /^error: .*\nhint: /);
  expect(text.err).toMatch(message);
  expectClean(text);

  const json = await inProcess([...args, '--json'], fresh());
  expect({ code: json.code, out: json.out }, json.err).toEqual({ code, out: '' });
  const document = JSON.parse(json.err.trim().split('\n').at(-1) ?? '');
  const kind = Object.entries(EXIT_CODES).find(([, one]) => one.code === code)?.[0];
  expect(document).toEqual({ error: expect.objectContaining({ kind, hint: expect.any(String) }) });
  // The JSON error carries the service's own code and status.
  const sent = (responses[String(home)] as { body?: { code?: string; status?: number } } | undefined)?.body;
  if (sent?.status) expect(document.error).toMatchObject({ code: sent.code, status: sent.status });
  if (code === 5) expect(Date.parse(document.error.retryAt)).toBeGreaterThan(Date.now());
  expectClean(json);
});

test('a command ends only after its cleanups, such as closing the ledger, and a failed one does not change the exit code', async () => {
  const context = world(['--version']);
  const cleaned: string[] = [];
  context.cleanups.push(
    () => Promise.reject(new Error('not cleaned')),
    () => new Promise<void>((done) => setImmediate(done)).then(() => void cleaned.push('ledger')),
  );
  expect([await run(context), cleaned]).toEqual([0, ['ledger']]);
});
