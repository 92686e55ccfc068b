// Signals and pipes: interruptions, slow and closed readers, outputs that cannot be written.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { hasDevFull, hasShell, hasSignals } from '../support/capabilities.ts';
import type { HttpFake } from '../support/http-fake.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { startLimitServer } from '../support/limit-server.ts';
import type { Outcome, Place } from '../support/processes.ts';
import { ended, place } from '../support/processes.ts';
import { BIN, petstore, start } from '../support/program.ts';

const BIG = JSON.stringify(
  Array.from({ length: 60_000 }, (_, at) => ({ id: at + 1, name: `name-${at}`, description: 'x'.repeat(140) })),
);
const CREATED = '{"id":7,"name":"dog"}';

// The first segment of the path chooses the answer: `/big` is 10 MB, `/silent` never answers, `/late` answers after a while.
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
  const received = async (): Promise<void> => {
    while (!service.requests.some(({ path }) => path.startsWith(`${prefix}/`))) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
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

describe.runIf(hasSignals)('a signal', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s during a read exits with %i, one line on stderr and nothing on stdout', async (signal, code) => {
    const { err, ...rest } = await interrupted('silent', [...LIST, '--json'], signal);
    expect(rest).toEqual({ code, out: '' });
    expect(JSON.parse(err).error.kind).toBe('interrupted');
  });

  test('during a create waits for a response that is on its way', async () => {
    const { out, err, code } = await interrupted('late', [...CREATE, '--json']);
    // The response arrived: it is printed, or the interruption reports that the category may exist.
    expect(code === 0 ? out : err).toMatch(code === 0 ? /"id":7/ : /"outcome":"unknown"/);
    expect([0, 130]).toContain(code);
  });

  test('during a create without a response ends with 130 and reports that the category may exist', async () => {
    const { err, ...rest } = await interrupted('silent', [...CREATE, '--json']);
    expect(rest).toEqual({ out: '', code: 130 });
    expect(JSON.parse(err).error).toEqual({
      kind: 'interrupted',
      message: 'interrupted: the outcome of creating "dog" is unknown',
      hint: 'check whether the category exists before you retry: `petstore categories list --search dog`',
      outcome: 'unknown',
    });
  });

  test('sent twice exits immediately', async () => {
    const home = at('silent');
    const child = start(home, CREATE);
    const run = ended(child);
    await home.received();
    child.kill('SIGINT');
    // Pending signals of one kind are merged, so the second must arrive after the first was handled.
    const again = setInterval(() => child.kill('SIGINT'), 50);
    const { code, err } = await run;
    clearInterval(again);
    expect(code).toBe(130);
    // It did not wait out the grace period, whose end would be reported.
    expect(err).not.toContain('unknown');
  });

  test.concurrent.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends a wait for the rate limit with exit code %i and leaves no ticket open', async (signal, code) => {
    const server = await startLimitServer({ mode: 'anchored', limit: 1, windowMs: 60_000 });
    const home = place({ PETSTORE_API_KEY: 'secret-0123456789', PETSTORE_BASE_URL: server.baseUrl });
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
    await server.close();
  });
});

describe('a pipe', () => {
  test('with a slow reader gets every byte', async () => {
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
    'that is closed after the first line ends a list (%s) quietly',
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
});

test('an import continues after the readers of its output have closed', async () => {
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
  ['list', [...LIST, '--json']],
  ['list as a table', LIST],
  ['help', ['--help']],
  ['version', ['--version']],
])('a stdout that cannot be written is a storage error for %s', async (_what, args) => {
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
  ['an answer', [...LIST, '--json', '--verbose'], 0],
])('a stderr that cannot be written does not change the exit code of %s', async (_what, args, code) => {
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
])('a closed %s causes no internal error', async (_what, redirection) => {
  const home = at('big');
  const run = await ended(
    spawn('sh', ['-c', `"$@" ${redirection}`, 'sh', process.execPath, BIN, '--version'], { env: home.env }),
  );
  expect(run.code === 0 || run.code === 9).toBe(true);
  expect(run.err).not.toMatch(/\n\s+at /);
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
