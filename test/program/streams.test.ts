// Signals and streams: interruptions, slow and closed readers, unwritable outputs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { hasDevFull, hasShell, hasSignals } from '../support/capabilities.ts';
import type { HttpFake } from '../support/http-fake.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { startLimited } from '../support/limited-service.ts';
import type { Outcome, Place } from '../support/processes.ts';
import { ended, place, until } from '../support/processes.ts';
import { BIN, petstore, start } from '../support/program.ts';

const signalTest = test.runIf(hasSignals);

const BIG = JSON.stringify(
  Array.from({ length: 60_000 }, (_, at) => ({ id: at + 1, name: `name-${at}`, description: 'x'.repeat(140) })),
);
const CREATED = '{"id":7,"name":"dog"}';

// The first segment of the path chooses the response: 10 MB for `/big`, none for `/silent`, a delayed one for `/late`.
let service: HttpFake;
beforeAll(async () => {
  service = await startHttpFake(async ({ path }) => {
    const kind = path.split('/')[1];
    if (kind === 'big') return { body: BIG };
    if (kind !== 'late') return 'silence';
    await new Promise((resolve) => setTimeout(resolve, 400));
    return { status: 201, body: CREATED };
  });
  return service.close;
});

let runs = 0;
function at(kind: string): Place & { readonly received: () => Promise<void> } {
  const prefix = `/${kind}/run${++runs}`;
  const env = { PETSTORE_BASE_URL: `${service.origin}${prefix}/v1`, PETSTORE_API_KEY: 'secret-0123456789' };
  const received = () => until(() => service.requests.some(({ path }) => path.startsWith(`${prefix}/`)));
  return { ...place(env), received };
}

const LIST = ['categories', 'list'];
const CREATE = ['categories', 'create', '--name', 'dog'];

// Sends a signal once the service has received the request.
async function interrupted(kind: string, args: readonly string[], signal: NodeJS.Signals = 'SIGINT'): Promise<Outcome> {
  const home = at(kind);
  const child = start(home, args);
  const outcome = ended(child);
  await home.received();
  child.kill(signal);
  return outcome;
}

signalTest.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s during a read causes exit code %i, one line on stderr and nothing on stdout', async (signal, code) => {
  const { err, ...rest } = await interrupted('silent', [...LIST, '--json'], signal);
  expect(rest).toEqual({ code, out: '' });
  expect(JSON.parse(err).error.kind).toBe('interrupted');
});

signalTest('SIGINT during a create does not prevent it from printing a response that arrives in time', async () => {
  expect(await interrupted('late', [...CREATE, '--json'])).toEqual({ code: 0, out: `${CREATED}\n`, err: '' });
});

signalTest('SIGINT during a create without a response causes exit code 130 and an unknown outcome', async () => {
  const { err, ...rest } = await interrupted('silent', [...CREATE, '--json']);
  expect(rest).toEqual({ out: '', code: 130 });
  expect(JSON.parse(err).error).toEqual({
    kind: 'interrupted',
    message: 'interrupted: the outcome of creating "dog" is unknown',
    hint: 'check whether the category exists before you retry: `petstore categories list --search dog`',
    outcome: 'unknown',
  });
});

signalTest('a second SIGINT ends a create without waiting for its response', async () => {
  const home = at('silent');
  const child = start(home, CREATE);
  const run = ended(child);
  await home.received();
  child.kill('SIGINT');
  // Pending signals of one kind merge, so the second must arrive after the first was handled.
  const again = setInterval(() => child.kill('SIGINT'), 50);
  const { code, err } = await run;
  clearInterval(again);
  expect(code).toBe(130);
  // After the whole grace period, the error would state an unknown outcome.
  expect(err).not.toContain('unknown');
});

signalTest.concurrent.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)(
  '%s during a wait for the rate limit causes exit code %i and leaves no ticket open',
  async (signal, code) => {
    const server = await startLimited({ mode: 'anchored', limit: 1, windowMs: 60_000 });
    const home = place({ PETSTORE_API_KEY: 'secret-0123456789', PETSTORE_BASE_URL: server.url });
    await petstore(home, LIST);
    const waiting = start(home, CREATE);
    const outcome = ended(waiting);
    await once(waiting.stderr as NodeJS.ReadableStream, 'data');
    waiting.kill(signal);
    const { err, ...rest } = await outcome;
    expect(rest).toEqual({ code, out: '' });
    expect(err.match(/waiting .* for the rate limit/g), err).toHaveLength(1);
    const { out } = await petstore(home, ['quota', '--json']);
    expect(JSON.parse(out)).toMatchObject({ inFlight: 0, remaining: 0, limit: 1 });
    expect(server.seen.sent).toBe(1);
    server.close();
  },
);

test('a pipe with a slow reader carries every byte', async () => {
  const child = start(at('big'), [...LIST, '--json']);
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

test.runIf(hasShell).each([['--json'], ['--format=csv'], ['--format=ndjson'], ['--quiet']])(
  'a pipe closed after the first line ends a list (%s) with exit code 0 and no error',
  async (format) => {
    const home = at('big');
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
  const home = place({ PETSTORE_BASE_URL: shop.url, PETSTORE_API_KEY: 'secret-0123456789' });
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
  ['a list as JSON', [...LIST, '--json']],
  ['a list as a table', LIST],
  ['--help', ['--help']],
  ['--version', ['--version']],
])('a full disk behind stdout causes exit code 9 for %s', async (_what, args) => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [BIN, ...args], { env: at('big').env, stdio: ['ignore', full, 'pipe'] });
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
  const child = spawn(process.execPath, [BIN, ...args], { env: at('big').env, stdio: ['ignore', 'pipe', full] });
  const run = await ended(child);
  closeSync(full);
  expect(run.code).toBe(code);
});

test.runIf(hasShell).each([
  ['stdout', '>&-'],
  ['stdin', '<&-'],
  ['stderr', '2>&-'],
])('`petstore --version` succeeds with a closed %s', async (_what, redirection) => {
  const home = at('big');
  const run = await ended(
    spawn('sh', ['-c', `"$@" ${redirection}`, 'sh', process.execPath, BIN, '--version'], { env: home.env }),
  );
  expect(run).toMatchObject({ code: 0, err: '' });
});

test.runIf(hasShell)("a command in a `while read` loop does not consume the loop's input", async () => {
  const home = at('big');
  const script = `printf 'a\\nb\\nc\\n' | while read -r line; do "$@" >/dev/null; echo "$line"; done`;
  const run = await ended(
    spawn('sh', ['-c', script, 'sh', process.execPath, BIN, ...LIST, '--json', '--search', 'name-7'], {
      env: home.env,
    }),
  );
  expect(run.out).toBe('a\nb\nc\n');
});
