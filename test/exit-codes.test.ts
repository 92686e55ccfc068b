// The exit-code table of the contract (section 3), row by row: the built program against a service in another process.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compile } from './support/compile.ts';
import type { Outcome, Place } from './support/program.ts';
import { ended, petstore, place, start } from './support/program.ts';

const KEY = 'sk_test_canary_0123456789';
let service: ChildProcess;
let origin = '';

beforeAll(async () => {
  service = spawn(process.execPath, [compile('test/support/scripted-service.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(service.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  origin = `http://127.0.0.1:${line.toString().trim()}`;
});

afterAll(() => {
  service.kill();
});

const at = (behaviour: string, env: Record<string, string> = {}): Place =>
  place({ PETSTORE_BASE_URL: `${origin}/${behaviour}/v1`, PETSTORE_API_KEY: KEY, ...env });
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

test('a create whose answer is lost was sent once', async () => {
  const before = await counts();
  await petstore(at('reset'), create);
  expect((await counts())['reset POST']).toBe((before['reset POST'] ?? 0) + 1);
});

test('a 429 is remembered: the next process sends nothing', async () => {
  const where = at('limited');
  const first = await petstore(where, list);
  const before = await counts();
  const second = await petstore(where, list);
  expect([first.code, second.code]).toEqual([5, 5]);
  expect(await counts()).toEqual(before);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s ends a read with %i', async (signal, code) => {
  const before = (await counts())['silent GET'] ?? 0;
  const child = start(at('silent'), list);
  const end = ended(child);
  while (((await counts())['silent GET'] ?? 0) <= before) await new Promise((resolve) => setTimeout(resolve, 20));
  child.kill(signal);
  const result = await end;
  expect({ code: result.code, out: result.out }).toEqual({ code, out: '' });
});

async function counts(): Promise<Record<string, number>> {
  return (await fetch(`${origin}/counts/`)).json() as Promise<Record<string, number>>;
}
