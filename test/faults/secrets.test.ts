// No byte of a key but where it belongs: a canary is looked for in all that the built program says and writes.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CANARY, leakIn, leakyFiles } from '../support/canary.ts';
import type { Outcome, Place } from '../support/program.ts';
import { BIN, ended, petstore, place, start } from '../support/program.ts';
import { inTerminal } from '../support/pty.ts';
import type { RawServer } from '../support/raw-server.ts';
import { response, startRawServer } from '../support/raw-server.ts';
import type { Fleet } from './transport-faults.ts';
import { FAULTS, hurried, startFleet } from './transport-faults.ts';

const OWN_FILE = /profile-[a-z0-9_-]+\.json$/;
const BASE64 = Buffer.from(CANARY).toString('base64');

let echo: RawServer;
let fleet: Fleet;
let long: RawServer;
beforeAll(async () => {
  fleet = await startFleet();
  // Its message is longer than what is shown of it, and the key stands where it is cut.
  long = await startRawServer({
    onRequest: (socket, request) => {
      const message = `${'m'.repeat(Number(request.path.split('/')[1]))}${CANARY}${'m'.repeat(100)}`;
      socket.end(response('400 Bad', JSON.stringify({ code: 'x', message, status: 400 })));
    },
  });
  // A hostile or careless service: it says the key back in every place it can.
  echo = await startRawServer({
    onRequest: (socket, request) => {
      const [, status = '200'] = request.path.split('/');
      const words = `${CANARY} ${encodeURIComponent(`Bearer ${CANARY}`)} ${BASE64} ${request.headers.get('authorization')}`;
      const error = JSON.stringify({ code: CANARY, message: words, status: Number(status) });
      const list = JSON.stringify([{ id: 1, name: CANARY, description: words, extra: { [CANARY]: BASE64 } }]);
      const one = JSON.stringify({ id: 1, name: CANARY, description: words });
      const body = Number(status) >= 300 ? error : request.method === 'GET' ? list : one;
      const created = status === '200' && request.method === 'POST' ? '201' : status;
      const headers = [`X-Echo: ${words}`, `Location: https://${CANARY}.example/${BASE64}`, `Sunset: ${words}`];
      socket.end(response(`${created} ${CANARY}`, body, ...headers, `Deprecation: ${CANARY}`));
    },
  });
});
afterAll(() => {
  echo.close();
  long.close();
  fleet.close();
});

const at = (baseUrl: string): Place => place({ PETSTORE_BASE_URL: baseUrl, PETSTORE_API_KEY: CANARY });

function expectNoLeak(run: Outcome, where: Place): void {
  // A program that did not run leaks nothing either.
  expect(run).not.toMatchObject({ code: 1 });
  expect({ out: leakIn(run.out), err: leakIn(run.err) }).toEqual({ out: undefined, err: undefined });
  expect(leakyFiles(where.dir, OWN_FILE)).toEqual([]);
}

const COMMANDS: readonly (readonly string[])[] = [
  ['categories', 'list'],
  ['categories', 'list', '--json'],
  ['categories', 'list', '--format', 'csv'],
  ['categories', 'create', '--name', 'dog'],
  ['categories', 'import', 'rows.csv', '--yes', '--json'],
  ['api', 'GET', '/categories', '--include'],
  ['api', 'POST', '/categories', '--data', '{"name":"dog"}', '--json'],
  ['quota', '--refresh'],
  ['auth', 'status', '--json'],
  ['doctor'],
];

describe.concurrent.each(['200', '302', '400'])('a service that answers %s and says the key back', (status) => {
  test.each(COMMANDS.map((args) => [args.join(' '), args] as const))('%s', async (_title, args) => {
    const where = at(`${echo.origin}/${status}/v1`);
    writeFileSync(join(where.dir, 'rows.csv'), 'name\ndog\n');
    expectNoLeak(await petstore(where, [...args, '--verbose', '--max-retries', '0', '--timeout', '5s']), where);
  });
});

// Every third one here; the long form meets them all, five thousand times.
const SOME_FAULTS = Object.keys(FAULTS).filter((name, at) => at % 3 === 0 && !FAULTS[name]?.timesOut);

test.concurrent.each(SOME_FAULTS)('told with --verbose, the fault "%s" holds no key', async (name) => {
  const where = at(`${fleet.faulty.origin}/${name}.all.secret/v1`);
  expectNoLeak(await petstore(where, ['categories', 'create', '--name', 'x', '--verbose', ...hurried()]), where);
});

describe('a key typed in the wrong place is not repeated', () => {
  test.each([
    [[CANARY]],
    [['--key', CANARY]],
    [[`--key=${CANARY}`]],
    [[`--api-key=${CANARY}`, '--json']],
    [['auth', 'login', CANARY]],
    [['auth', 'switch', CANARY]],
    [['-p', CANARY, 'categories', 'list']],
    [['categories', CANARY]],
    [['categories', 'list', '--sort', CANARY]],
    [['categories', 'list', '--format', CANARY]],
    [['categories', 'list', '--timeout', CANARY]],
    [['categories', 'list', '--max-retries', CANARY]],
    [['categories', 'import', CANARY]],
    [['api', CANARY, '/x']],
    [['api', 'GET', CANARY]],
    [['api', 'GET', '/x', '--data', CANARY]],
    [['complete', CANARY]],
    [['sandbox', '--port', CANARY]],
    [['auth', 'login', '--url', `https://user:${CANARY}@api.example/v1`]],
  ])('%j', async (args) => {
    const run = await petstore(place(), args);
    expect(run.code).toBe(2);
    expect(run.out).toBe('');
    expect(leakIn(run.err)).toBeUndefined();
  });
});

test.each([`${CANARY}\n`, ` ${CANARY}`, `${CANARY}\u00e9`, `${CANARY} ${CANARY}`, `\u201c${CANARY}\u201d`])(
  'a malformed key (%j) is refused and shown nowhere',
  async (key) => {
    const where = place({ PETSTORE_API_KEY: key, PETSTORE_BASE_URL: `${echo.origin}/200/v1` });
    const run = await petstore(where, ['categories', 'list', '--verbose']);
    expect(run.code).toBe(3);
    expectNoLeak(run, where);
  },
);

test.each([480, 484, 488, 492, 496])(
  'a key that a message of the service is cut in (at %i) is not left in half',
  async (at) => {
    const where = place({ PETSTORE_BASE_URL: `${long.origin}/${at}/v1`, PETSTORE_API_KEY: CANARY });
    expectNoLeak(await petstore(where, ['categories', 'list']), where);
  },
);

test.each([40, 50, 60])('a key in a cell that is cut to %i columns is not left in half', async (columns) => {
  const where = at(`${echo.origin}/200/v1`);
  const run = await inTerminal(where, ['categories', 'list'], { columns });
  expect(run.code).toBe(0);
  expect(leakIn(run.screen)).toBeUndefined();
});

test('a stored key is in its own file and in no other, through login, list, failure, status and logout', async () => {
  const where = place();
  const url = `${echo.origin}/200/v1`;
  const runs = [await petstore(where, ['auth', 'login', '--url', url, '--verbose'], `${CANARY}\n`)];
  for (const args of [
    ['categories', 'list'],
    ['auth', 'status'],
    ['auth', 'status', '--json'],
    ['quota'],
    ['doctor'],
  ]) {
    runs.push(await petstore(where, [...args, '--verbose']));
  }
  expect(runs.map(({ code }) => code).slice(0, 4)).toEqual([0, 0, 0, 0]);
  for (const run of runs) expectNoLeak(run, where);
  expect(readFileSync(join(where.dir, 'config', 'profile-production.json'), 'utf8')).toContain(CANARY);
  await petstore(where, ['auth', 'logout']);
  expect(leakyFiles(where.dir, /^$/)).toEqual([]);
});

test('a damaged file of keys is named, and no byte of it is told', async () => {
  const where = place();
  await petstore(where, ['auth', 'login', '--no-verify', '--url', `${echo.origin}/200/v1`], CANARY);
  for (const text of [
    `{"key":"${CANARY}`,
    CANARY,
    `{"version":1,"key":["${CANARY}"]}`,
    `{"version":2,"key":"${CANARY}"}`,
  ]) {
    writeFileSync(join(where.dir, 'config', 'profile-production.json'), text);
    const run = await petstore(where, ['categories', 'list', '--verbose']);
    expect(run.code).toBe(9);
    expectNoLeak(run, where);
  }
});

test('the proxy password is told nowhere', async () => {
  const where = place({
    PETSTORE_BASE_URL: 'https://api.example/v1',
    PETSTORE_API_KEY: 'other-key-0123456789',
    HTTPS_PROXY: `http://ann:${CANARY}@127.0.0.1:9`,
  });
  for (const args of [['categories', 'list'], ['doctor']]) {
    const run = await petstore(where, [...args, '--verbose', '--max-retries', '0', '--timeout', '3s']);
    expect(run.code).toBe(6);
    expectNoLeak(run, where);
  }
});

test("Node's own traces and diagnostic report hold no key", async () => {
  const where = at(`${fleet.faulty.origin}/no-answer-at-all.all.report/v1`);
  const debug = {
    NODE_DEBUG: 'undici,http,net,tls',
    NODE_OPTIONS: `--report-on-signal --report-directory=${where.dir}`,
  };
  const child = start({ ...where, env: { ...where.env, ...debug } }, ['categories', 'list', '--timeout', '20s']);
  const run = ended(child);
  const asked = (): boolean => fleet.faulty.requests.some(({ path }) => path.includes('.report/'));
  while (!asked()) await new Promise((resolve) => setTimeout(resolve, 20));
  child.kill('SIGUSR2');
  const written = (): boolean =>
    readdirSync(where.dir).some((name) => name.startsWith('report.') && name.endsWith('.json'));
  while (!written()) await new Promise((resolve) => setTimeout(resolve, 20));
  child.kill('SIGINT');
  expectNoLeak(await run, where);
});

test.runIf(existsSync('/proc/self/environ'))('the key is in no argument of any process', async () => {
  const where = at(`${fleet.faulty.origin}/no-answer-at-all.all.arguments/v1`);
  const child = spawn(process.execPath, [BIN, 'categories', 'list'], { env: where.env });
  const asked = (): boolean => fleet.faulty.requests.some(({ path }) => path.includes('.arguments/'));
  while (!asked()) await new Promise((resolve) => setTimeout(resolve, 20));
  const lines = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
      } catch {
        return '';
      }
    });
  child.kill('SIGINT');
  await ended(child);
  expect(lines.filter((line) => line.includes(CANARY) && line.includes('petstore.js'))).toEqual([]);
});
