// `categories import` in the test process: output, warnings, lock, requests and exit codes.
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../../../src/cli/commands/categories/import-progress.ts';
import type { ImportData } from '../../../../src/cli/commands/categories/import-view.ts';
import { importView } from '../../../../src/cli/commands/categories/import-view.ts';
import { loadRenderer } from '../../../../src/cli/output/render.ts';
import { hasSymlinks } from '../../../support/capabilities.ts';
import { ManualClock } from '../../../support/fake-clock.ts';
import { errorResponse, quotaHeaders } from '../../../support/http-fake.ts';
import { until } from '../../../support/processes.ts';
import { tempDir } from '../../../support/temp-dir.ts';
import { inProcess, serving, world } from '../../../support/world.ts';

function shop() {
  const dir = tempDir();
  const run = (args: readonly string[], stdin?: string) =>
    inProcess([...args, '-p', 'sandbox'], stdin === undefined ? { dir } : { dir, stdin });
  return {
    dir,
    run,
    file: (name: string, content: string) => writeFileSync(join(dir, name), content),
    names: async (): Promise<string[]> => {
      const listed = JSON.parse((await run(['categories', 'list', '--json'])).out) as { name: string }[];
      return listed.map(({ name }) => name);
    },
  };
}

const IMPORT = ['categories', 'import'];

const NONE = { created: [], skipped: [], failed: [], unknown: [], pending: 0 };
const PLAN = { dryRun: true, toCreate: [], skipped: [] } as const;
const planned = (ms: number, windowMs: number) => ({ ...PLAN, estimate: { ms, limit: 1000, windowMs } });

test('`import --json` prints one document, and the next import skips existing names and warns about different descriptions', async () => {
  const { run } = shop();
  const empty = await run([...IMPORT, '-', '--json'], '[]');
  const noRows = { warning: { message: 'stdin has no rows' } };
  expect([empty.code, JSON.parse(empty.err), JSON.parse(empty.out)]).toEqual([0, noRows, NONE]);
  expect((await run([...IMPORT, '-', '--dry-run'], '[]')).out).toBe('Would create 0 categories and skip 0\n');
  const first = await run([...IMPORT, '-', '--json'], '{"name":"dog","id":77}\n{"name":"cat","description":"Felis"}\n');
  expect([first.code, first.err]).toEqual([0, '']);
  const [dog, cat] = ['{"name":"dog","id":1}', '{"name":"cat","id":2}'].map((text) => JSON.parse(text) as object);
  expect(JSON.parse(first.out)).toEqual({ ...NONE, created: [dog, { ...cat, description: 'Felis' }] });
  // An empty description does not differ from none.
  const rows =
    '{"name":"dog","description":""}\n{"name":"cat","description":"Katze"}\n{"name":"cow"}\n{"name":"cow"}\n';
  const { err, out } = await run([...IMPORT, '-'], rows);
  expect(err).toContain('warning: 1 existing category has a different description and cannot be updated: "cat"\n');
  expect(err).toContain('warning: 1 row repeats a name and is skipped: line 4 "cow"\n');
  expect(out).toBe('Created 1, skipped 3, failed 0, unknown 0\n');
  const differing = { row: 2, ...cat, differs: true };
  const cow = { name: 'cow', id: 3 };
  const skipped = [{ row: 1, ...dog }, differing, { row: 3, ...cow }, { row: 4, ...cow, repeats: 3 }];
  expect(JSON.parse((await run([...IMPORT, '-', '--json'], rows)).out)).toEqual({ ...NONE, skipped });
});

test.runIf(hasSymlinks)(
  'two imports into the sandbox share a lock if one reaches its state directory through a symbolic link',
  async () => {
    const { dir, run } = shop();
    symlinkSync(dir, join(dir, 'link'));
    const linked = { dir, env: { PETSTORE_STATE_DIR: join(dir, 'link', 'state') }, stdin: 'name\ndog\n' };
    expect((await inProcess([...IMPORT, '-', '-p', 'sandbox'], linked)).code).toBe(0);
    expect((await run([...IMPORT, '-'], 'name\ndog\n')).out).toContain('skipped 1');
    expect(readdirSync(join(dir, 'state', 'imports'))).toHaveLength(1);
  },
);

test('an import of an invalid file exits with code 2 and records nothing, even without a key', async () => {
  const { dir, file, run } = shop();
  file('bad.csv', 'name\ndog\n""\n');
  const { code, out, err } = await run([...IMPORT, 'bad.csv', '--json']);
  expect([code, out]).toEqual([2, '']);
  const problems = [{ line: 3, row: 2, message: 'name is blank' }];
  expect(JSON.parse(err)).toMatchObject({ error: { kind: 'usage', problems } });
  expect((await inProcess([...IMPORT, 'bad.csv'], { dir })).code).toBe(2);
  expect(readdirSync(dir)).toEqual(['bad.csv']);
  file('good.csv', 'name\ndog\n');
  expect((await inProcess([...IMPORT, 'good.csv'], { dir })).code).toBe(3);
});

test('an import with a rejected row creates the other categories, and an import of the corrected file creates the missing one', async () => {
  const { file, run, names } = shop();
  // The name is larger than the sandbox's limit for a body.
  const name = 'x'.repeat(1_100_000);
  file('species.csv', `name\ndog\n${name}\ncat\n`);
  const first = await run([...IMPORT, 'species.csv', '--json']);
  expect(first.code).toBe(4);
  const failed = [{ row: 2, name, code: 'body_too_large', message: expect.any(String), status: 413 }];
  expect(JSON.parse(first.out)).toMatchObject({ created: [{ name: 'dog' }, { name: 'cat' }], failed, pending: 0 });
  expect(JSON.parse(first.err)).toMatchObject({ error: { kind: 'rejected', status: 413 } });
  const again = await run([...IMPORT, 'species.csv']);
  expect(again.out).toMatch(
    /^Created 0, skipped 2, failed 1, unknown 0\n\nRejected by the service:\nROW +NAME +STATUS +CODE +MESSAGE\n +2 +x+ +413 +body_too_large +\S/,
  );
  file('species.csv', 'name\ndog\ncow\ncat\n');
  expect((await run([...IMPORT, 'species.csv'])).out).toBe('Created 1, skipped 2, failed 0, unknown 0\n');
  expect((await names()).sort()).toEqual(['cat', 'cow', 'dog']);
});

test('the result of an import lists at most twenty unknown rows', async () => {
  const print = await loadRenderer(importView, world([]), { format: 'table', color: false });
  const unknown = Array.from({ length: 21 }, (_, at) => ({ row: at + 1, name: 'x' }));
  const text = [...print({ document: { ...NONE, unknown, pending: 2 }, failure: undefined })].join('');
  expect(text).toMatch(/^Created 0, skipped 0, failed 0, unknown 21, pending 2\n\nMay or may not exist:\nROW /);
  expect(text.match(/^ *\d+ {2}x$/gm)).toHaveLength(20);
  expect(text).toMatch(/\nand 1 more unknown \(see --json\)\n$/);
});

test.each<[string, ImportData, unknown, unknown]>([
  [
    'an import prints its document, and an output error states the counts',
    { document: NONE, failure: undefined },
    NONE,
    'created 0, skipped 0, failed 0, unknown 0',
  ],
  [
    'an import with pending rows prints its document, and an output error counts these rows',
    { document: { ...NONE, pending: 2 }, failure: undefined },
    { ...NONE, pending: 2 },
    expect.stringMatching(/, pending 2$/),
  ],
  [
    'a dry run whose estimate includes a wait for the daily limit shows that this limit is exceeded',
    planned(1500, DAY_MS),
    { ...PLAN, estimatedSeconds: 2, exceedsDailyLimit: true },
    undefined,
  ],
  [
    'a dry run whose estimate includes no wait shows that the daily limit suffices',
    planned(0, DAY_MS),
    { ...PLAN, estimatedSeconds: 0, exceedsDailyLimit: false },
    undefined,
  ],
  [
    'a dry run whose estimate includes a wait for the limit per minute shows that the daily limit suffices',
    planned(1500, 60_000),
    { ...PLAN, estimatedSeconds: 2, exceedsDailyLimit: false },
    undefined,
  ],
])('with `--json`, %s', (_what, data, json, change) => {
  expect([importView.json?.(data), importView.change?.(data)]).toEqual([json, change]);
});

test('`import --dry-run` prints the rows to create and the estimated time, creates nothing and takes no lock', async () => {
  const { dir, file, run, names } = shop();
  await run(['categories', 'create', '--name', 'dog']);
  const cows = Array.from({ length: 70 }, (_, at) => `cow ${at},\n`).join('');
  file('species.csv', `name,description\ndog,\ncat,Felis\n${cows}cat,Felis\n`);
  const { code, out } = await run([...IMPORT, 'species.csv', '--dry-run']);
  expect(code).toBe(0);
  expect(out).toMatch(/^ROW +NAME +DESCRIPTION\n +2 +cat +Felis\n/);
  expect(out).toContain('Would create 71 categories and skip 2\nEstimated time: ');
  expect(out).toContain('and 51 more to create');
  const json = await run([...IMPORT, 'species.csv', '--dry-run', '--json']);
  expect(JSON.parse(json.out)).toMatchObject({
    dryRun: true,
    toCreate: expect.arrayContaining([{ row: 2, name: 'cat', description: 'Felis' }]),
    skipped: [
      { row: 1, name: 'dog', id: 1 },
      { row: 73, name: 'cat', repeats: 2 },
    ],
    estimatedSeconds: expect.any(Number),
    exceedsDailyLimit: false,
  });
  expect(await names()).toEqual(['dog']);
  expect(readdirSync(join(dir, 'state'))).not.toContain('imports');
});

test('an import whose lock cannot be written exits with code 9 and creates nothing', async () => {
  const { dir, file, run, names } = shop();
  file('rows.csv', 'name\ndog\n');
  await names();
  writeFileSync(join(dir, 'state', 'imports'), 'a file instead of a directory');
  const { code, out, err } = await run([...IMPORT, 'rows.csv', '--json']);
  expect([code, out, await names()]).toEqual([9, '', []]);
  const message = expect.stringContaining(`cannot lock the import in "${join(dir, 'state', 'imports')}" (`);
  const hint = 'set PETSTORE_STATE_DIR to a directory that you can write to';
  expect(JSON.parse(err)).toMatchObject({ error: { kind: 'storage', message, hint } });
});

test('an import prints every digit of an id above 2^53', async () => {
  const cat = '{"id":9223372036854775001,"name":"cat"}';
  let isCreated = false;
  const { env, requests } = await serving(({ method }) => {
    if (method === 'GET') return { body: isCreated ? `[${cat}]` : '[]' };
    isCreated = true;
    return { status: 201, body: cat };
  });
  const { out } = await inProcess([...IMPORT, '-', '--json'], { env, stdin: '[{"name":"cat"}]' });
  expect(out).toContain('"id":9223372036854775001');
  // Without a known limit, nothing prevents a last list.
  expect(requests.map(({ method }) => method)).toEqual(['GET', 'POST', 'GET']);
});

test('a dry run warns about names that differ only in case, and estimates no time without a known limit', async () => {
  const { env } = await serving(() => ({ body: [] }));
  const preview = { env, stdin: '[{"name":"cat"},{"name":"Cat"}]' };
  const { err } = await inProcess([...IMPORT, '-', '--dry-run'], preview);
  expect(err).toContain(' become separate categories: "cat" and "Cat"\n');
  const json = await inProcess([...IMPORT, '-', '--dry-run', '--json'], preview);
  expect(JSON.parse(json.out)).toMatchObject({ estimatedSeconds: null, exceedsDailyLimit: false });
});

test('an import asks nothing with `--yes`, in CI, in the sandbox or without new rows, and otherwise rejects piped rows at a terminal', async () => {
  const { dir, file } = shop();
  file('a.csv', 'name\ndog\n');
  const dog = { id: 1, name: 'dog' };
  let items: object[] = [];
  const { env } = await serving(({ method }) => {
    if (method === 'POST') items = [dog];
    return method === 'POST' ? { status: 201, body: dog } : { body: items };
  });
  const run = (
    words: readonly string[],
    options: object = { stdin: '{"name":"dog"}' },
    more = {},
    existing: object[] = [],
  ) => {
    items = existing;
    return inProcess([...IMPORT, ...words], { dir, env: { ...env, ...more }, columns: 80, ...options });
  };
  expect(await run(['-'])).toMatchObject({ code: 2, out: '', err: expect.stringContaining('use --yes') });
  const unasked = { code: 0, err: expect.not.stringContaining('Create ') };
  expect(await run(['-', '--yes'])).toMatchObject(unasked);
  expect(await run(['-'], undefined, { CI: '1' })).toMatchObject(unasked);
  expect(await run(['a.csv'])).toMatchObject(unasked);
  expect(await run(['a.csv', '--yes'], {})).toMatchObject(unasked);
  // The only category exists.
  expect(await run(['a.csv'], {}, {}, [dog])).toMatchObject(unasked);
  const server = { PETSTORE_STATE_URL: 'redis://127.0.0.1:9' };
  expect(await run(['a.csv', '-p', 'sandbox'], {}, server)).toMatchObject(unasked);
});

test('an import redacts a key that the service repeats in the rejection of a row', async () => {
  const key = 'sk_test_Abcdef0123456789';
  const { env } = await serving(({ method }) =>
    method === 'GET' ? { body: [] } : errorResponse(400, key, `bad key ${key}`),
  );
  const input = { env: { ...env, PETSTORE_API_KEY: key }, stdin: 'name\ndog\n' };
  const { out, err } = await inProcess([...IMPORT, '-', '--json'], input);
  expect(JSON.parse(out).failed).toHaveLength(1);
  expect(`${out}${err}`).not.toContain(key);
});

test.each([
  ['--yes', 'one notice', /^\{"waiting":\{"reason":"import",.*\}\n$/],
  ['--quiet', 'nothing', /^$/],
])('an import with `%s` that waits for another import prints %s on stderr', async (option, _what, printed) => {
  const dir = tempDir();
  const clock = new ManualClock(Date.now());
  const created: object[] = [];
  let second: ReturnType<typeof inProcess> | undefined;
  const { env } = await serving(async ({ method }) => {
    clock.touch();
    if (method === 'GET') return { body: created };
    second ??= clock.drive(inProcess(args, { ...input, clock }));
    // The first import ends once the second waits for the lock.
    await until(() => clock.slept.length > 0);
    created.push({ id: 1, name: 'dog' });
    return { status: 201, body: created[0] };
  });
  const args = [...IMPORT, '-', option, '--json'];
  const input = { dir, env, stdin: 'name\ndog\n' };
  const first = await inProcess(args, input);
  expect([first.err, (await second)?.err]).toEqual(['', expect.stringMatching(printed)]);
});

/** Imports rows into a service that responds to creates with this status, and permits `left` requests. */
async function importWithQuota(left: number, status: number, stdin: string, ...options: string[]) {
  const clock = new ManualClock(Date.now());
  const { env, requests } = await serving(({ method }) => {
    clock.touch();
    const headers = quotaHeaders(--left);
    return method === 'GET' ? { body: [], headers } : { status, body: { id: 1, name: 'dog' }, headers };
  });
  const run = await clock.drive(inProcess([...IMPORT, '-', ...options], { env, stdin, clock }));
  return { ...run, methods: requests.map(({ method }) => method), ms: clock.monotonic() };
}

test('an import omits its last list if this list would wait for the rate limit', async () => {
  expect(await importWithQuota(2, 201, 'name\ndog\n')).toMatchObject({ code: 0, methods: ['GET', 'POST'] });
});

test('an import resends a create of unknown outcome at most `--max-retries` times', async () => {
  const creates = async (most: string) => {
    const { code, methods } = await importWithQuota(50, 500, 'name\ndog\n', '--max-retries', most);
    return [code, methods.filter((method) => method === 'POST').length];
  };
  expect([await creates('0'), await creates('5')]).toEqual([
    [8, 1],
    [8, 6],
  ]);
});

test('an import whose API key is rejected sends no more creates and ends its wait for the rate limit', async () => {
  const rows = Array.from({ length: 20 }, (_, row) => `Row ${row}`);
  const { ms, ...run } = await importWithQuota(2, 401, `name\n${rows.join('\n')}\n`);
  const err = expect.stringMatching(/rejected the API key \(401\)\nhint: set PETSTORE_API_KEY to a valid key\n/);
  expect(run).toMatchObject({ code: 3, methods: ['GET', 'POST'], err });
  expect(ms).toBeLessThan(28_000);
});

test('after a 504, an import waits as long as `--timeout` before it looks up the category', async () => {
  const { ms } = await importWithQuota(50, 504, 'name\ndog\n', '--max-retries', '0', '--timeout', '45s');
  expect(ms).toBeGreaterThanOrEqual(45_000);
});

test('the progress line of an import fits the terminal, and is cleared before a warning', async () => {
  // Loading the spinner takes real time.
  await import('ora');
  const clock = new ManualClock(Date.now());
  const { env } = await serving(async ({ method }) => {
    clock.touch();
    await clock.sleep(1000);
    const dog = [{ id: 1, name: 'dog', description: 'Canis' }];
    if (method === 'GET') return { body: dog, headers: quotaHeaders() };
    return { status: 201, body: { id: 2, name: 'cat' }, headers: quotaHeaders() };
  });
  const { dir, file } = shop();
  file('rows.csv', 'name,description\ndog,Wolf\ncat,\n');
  const run = inProcess([...IMPORT, 'rows.csv', '--yes'], { dir, env, clock, columns: 22 });
  const { err } = await clock.drive(run);
  // The line omits the quota, which does not fit.
  expect(err).toContain(' 1 of 2\u001b');
  expect(err).toMatch(/\u001b\[0Kwarning: 1 existing/);
});
