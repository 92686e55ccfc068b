// The checks of `npm run bench -- windows`, which Windows Node.js under wine runs against the installed program. Prints one
// JSON line per check; the arguments are the working directory and the program.
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const [work = '', bin = '', shim = '', title = ''] = process.argv.slice(2);
// A console under wine has no title, and libuv aborts a process that reads it.
const program = ['-r', title, bin];

interface Result {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<Result>;
  out(): string;
  err(): string;
}

type Env = Readonly<Record<string, string>>;

/** One command of the smoke test; `shows` must match stdout followed by stderr. */
type Step = readonly [
  args: string,
  code: number,
  shows: RegExp,
  more?: { readonly input?: string; readonly env?: Env },
];

function start(command: string, args: readonly string[], env: Env): Running {
  const child = spawn(command, [...args], { cwd: work, env: { ...process.env, ...env }, windowsHide: true });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  child.stdin.on('error', () => undefined);
  const texts = { out: () => Buffer.concat(out).toString(), err: () => Buffer.concat(err).toString() };
  const ended = new Promise<Result>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out: texts.out(), err: texts.err() }));
  });
  return { child, ended, ...texts };
}

function petstore(args: readonly string[], env: Env, input = ''): Promise<Result> {
  const running = start(process.execPath, [...program, ...args], env);
  running.child.stdin.end(input);
  return running.ended;
}

/** Returns separate directories for one check. */
function directories(name: string): Env {
  return { PETSTORE_CONFIG_DIR: join(work, name, 'config'), PETSTORE_STATE_DIR: join(work, name, 'state') };
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited a minute for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Starts `petstore sandbox`, passes its URL and key to the check, and stops it. */
async function withSandbox<T>(options: readonly string[], env: Env, use: (env: Env) => Promise<T>): Promise<T> {
  const server = start(
    process.execPath,
    [...program, 'sandbox', '--port', '0', '--key', 'sandbox_windows', ...options],
    env,
  );
  const url = (): string | undefined => /http:\/\/127\.0\.0\.1:\d+\/v1/.exec(server.out())?.[0];
  try {
    await until(() => url() !== undefined || server.child.exitCode !== null, 'the sandbox');
    if (url() === undefined) throw new Error(`the sandbox ended: ${server.err()}`);
    return await use({ ...env, PETSTORE_BASE_URL: url() ?? '', PETSTORE_API_KEY: 'sandbox_windows' });
  } finally {
    server.child.kill('SIGKILL');
    await server.ended;
  }
}

function expectEqual(actual: unknown, expected: unknown, what: string): void {
  const [is, owed] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (is !== owed) throw new Error(`${what}: ${is}, expected ${owed}`);
}

const KEY = 'sk-windows-0123456789';
const ROWS = '\ufeffname,description\r\ncat,Felis catus\r\n"ox, big","two\r\nlines"\r\nzölf 🐕,\r\n';
const SMOKE: readonly Step[] = [
  ['--version', 0, /^\d+\.\d+\.\d+\r?\n$/],
  ['--help', 0, /categories/],
  ['help categories import', 0, /--ignore-extra/],
  ['-p sandbox categories create --name dog --if-missing --json', 0, /"id":1,"name":"dog"/],
  ['-p sandbox categories create --name dog --if-missing --json', 0, /"id":1,"name":"dog"/],
  ['-p sandbox categories list', 0, /dog/],
  ['-p sandbox categories import in.csv --yes --json', 0, /"name":"ox, big","description":"two\\r\\nlines"/],
  [`-p sandbox categories import ${join(work, 'in.csv')} --yes --json`, 0, /"created":\[\]/],
  ['-p sandbox categories import - --yes --json', 0, /"row":3,"name":"zölf 🐕"/, { input: ROWS }],
  ['-p sandbox categories list --format csv', 0, /"ox, big","two\r\nlines"/],
  ['-p sandbox api GET /categories', 0, /"zölf 🐕"/],
  ['-p sandbox quota --json', 0, /"limit":60/],
  ['-p sandbox doctor', 0, /Node/],
  ['auth login -p work --url http://127.0.0.1:9/v1 --no-verify', 0, /work/, { input: `\ufeff${KEY}\r\n` }],
  ['auth login -p work --url http://127.0.0.1:9/v1', 6, /refused/, { input: `${KEY}\r\n` }],
  ['auth status --json', 0, /6789/],
  ['auth switch work', 0, /work/],
  ['categories list --max-retries 0', 6, /refused/],
  ['auth switch production', 0, /production/],
  ['categories list', 3, /production/],
  ['categories list', 2, /max-wait|MAX_WAIT/i, { env: { petstore_max_wait: 'soon' } }],
  ['auth logout -p work', 0, /work/],
  ['completion powershell', 0, /'--'/],
  ['__complete --at-blank -- categories', 0, /^list\b/],
  ['nonsense', 2, /nonsense/],
];

async function smoke(): Promise<string> {
  const env = directories('smoke');
  writeFileSync(join(work, 'in.csv'), ROWS);
  const wrong: string[] = [];
  for (const [line, code, shows, { input, env: more } = {}] of SMOKE) {
    const result = await petstore(line.split(' '), { ...env, ...more }, input);
    const text = result.out + result.err;
    if (text.includes(KEY)) wrong.push(`petstore ${line} shows the key`);
    if (result.code !== code || !shows.test(text)) wrong.push(`petstore ${line}: exit ${result.code}, ${text.trim()}`);
  }
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  return `${SMOKE.length} commands`;
}

async function npmShim(): Promise<string> {
  const path = `${dirname(process.execPath)};C:\\windows\\system32`;
  const running = start('cmd.exe', ['/d', '/c', shim, '--version'], { PATH: path, Path: path });
  const { code, out, err } = await running.ended;
  expectEqual([code, err], [0, ''], 'petstore.cmd --version');
  return `petstore ${out.trim()}`;
}

async function sharedLedger(): Promise<string> {
  return withSandbox(['--limit', '4/3s', '-q'], directories('ledger'), async (env) => {
    // The ledger learns the limit from the first request.
    await petstore(['categories', 'list', '-q'], env);
    const names = Array.from({ length: 8 }, (_, index) => `parallel ${index}`);
    const results = await Promise.all(
      names.map((name) => petstore(['categories', 'create', '--name', name, '--json', '-v'], env)),
    );
    const codes = results.map(({ code }) => code);
    expectEqual(
      codes,
      Array(8).fill(0),
      `exit codes (${results.map(({ err }) => err).find((err) => /error/.test(err))})`,
    );
    const refused = results.filter(({ err }) => /\b429\b/.test(err)).length;
    expectEqual(refused, 0, 'processes that met a 429');
    expectEqual(await namesOf(env, /^parallel/), names, 'categories');
    return '8 creates at 4 per 3 s, no 429';
  });
}

async function namesOf(env: Env, pattern: RegExp): Promise<readonly string[]> {
  const { out } = await petstore(['categories', 'list', '--json'], env);
  return (JSON.parse(out) as { name: string }[]).flatMap(({ name }) => (pattern.test(name) ? [name] : [])).sort();
}

async function killedImport(): Promise<string> {
  return withSandbox(['--limit', '100/1s', '-q'], directories('import'), async (env) => {
    const rows = Array.from({ length: 300 }, (_, index) => `row ${String(index).padStart(3, '0')}`);
    writeFileSync(join(work, 'rows.csv'), `name\r\n${rows.join('\r\n')}\r\n`);
    const command = ['categories', 'import', 'rows.csv', '--yes'];
    const kills: number[] = [];
    for (const after of [40, 120]) {
      const running = start(process.execPath, [...program, ...command, '-v'], env);
      running.child.stdin.end();
      await until(
        () => (running.err().match(/POST/g)?.length ?? 0) > after || running.child.exitCode !== null,
        'POSTs',
      );
      running.child.kill('SIGKILL');
      await running.ended;
      kills.push((await namesOf(env, /^row/)).length);
    }
    const { code, err } = await petstore([...command, '--json'], env);
    expectEqual(code, 0, `exit code of the resumed import (${err.trim()})`);
    expectEqual(await namesOf(env, /^row/), rows, 'categories');
    return `killed at ${kills.join(' and ')} of ${rows.length} rows, each row created once`;
  });
}

// Acts like a virus scanner or indexer: keeps every file of a directory open for 3 ms, then pauses for 5 ms.
const READER = `
const fs = require('node:fs'), path = require('node:path');
const [directory] = process.argv.slice(1);
const sleep = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
for (;;) {
  const open = fs.readdirSync(directory).flatMap((file) => {
    try { return [fs.openSync(path.join(directory, file))]; } catch { return []; }
  });
  sleep(3);
  for (const file of open) fs.closeSync(file);
  sleep(5);
}`;

async function profileWrites(): Promise<string> {
  const env = directories('profiles');
  const login = (name: string): Promise<Result> =>
    petstore(['auth', 'login', '-p', name, '--url', 'http://127.0.0.1:9/v1', '--no-verify'], env, `${KEY}\n`);
  // Windows does not replace a file that another process has open.
  await Promise.all(['a', 'b'].map(login));
  const readers = [1, 2].map(() => start(process.execPath, ['-e', READER, env['PETSTORE_CONFIG_DIR'] ?? ''], env));
  const writers = ['a', 'b'].map(async (writer) => {
    const failed: string[] = [];
    for (let round = 0; round < 10; round++) {
      const { code, err } = await login(writer);
      if (code !== 0) failed.push(`exit ${code}: ${err.trim()}`);
    }
    return failed;
  });
  const failed = (await Promise.all(writers)).flat();
  for (const { child, err } of readers) {
    if (child.exitCode !== null) throw new Error(`a reader ended early: ${err()}`);
    child.kill('SIGKILL');
  }
  await Promise.all(readers.map(({ ended }) => ended));
  expectEqual(failed.length, 0, `failed writes of 20 (${failed[0]})`);
  return '20 logins by 2 processes beside 2 readers';
}

async function namesInAnyCase(): Promise<string> {
  const env = directories('case');
  const data = (name: string): string[] => ['--data', join(work, 'case', name), '-q'];
  mkdirSync(join(work, 'case'), { recursive: true });
  for (const name of ['Pets', 'pets', 'PETS', 'Pets', 'z\u00f6lf', 'zo\u0308lf']) {
    await withSandbox(data(name), env, async (served) => {
      const { code, err } = await petstore(['categories', 'create', '--name', name, '--if-missing', '--json'], served);
      expectEqual(code, 0, `create with --data ${name} (${err.trim()})`);
    });
  }
  return withSandbox(data('pEtS'), env, async (served) => {
    const seen = await namesOf(served, /pets/i);
    expectEqual(seen, ['PETS', 'Pets', 'pets'], 'what Pets, pets and PETS stored');
    return `one store under four spellings: ${readdirSync(join(work, 'case')).sort().join(', ')}`;
  });
}

const CHECKS: Readonly<Record<string, () => Promise<string>>> = {
  'shim made by npm': npmShim,
  'smoke list': smoke,
  'eight processes on one ledger': sharedLedger,
  'import killed and resumed': killedImport,
  'profile writes under readers': profileWrites,
  'names that differ in case': namesInAnyCase,
};

mkdirSync(work, { recursive: true });
for (const [title, check] of Object.entries(CHECKS)) {
  const result = await check().then(
    (detail) => ({ title, passed: true, detail }),
    (error: Error) => ({ title, passed: false, detail: error.message }),
  );
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
