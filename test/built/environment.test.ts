// Unusual environments: an old Node.js, no home directory, inaccessible directories, work that never ends.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { hasModes, hasShell } from '../support/capabilities.ts';
import { startHttpFake } from '../support/http-fake.ts';
import type { Outcome, Place } from '../support/processes.ts';
import { BASE_ENV, ended, place } from '../support/processes.ts';
import { BIN, inScript, KEY, petstore, savedPlace } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

const service = await startHttpFake(() => ({ body: [{ id: 1, name: 'cat' }] }));
afterAll(service.close);

const LIST = ['categories', 'list', '--json'];
const LISTED = '[{"id":1,"name":"cat"}]\n';

// Permissions do not restrict root. Another user may be denied the directory that Node.js is installed in.
const OTHER = process.getuid?.() === 0 ? { uid: 54_321, gid: 54_321 } : {};
const otherRuns = hasModes && spawnSync(process.execPath, ['--version'], OTHER).status === 0;

function unprivileged({ dir }: Place, args: readonly string[], env: Record<string, string>): Promise<Outcome> {
  chmodSync(dir, 0o777);
  const child = spawn(process.execPath, [BIN, ...args], { env: { ...BASE_ENV, ...env }, cwd: dir, ...OTHER });
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(KEY);
  return ended(child);
}

test.runIf(hasShell)('in a directory that was deleted, only a relative path is an error', async () => {
  const at = savedPlace(service.url);
  const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"';
  expect(await inScript(at, script, LIST)).toMatchObject({ code: 0, out: LISTED });
  const header = join(tempDir(), 'rows.csv');
  writeFileSync(header, 'name\n');
  for (const [file, code, text] of [
    ['rows.csv', 2, 'cannot read'],
    [header, 0, ''],
  ] as const) {
    const run = await inScript(at, script, ['categories', 'import', file, '--json']);
    expect([run.code, run.err.includes(text)]).toEqual([code, true]);
  }
});

describe.runIf(otherRuns)('in an unusual environment', () => {
  // Users other than root have a home directory in the system's user database.
  const homeless: Record<string, string> = process.getuid?.() === 0 ? {} : { HOME: '' };
  const closed = join(tempDir(), 'closed');
  mkdirSync(closed, { mode: 0o000 });
  afterAll(() => chmodSync(closed, 0o700));

  test.each<[string, Record<string, string>, string]>([
    ['without a home directory', homeless, 'HOME'],
    ['without access to its directories', { PETSTORE_CONFIG_DIR: join(closed, 'c'), HOME: closed }, closed],
  ])('%s, a list needs only key and URL in the environment, and a login exits with 9', async (_what, env, problem) => {
    const at = place();
    const list = await unprivileged(at, LIST, { ...env, PETSTORE_API_KEY: KEY, PETSTORE_BASE_URL: service.url });
    expect(list).toMatchObject({ code: 0, out: LISTED, err: expect.not.stringMatching(/\n\s+at /) });
    const login = await unprivileged(at, ['auth', 'login', '--url', service.url], env);
    expect(login).toMatchObject({ code: 9, out: '', err: expect.stringContaining(problem) });
    // The working directory is unchanged.
    expect(readdirSync(at.dir)).toEqual([]);
  });

  test('a login and a list succeed without a home directory with PETSTORE_CONFIG_DIR and PETSTORE_STATE_DIR', async () => {
    const at = place();
    const env = { ...homeless, PETSTORE_CONFIG_DIR: join(at.dir, 'c'), PETSTORE_STATE_DIR: join(at.dir, 's') };
    expect(await unprivileged(at, ['auth', 'login', '--url', service.url], env)).toMatchObject({ code: 0 });
    expect(await unprivileged(at, LIST, env)).toMatchObject({ code: 0, out: LISTED });
  });
});

test('petstore exits with 1 if the event loop runs empty before the command ends', async () => {
  // A write that never completes.
  const preload = 'data:text/javascript,process.stdout.write=()=>true';
  const { code, out } = await petstore(place({ NODE_OPTIONS: `--import=${preload}` }), ['--help']);
  expect([code, out]).toEqual([1, '']);
});

test('on Windows, neither petstore nor a key command runs programs of the current directory', async () => {
  // A key command inherits the preload.
  const name = 'NoDefaultCurrentDirectoryInExePath';
  const preload = `data:text/javascript,Object.defineProperty(process,'platform',{value:'win32'});process.on('exit',()=>console.error(process.env.${name}))`;
  const command = `"${process.execPath}" -p "'key-'+process.env.${name.toUpperCase()}"`;
  const env = { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY_COMMAND: command };
  const run = await petstore(place({ ...env, NODE_OPTIONS: `--import=${preload}` }), LIST);
  expect(run).toMatchObject({ code: 0, out: LISTED, err: expect.stringMatching(/^1$/m) });
  expect(service.requests.at(-1)?.headers.authorization).toBe('Bearer key-1');
});

test.each([
  [[], /^error: petstore requires Node\.js 20\.18\.1 or newer; this is 20\.18\.0\nhint: update Node\.js\n$/],
  [['--json'], /^\{"error":\{"kind":"usage",.*\}\}\n$/],
])('Node.js 20.18.0 is rejected with the required version (%j)', async (format, err) => {
  const preload = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.18.0'})";
  const run = await petstore(place({ NODE_OPTIONS: `--import=${preload}` }), ['--version', ...format]);
  expect(run).toEqual({ code: 2, out: '', err: expect.stringMatching(err) });
});
