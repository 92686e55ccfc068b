// `petstore sandbox` as a user meets it: what it prints, what it refuses, and that it ends when told.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PetstoreError } from '../../src/errors.ts';
import { run } from '../../src/run.ts';
import { FAULT_KINDS } from '../../src/sandbox/faults.ts';
import { OPERATION_NAMES } from '../../src/sandbox/routes.ts';
import { ended, petstore, place, start } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import type { WorldOptions } from '../support/world.ts';
import { inProcess, world } from '../support/world.ts';
import { startTest } from './support.ts';

/** A sandbox command under way in this process. */
interface Serving {
  readonly out: () => string;
  readonly err: () => string;
  readonly url: string;
  readonly stop: () => Promise<number>;
}

async function serve(args: readonly string[], options: WorldOptions = {}): Promise<Serving> {
  const interrupt = new AbortController();
  const context = world(['sandbox', '--port', '0', ...args], { dir: tempDir(), ...options, signal: interrupt.signal });
  const done = run(context);
  while (!context.stdout.text().includes('/v1')) {
    const early = await Promise.race([
      done,
      new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined))),
    ]);
    if (early !== undefined) throw new Error(`it ended with ${early}: ${context.stderr.text()}`);
  }
  const url = /http:\/\/127\.0\.0\.1:\d+\/v1/.exec(context.stdout.text())?.[0] ?? '';
  return {
    url,
    out: context.stdout.text,
    err: context.stderr.text,
    stop: () => {
      interrupt.abort(new PetstoreError('interrupted', 'interrupted'));
      return done;
    },
  };
}

const ask = (url: string, key: string, path = '/categories'): Promise<Response> =>
  fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}`, connection: 'close' } });

test('it says where it is, its key and plan, and the lines to paste into a shell', async () => {
  const { out, url, stop } = await serve([]);
  expect(out()).toContain('plan free: 60 requests per minute, 1,000 per day');
  expect(out()).toContain(`\n  export PETSTORE_BASE_URL=${url}\n  export PETSTORE_API_KEY=sandbox_`);
  const key = /PETSTORE_API_KEY=(\S+)/.exec(out())?.[1] ?? '';
  const answer = await ask(url, key);
  expect([answer.status, await answer.text()]).toEqual([200, '[]']);
  expect(await stop()).toBe(130);
});

test.each([40, 80])('in a terminal of %i columns its sentences are broken between words', async (columns) => {
  const faults = ['--fault', '503:10', '--fault', 'latency=300ms:5', '--fault', 'reset-after-commit:5'];
  const { out, stop } = await serve([...faults, '--seed', '4000000000'], { columns, env: { NO_COLOR: '1' } });
  const text = out();
  await stop();
  expect(text.replace(/\s+/g, ' ')).toContain('plan free: 60 requests per minute, 1,000 per day URL ');
  expect(text.replace(/\s+/g, ' ')).toContain('fails on purpose: 503:10, latency=300ms:5, reset-after-commit:5 (again');
  // What is to be copied stays in one line.
  const wide = text
    .split('\n')
    .filter((line) => line.length > columns && !/^ {2}(?:URL|key|data|export|\$env)/.test(line));
  expect(wide).toEqual([]);
});

test('that it fails on purpose is said in colour', async () => {
  const { out, stop } = await serve(['--fault', '503:10', '--seed', '7'], { columns: 80, env: { FORCE_COLOR: '1' } });
  const text = out();
  await stop();
  expect(text).toContain('  \u001b[33mfails on purpose\u001b[39m: 503:10 (again the same: --seed 7)\n');
});

test('a key that a shell would read otherwise is quoted in the lines to paste', async () => {
  const { out, stop } = await serve(['--key', "it's$HOME"]);
  const line = /export PETSTORE_API_KEY=(.*)/.exec(out())?.[1];
  expect(execFileSync('sh', ['-c', `printf %s ${line}`]).toString()).toBe("it's$HOME");
  await stop();
});

test('--json prints one document once it listens, and no log lines', async () => {
  const { out, err, url, stop } = await serve([
    '--json',
    '--limit',
    '60/6s',
    '--limit',
    '5/1h',
    '--fault',
    '503:10',
    '--seed',
    '7',
  ]);
  const data = JSON.parse(out());
  expect(data).toEqual({
    url,
    key: expect.stringMatching(/^sandbox_/),
    keys: [data.key],
    plan: 'enterprise',
    limits: [
      { requests: 60, seconds: 6 },
      { requests: 5, seconds: 3600 },
    ],
    data: expect.stringMatching(/sandbox/),
    faults: ['503:10'],
    seed: 7,
  });
  await ask(url, data.key);
  expect(err()).toBe('');
  await stop();
});

test('each request is a line on stderr, made visible; with --quiet none is', async () => {
  const loud = await serve(['--key', 'sandbox_alice_0001']);
  await ask(loud.url, 'sandbox_alice_0001');
  await ask(loud.url, 'somebody_elses_key_9999', '/%1b[31m');
  expect(loud.err()).toBe('GET /v1/categories 200 key …0001, 59 left\nGET /v1/%1b[31m 404 key none, 60 left\n');
  await loud.stop();
  const quiet = await serve(['--quiet', '--key', 'sandbox_alice_0001']);
  await ask(quiet.url, 'sandbox_alice_0001');
  expect(quiet.err()).toBe('');
  await quiet.stop();
});

test('faults without a seed are told with the one that repeats them', async () => {
  const first = await serve(['--fault', 'latency=1ms', '--fault', '503:50']);
  const seed = /latency=1ms, 503:50 \(again the same: --seed (\d+)\)/.exec(first.out())?.[1] ?? '';
  const again = await serve(['--fault', 'latency=1ms', '--fault', '503:50', '--seed', seed]);
  const statuses = async ({ out, url }: Serving): Promise<number[]> => {
    const key = /PETSTORE_API_KEY=(\S+)/.exec(out())?.[1] ?? '';
    const all: number[] = [];
    for (let i = 0; i < 20; i++) all.push((await ask(url, key)).status);
    return all;
  };
  const seen = await statuses(first);
  expect(new Set(seen)).toEqual(new Set([200, 503]));
  expect(await statuses(again)).toEqual(seen);
  await Promise.all([first.stop(), again.stop()]);
});

test('several keys may be given, each with windows of its own', async () => {
  const { url, stop } = await serve(['--key', 'sandbox_alice_0001', '--key', 'sandbox_bobby_0001', '--limit', '1/1h']);
  const statuses: number[] = [];
  for (const key of ['sandbox_alice_0001', 'sandbox_alice_0001', 'sandbox_bobby_0001']) {
    statuses.push((await ask(url, key)).status);
  }
  expect(statuses).toEqual([200, 429, 200]);
  await stop();
});

test('--data names where the data is kept; without it, the commands of -p sandbox see the same', async () => {
  const dir = tempDir();
  const own = await serve(['--data', 'demo.log'], { dir });
  await own.stop();
  expect(readdirSync(dir)).toContain('demo.1.log');
  const shared = await serve(['--key', 'sandbox_alice_0001', '--first-id', '9223372036854775807'], { dir });
  const created = await inProcess(['categories', 'create', '--name', 'dog', '-p', 'sandbox', '--json'], { dir });
  expect([created.code, created.out]).toEqual([0, '{"id":9223372036854775807,"name":"dog"}\n']);
  expect(await (await ask(shared.url, 'sandbox_alice_0001')).text()).toBe('[{"id":9223372036854775807,"name":"dog"}]');
  await shared.stop();
});

test('--beta and --experimental mark operations, and petstore api says so', async () => {
  const { out, url, stop } = await serve(['--beta', 'listcategories', '--experimental', 'GET /store/orders']);
  const key = /PETSTORE_API_KEY=(\S+)/.exec(out())?.[1] ?? '';
  const env = { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: key };
  expect((await inProcess(['api', 'GET', '/categories'], { env })).err).toContain('is marked beta');
  expect((await inProcess(['api', 'GET', '/store/orders'], { env })).err).toContain('is marked experimental');
  await stop();
});

test('a busy port is wrong usage, and it says what to do', async () => {
  const { port } = await startTest();
  const busy = await inProcess(['sandbox', '--port', String(port)]);
  expect([busy.code, busy.out]).toEqual([2, '']);
  expect(busy.err).toContain(`port ${port} is in use\nchoose another one with --port N, or --port 0`);
});

test.each([
  [['--port', '65536']],
  [['--port', '-1']],
  [['--plan', 'gold']],
  [['--limit', '5']],
  [['--limit', '5/1m', '--plan', 'free']],
  [['--key', '']],
  [['--key', 'with space']],
  [['--fault', 'tsunami']],
  [['--fault', '503:200']],
  [['--seed', 'x']],
  [['--beta', 'deleteCategory']],
  [['--first-id', '0']],
  [['--first-id', '9223372036854775808']],
  [['--retry-after', 'soon']],
])('%s is wrong usage: exit 2, nothing on stdout', async (args) => {
  const { code, out, err } = await inProcess(['sandbox', ...args]);
  expect([code, out]).toEqual([2, '']);
  expect(err).toMatch(/^error: .+\n.+\n$/);
});

test('a folder is no data file: nothing is made beside it', async () => {
  const { code, err } = await inProcess(['sandbox', '--port', '0', '--data', '/']);
  expect(code).toBe(2);
  expect(err).toContain('--data names a folder');
});

test.each(['', '--reset'])('a file that is no data of ours is exit 9, and left as it is (%s)', async (option) => {
  const dir = tempDir();
  for (const name of ['mine.1.log', 'mine.windows.1.log']) {
    writeFileSync(join(dir, name), 'a diary\n');
    const { code, out, err } = await inProcess(
      ['sandbox', '--port', '0', '--data', join(dir, 'mine'), option].filter(Boolean),
    );
    expect([code, out]).toEqual([9, '']);
    expect(err).toContain(`the file holds no data of petstore: ${join(dir, name)}\nmove it away`);
    expect(readFileSync(join(dir, name), 'utf8')).toBe('a diary\n');
    rmSync(join(dir, name));
  }
});

test('data that cannot be kept is exit 9', async () => {
  const { code, err } = await inProcess(['sandbox', '--port', '0', '--data', '/dev/null/data']);
  expect(code).toBe(9);
  expect(err).toContain('/dev/null');
});

test('its help names every fault and every operation that can be marked', async () => {
  const { out } = await inProcess(['sandbox', '--help']);
  for (const word of [...Object.keys(FAULT_KINDS), ...OPERATION_NAMES]) expect(out).toContain(word);
});

test.each([
  ['SIGINT', 130, 'interrupted'],
  ['SIGTERM', 143, 'terminated'],
] as const)('%s ends the built program, with a connection open and an answer owed', async (signal, code, word) => {
  const child = start(place(), ['sandbox', '--port', '0', '--fault', 'hang']);
  const outcome = ended(child);
  const [piece] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  const url = /http:\/\/127\.0\.0\.1:\d+\/v1/.exec(piece.toString())?.[0] ?? '';
  const waiting = ask(url, 'none').catch(() => 'cut off');
  await once(child.stderr as NodeJS.ReadableStream, 'data');
  child.kill(signal);
  // It says so itself: it was not ended by the grace that runs out.
  expect(await outcome).toMatchObject({ code, err: expect.stringContaining(`error: ${word}`) });
  expect(await waiting).toBe('cut off');
});

test('the data of a sandbox that was killed is there for the next command', async () => {
  const at = place();
  const child = start(at, ['sandbox', '--port', '0', '--json', '--data', join(at.dir, 'state', 'sandbox', 'data')]);
  const [piece] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  const { url, key } = JSON.parse(piece.toString());
  const env = { ...at.env, PETSTORE_BASE_URL: url, PETSTORE_API_KEY: key };
  expect((await petstore({ ...at, env }, ['categories', 'create', '--name', 'dog'])).code).toBe(0);
  child.kill('SIGKILL');
  await ended(child);
  const listed = await petstore(at, ['categories', 'list', '--json', '-p', 'sandbox']);
  expect(JSON.parse(listed.out)).toEqual([{ id: 1, name: 'dog' }]);
});
