// Unusual environments: a low open file limit, a deleted directory, no home directory, Windows and an old Node.js.
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
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

// Permissions do not restrict root, so root starts the program as another user, who may be denied access to Node.js.
const OTHER = process.getuid?.() === 0 ? { uid: 54_321, gid: 54_321 } : {};
const otherRuns = hasModes && spawnSync(process.execPath, ['--version'], OTHER).status === 0;

function unprivileged({ dir }: Place, args: readonly string[], env: Record<string, string>): Promise<Outcome> {
  chmodSync(dir, 0o777);
  const child = spawn(process.execPath, [BIN, ...args], { env: { ...BASE_ENV, ...env }, cwd: dir, ...OTHER });
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(KEY);
  return ended(child);
}

test.runIf(hasShell)(
  'the error names a key command that cannot be started because too many files are open',
  async () => {
    const at = place({ PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY_COMMAND: `echo ${KEY}` });
    // The process opens all files that it may, and closes some: enough to load code, too few for the pipes of a command.
    const preload = join(at.dir, 'preload.cjs');
    const open = `try { for (;;) files.push(fs.openSync('/dev/null')); } catch {}`;
    const close = 'for (const file of files.slice(0, 4)) fs.closeSync(file);';
    writeFileSync(preload, `const fs = require('node:fs'); const files = []; ${open} ${close}`);
    at.env['NODE_OPTIONS'] = `--require=${preload}`;
    const error = {
      kind: 'auth',
      message: 'key command `echo` failed (too many open files)',
      hint: 'raise the open file limit with `ulimit -n`',
    };
    const run = await inScript(at, 'ulimit -n 100; exec "$@"', LIST);
    expect(run).toEqual({ code: 3, out: '', err: `${JSON.stringify({ error })}\n` });
  },
);

test.runIf(hasShell)('in a deleted directory, a command works unless its file has a relative path', async () => {
  const at = savedPlace(service.url);
  const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"';
  expect(await inScript(at, script, LIST)).toMatchObject({ code: 0, out: LISTED });
  const header = join(tempDir(), 'rows.csv');
  writeFileSync(header, 'name\n');
  const importOf = (file: string) => inScript(at, script, ['categories', 'import', file]);
  expect(await importOf('rows.csv')).toMatchObject({ code: 2, err: expect.stringContaining('cannot read') });
  expect(await importOf(header)).toMatchObject({ code: 0 });
});

// If HOME is unset, Node.js reads the user database: it contains the user who runs the tests, but not user 54321.
const HOMELESS: Record<string, string> = process.getuid?.() === 0 ? {} : { HOME: '' };

test.runIf(otherRuns)(
  'without a home directory, a list with a key and a base URL works, but a login fails until PETSTORE_CONFIG_DIR and PETSTORE_STATE_DIR are set',
  async () => {
    const at = place();
    const list = await unprivileged(at, LIST, { ...HOMELESS, PETSTORE_API_KEY: KEY, PETSTORE_BASE_URL: service.url });
    expect(list).toMatchObject({ code: 0, out: LISTED, err: expect.not.stringMatching(/\n\s+at /) });
    const login = ['auth', 'login', '--url', service.url];
    const message = expect.stringContaining('HOME');
    expect(await unprivileged(at, login, HOMELESS)).toMatchObject({ code: 9, out: '', err: message });
    // The working directory is unchanged.
    expect(readdirSync(at.dir)).toEqual([]);
    const env = { ...HOMELESS, PETSTORE_CONFIG_DIR: join(at.dir, 'c'), PETSTORE_STATE_DIR: join(at.dir, 's') };
    expect(await unprivileged(at, login, env)).toMatchObject({ code: 0 });
    expect(await unprivileged(at, LIST, env)).toMatchObject({ code: 0, out: LISTED });
  },
);

test('petstore exits with code 1 if the event loop becomes empty before the command ends', async () => {
  // A write that never completes.
  const preload = 'data:text/javascript,process.stdout.write=()=>true';
  const { code, out } = await petstore(place({ NODE_OPTIONS: `--import=${preload}` }), ['--help']);
  expect([code, out]).toEqual([1, '']);
});

test('on Windows, petstore sets NoDefaultCurrentDirectoryInExePath for itself and for a key command', async () => {
  // A key command inherits the preload.
  const name = 'NoDefaultCurrentDirectoryInExePath';
  const preload = `data:text/javascript,Object.defineProperty(process,'platform',{value:'win32'});process.on('exit',()=>console.error(process.env.${name}))`;
  const command = `"${process.execPath}" -p "'key-'+process.env.${name.toUpperCase()}"`;
  const env = { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY_COMMAND: command };
  const run = await petstore(place({ ...env, NODE_OPTIONS: `--import=${preload}` }), LIST);
  expect(run).toMatchObject({ code: 0, out: LISTED, err: expect.stringMatching(/^1$/m) });
  expect(service.requests.at(-1)?.headers.authorization).toBe('Bearer key-1');
});

test('Node.js 20.18.3 is rejected with an error that names the required version', async () => {
  const preload = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.18.3'})";
  const err = 'error: petstore requires Node.js 20.19.0 or newer; this is 20.18.3\nhint: update Node.js\n';
  const run = await petstore(place({ NODE_OPTIONS: `--import=${preload}` }), ['--version']);
  expect(run).toEqual({ code: 2, out: '', err });
});
