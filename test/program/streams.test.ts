// Streams: slow and closed readers, unwritable outputs, and a signal during a wait.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { hasDevFull, hasShell, hasSignals } from '../support/capabilities.ts';
import type { HttpFake } from '../support/http-fake.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { startLimited } from '../support/limited-service.ts';
import { ended, place } from '../support/processes.ts';
import { BIN, KEY, petstore, savedPlace, start } from '../support/program.ts';

const signalTest = test.runIf(hasSignals);

const BIG = JSON.stringify(
  Array.from({ length: 6000 }, (_, at) => ({ id: at + 1, name: `name-${at}`, description: 'x'.repeat(140) })),
);
const LIST = ['categories', 'list'];

// It lists 1 MB.
let service: HttpFake;
beforeAll(async () => {
  service = await startHttpFake(() => ({ body: BIG }));
  return service.close;
});

signalTest('SIGINT during a wait for the rate limit leaves no ticket open', async () => {
  const server = await startLimited({ mode: 'anchored', limit: 1, windowMs: 60_000 });
  const home = place();
  await petstore(home, ['auth', 'login', '--url', server.url], `${KEY}\n`);
  const waiting = start(home, [...LIST]);
  const outcome = ended(waiting);
  await once(waiting.stderr as NodeJS.ReadableStream, 'data');
  waiting.kill('SIGINT');
  const { err } = await outcome;
  expect(err.match(/waiting .* for the rate limit/g), err).toHaveLength(1);
  const { out } = await petstore(home, ['quota', '--json']);
  expect(JSON.parse(out)).toMatchObject({ inFlight: 0, remaining: 0, limit: 1 });
  expect(server.seen.sent).toBe(1);
  server.close();
});

test('a pipe with a slow reader carries every byte', async () => {
  const child = start(savedPlace(service.url), [...LIST, '--json']);
  const sizes: number[] = [];
  child.stdout?.on('data', (chunk: Buffer) => {
    sizes.push(chunk.length);
    child.stdout?.pause();
    setImmediate(() => child.stdout?.resume());
  });
  const { code, out } = await ended(child);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual(JSON.parse(BIG));
  expect(sizes.length).toBeGreaterThan(1);
});

test.runIf(hasShell).each([['--json'], ['--format=csv']])(
  'a pipe closed after the first line ends a list (%s) with exit code 0 and no error',
  async (format) => {
    const home = savedPlace(service.url);
    const script = `"$@" | head -1; echo "code \${PIPESTATUS[0]}"`;
    const run = await ended(
      spawn('bash', ['--norc', '-c', script, 'bash', process.execPath, BIN, ...LIST, format], {
        env: { ...home.env, SHLVL: '2' },
      }),
    );
    expect(run.out).toMatch(/code 0\n$/);
    expect(run.err.replace(/^quota:.*\n/m, '')).toBe('');
  },
);

test('an import completes after its stdout and stderr are closed', async () => {
  const created: { id: number; name: string }[] = [];
  const shop = await startHttpFake(({ method, body }) => {
    if (method === 'GET') return { body: created };
    const one = { id: created.length + 1, name: (JSON.parse(body) as { name: string }).name };
    created.push(one);
    return { status: 201, body: one };
  });
  const home = savedPlace(shop.url);
  const names = Array.from({ length: 25 }, (_, at) => `name-${at}`);
  writeFileSync(join(home.dir, 'rows.csv'), `name\n${names.join('\n')}\n`);
  const child = start(home, ['categories', 'import', 'rows.csv', '--yes', '--verbose']);
  child.stdout?.destroy();
  child.stderr?.destroy();
  const [code] = await once(child, 'exit');
  shop.close();
  expect(code).toBe(0);
  expect(created.map(({ name }) => name).sort()).toEqual(names.sort());
});

test.runIf(hasDevFull).each([
  ['a list', LIST],
  ['--help', ['--help']],
  ['--version', ['--version']],
])('a full disk behind stdout causes exit code 9 for %s', async (_what, args) => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [BIN, ...args], {
    env: savedPlace(service.url).env,
    stdio: ['ignore', full, 'pipe'],
  });
  const run = await ended(child);
  closeSync(full);
  expect(run.code).toBe(9);
  expect(run.err).toMatch(/cannot write the output/);
  expect(run.err).not.toMatch(/\n\s+at /);
});

test.runIf(hasDevFull).each([
  ['a usage error', ['categories', 'lsit'], 2],
  ['a list', [...LIST, '--json', '--verbose'], 0],
])('a full disk behind stderr does not change the exit code of %s', async (_what, args, code) => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [BIN, ...args], {
    env: savedPlace(service.url).env,
    stdio: ['ignore', 'pipe', full],
  });
  const run = await ended(child);
  closeSync(full);
  expect(run.code).toBe(code);
});

test.runIf(hasShell).each([
  ['stdout', '>&-'],
  ['stdin', '<&-'],
  ['stderr', '2>&-'],
])('`petstore --version` succeeds with a closed %s', async (_what, redirection) => {
  const home = savedPlace(service.url);
  const run = await ended(
    spawn('sh', ['-c', `"$@" ${redirection}`, 'sh', process.execPath, BIN, '--version'], { env: home.env }),
  );
  expect(run).toMatchObject({ code: 0, err: '' });
});

test.runIf(hasShell)("a command in a `while read` loop does not consume the loop's input", async () => {
  const home = savedPlace(service.url);
  const script = `printf 'a\\nb\\nc\\n' | while read -r line; do "$@" >/dev/null; echo "$line"; done`;
  const run = await ended(
    spawn('sh', ['-c', script, 'sh', process.execPath, BIN, ...LIST, '--json', '--search', 'name-7'], {
      env: home.env,
    }),
  );
  expect(run.out).toBe('a\nb\nc\n');
});
