// Unusual environments: no home directory, inaccessible directories, connections that are never established.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { hasModes, hasSilentBacklog } from '../support/capabilities.ts';
import type { HttpFake } from '../support/http-fake.ts';
import { startHttpFake } from '../support/http-fake.ts';
import type { Outcome, Place } from '../support/processes.ts';
import { BASE_ENV, ended, place } from '../support/processes.ts';
import { BIN, petstore } from '../support/program.ts';

let service: HttpFake;
beforeAll(async () => {
  service = await startHttpFake(() => ({ body: [{ id: 1, name: 'cat' }] }));
  return service.close;
});

const KEY = 'secret-0123456789';
const keyAndUrl = () => ({ PETSTORE_API_KEY: KEY, PETSTORE_BASE_URL: service.url });

// Runs as an unprivileged user, since permissions do not restrict root.
function unprivileged(at: Place, args: readonly string[], env: Record<string, string>, stdin = ''): Promise<Outcome> {
  const bin = join(at.dir, 'petstore', 'bin', 'petstore.js');
  cpSync(join(dirname(BIN), '..'), join(at.dir, 'petstore'), { recursive: true });
  for (const dir of [at.dir, join(at.dir, 'petstore')]) chmodSync(dir, 0o755);
  const user = process.getuid?.() === 0 ? { uid: 54_321, gid: 54_321 } : {};
  const child = spawn(process.execPath, [bin, ...args], {
    env: { ...BASE_ENV, ...env },
    cwd: at.dir,
    ...user,
  });
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(stdin);
  return ended(child);
}

describe.runIf(hasModes)('without a home directory', () => {
  test.each([
    ['no HOME', {}],
    ['a relative XDG_CONFIG_HOME', { HOME: '', XDG_CONFIG_HOME: 'here', XDG_STATE_HOME: 'here' }],
  ])('with %s, a list needs only key and URL in the environment, and a login exits with 9', async (_what, home) => {
    const at = place();
    // Users other than root have a home directory in the system's user database.
    const homeless = process.getuid?.() === 0 || 'HOME' in home;
    expect(await unprivileged(at, ['--version'], home)).toMatchObject({ code: 0, err: '' });
    expect(await unprivileged(at, ['--help'], home)).toMatchObject({ code: 0, err: '' });
    const list = await unprivileged(at, ['categories', 'list', '--json'], { ...home, ...keyAndUrl() });
    expect(list).toMatchObject({ code: 0, out: '[{"id":1,"name":"cat"}]\n' });
    if (homeless) {
      const login = await unprivileged(at, ['auth', 'login', '--url', service.url], home, KEY);
      expect(login).toMatchObject({ code: 9, out: '', err: expect.stringContaining('HOME') });
    }
    // The working directory is unchanged.
    expect(readdirSync(at.dir)).toEqual(['petstore']);
  });

  test('a login and a list succeed with PETSTORE_CONFIG_DIR and PETSTORE_STATE_DIR', async () => {
    const at = place();
    const directory = join(at.dir, 'own');
    mkdirSync(directory);
    chmodSync(directory, 0o777);
    const env = { PETSTORE_CONFIG_DIR: join(directory, 'c'), PETSTORE_STATE_DIR: join(directory, 's') };
    expect(await unprivileged(at, ['auth', 'login', '--url', service.url], env, KEY)).toMatchObject({ code: 0 });
    expect(await unprivileged(at, ['categories', 'list', '--json'], env)).toMatchObject({ code: 0 });
  });
});

test.runIf(hasModes)(
  'without access to the config and state directories, a list with key and URL in the environment works, and a login exits with 9',
  async () => {
    const at = place();
    const closed = join(at.dir, 'closed');
    mkdirSync(closed, { mode: 0o000 });
    const dirs = { PETSTORE_CONFIG_DIR: join(closed, 'c'), PETSTORE_STATE_DIR: join(closed, 's'), HOME: closed };
    const list = await unprivileged(at, ['categories', 'list', '--json'], { ...dirs, ...keyAndUrl() });
    expect(list).toMatchObject({ code: 0, out: '[{"id":1,"name":"cat"}]\n' });
    expect(list.err).not.toMatch(/\n\s+at /);
    const login = await unprivileged(at, ['auth', 'login', '--url', service.url], dirs, KEY);
    expect(login).toMatchObject({ code: 9, out: '' });
    chmodSync(closed, 0o700);
  },
);

test.runIf(hasSilentBacklog)(
  'a list and a create exit with 6 at the timeout if the connection is never established',
  async () => {
    // A full accept queue: further connections hang, like those that a firewall drops.
    // The process connects to itself until the queue is full, and then blocks.
    const script = `
    const { writeSync } = require('node:fs');
    const { connect, createServer } = require('node:net');
    const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      const { port } = server.address();
      for (let one = 0; one < 4; one++) connect(port, '127.0.0.1');
      process.nextTick(() => {
        writeSync(1, String(port));
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
        process.exit();
      });
    });`;
    const full = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [port] = (await once(full.stdout, 'data')) as [Buffer];
    const at = place({ PETSTORE_BASE_URL: `http://127.0.0.1:${port}/v1`, PETSTORE_API_KEY: KEY });
    const hurried = ['--timeout', '700ms', '--max-retries', '0'];
    expect(await petstore(at, ['categories', 'list', ...hurried])).toMatchObject({ code: 6, out: '' });
    expect(await petstore(at, ['categories', 'create', '--name', 'x', ...hurried])).toMatchObject({ code: 6, out: '' });
    full.kill();
  },
);

test('petstore exits with 1 if the event loop runs empty before the command ends', async () => {
  // A name that is never resolved, and timers that do not keep the process alive.
  const preload = `import dns from 'node:dns'; dns.lookup = () => {};
    const later = globalThis.setTimeout; globalThis.setTimeout = (...a) => later(...a).unref();
    const often = globalThis.setInterval; globalThis.setInterval = (...a) => often(...a).unref();`;
  const at = place({ PETSTORE_BASE_URL: 'https://service.example/v1', PETSTORE_API_KEY: KEY });
  const dry = {
    ...at,
    env: { ...at.env, NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(preload)}` },
  };
  const run = await petstore(dry, ['categories', 'list']);
  expect(run.out).toBe('');
  expect(run.code).toBe(1);
});
