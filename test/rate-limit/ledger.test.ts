// The ledger in a real directory: shared by processes, and usable if disk, clock or processes fail.
import { execFile, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { LogFs } from '../../src/append-log/generations.ts';
import type { LedgerOptions } from '../../src/rate-limit/ledger.ts';
import { Ledger } from '../../src/rate-limit/ledger.ts';
import { ledgerName } from '../../src/rate-limit/ledger-file.ts';
import type { Observation } from '../../src/rate-limit/ledger-record.ts';
import { hasModes, hasSignals } from '../support/capabilities.ts';
import { compile } from '../support/compile.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { startLimited } from '../support/limited-service.ts';
import { tempDir } from '../support/temp-dir.ts';

const KEY = 'pk_live_secret_ledger_0123456789';

function open(stateDir: string, more: Partial<LedgerOptions> = {}): Ledger & { warnings: string[]; clock: FakeClock } {
  const warnings: string[] = [];
  const clock = (more.clock as FakeClock) ?? new FakeClock();
  const ledger = new Ledger({
    stateDir,
    tempDir: stateDir,
    identity: 'https://pets.example/v1',
    key: KEY,
    clock,
    onWarning: (text) => warnings.push(text),
    ...more,
  });
  return Object.assign(ledger, { warnings, clock });
}

function response(clock: FakeClock, more: Partial<Observation> = {}): Observation {
  const reset = { at: clock.now() + 60_000, clock: 'local', resolution: 1000 } as const;
  const headers = { limit: 60, remaining: 59, reset, offset: undefined, waitMs: undefined };
  return { at: clock.now(), status: 200, refused: more.status === 429, ...headers, waitFrom: 'retry_after', ...more };
}

async function take(ledger: Ledger, timeoutMs = 30_000): Promise<string> {
  const admission = await ledger.acquire(timeoutMs);
  if (!admission.granted) throw new Error(`not granted: ${admission.reason}`);
  return admission.ticket;
}

const filesIn = (dir: string): string[] =>
  fs.readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.log'));

test('two ledgers in one directory share windows and open tickets', async () => {
  const dir = tempDir();
  const clock = new FakeClock();
  const [a, b] = [open(dir, { clock }), open(dir, { clock })];
  const ticket = await take(a);
  expect(await b.acquire(30_000)).toMatchObject({ granted: false, reason: 'pending' });
  a.observe(ticket, response(clock, { remaining: 1, limit: 2 }));
  expect(b.view().window).toMatchObject({ limit: 2, remaining: 1 });
  await take(b);
  expect(await a.acquire(30_000)).toMatchObject({ granted: false });
});

test('each key and base URL has its own ledger, whose name and content reveal neither', async () => {
  const dir = tempDir();
  const clock = new FakeClock();
  const ledgers = [
    open(dir, { clock }),
    open(dir, { clock, key: 'another-key' }),
    open(dir, { clock, identity: 'https://staging.example/v1' }),
  ];
  for (const ledger of ledgers) await take(ledger);
  const files = filesIn(dir);
  expect(files).toHaveLength(3);
  for (const file of files) {
    const text = file + fs.readFileSync(join(dir, file), 'utf8');
    for (const secret of [KEY, 'another-key', 'example']) expect(text).not.toContain(secret);
    if (hasModes) expect(fs.statSync(join(dir, file)).mode & 0o777).toBe(0o600);
  }
});

test('a ledger that cannot be written is kept in memory, with one warning', async () => {
  const file = join(tempDir(), 'file');
  fs.writeFileSync(file, '');
  const ledger = open(join(file, 'state'));
  const ticket = await take(ledger);
  ledger.observe(ticket, response(ledger.clock, { status: 429, waitMs: 9000 }));
  expect(await ledger.acquire(30_000)).toMatchObject({ granted: false, reason: 'blocked' });
  expect(ledger.view().shared).toBe(false);
  expect(ledger.warnings).toHaveLength(1);
  expect(ledger.warnings[0]).toMatch(/\((?:not a directory|no such file or directory)\); the rate limit is not shared/);
  expect(ledger.warnings[0]).not.toContain(KEY);
});

/** A ledger whose disk is full from `fill()` on. */
function openOnFillingDisk() {
  let full = false;
  const filling: LogFs = {
    ...fs,
    writeSync: ((fd: number, bytes: Buffer, from: number, count: number, at: null) => {
      if (full) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
      return fs.writeSync(fd, bytes, from, count, at);
    }) as LogFs['writeSync'],
  };
  const fill = (): void => {
    full = true;
  };
  return { ledger: open(tempDir(), { fs: filling }), fill };
}

test('a disk that fills up after a 429 causes one warning, and blocks and tickets are kept in memory', async () => {
  const { ledger, fill } = openOnFillingDisk();
  ledger.observe(await take(ledger), response(ledger.clock));
  const [refused, late] = [await take(ledger), await take(ledger)];
  ledger.observe(refused, response(ledger.clock, { status: 429, waitMs: 9000 }));
  fill();
  ledger.observe(late, response(ledger.clock, { remaining: 58 }));
  expect(await ledger.acquire(30_000)).toMatchObject({ granted: false, reason: 'blocked' });
  ledger.clock.at += 10_000;
  await take(ledger);
  expect(await ledger.acquire(30_000)).toMatchObject({ granted: false, reason: 'pending' });
  expect(ledger.warnings).toHaveLength(1);
});

test.runIf(hasModes)(
  'on a network file system the ledger is in the temporary directory, private to its owner',
  async () => {
    const [dir, temp] = [tempDir(), tempDir()];
    const ledger = open(dir, { tempDir: temp, typeOf: () => 0x6969 });
    await take(ledger);
    expect(filesIn(dir)).toEqual([]);
    expect(filesIn(temp)).toHaveLength(1);
    expect(fs.statSync(join(temp, fs.readdirSync(temp)[0] ?? '')).mode & 0o777).toBe(0o700);
    expect([ledger.warnings, ledger.view().shared]).toEqual([[], true]);
  },
);

test.runIf(hasModes)('a temporary directory that other users can write to is not used, with one warning', async () => {
  const [dir, temp] = [tempDir(), tempDir()];
  fs.mkdirSync(join(temp, `petstore-${process.getuid?.() ?? 'user'}`), { mode: 0o777 });
  fs.chmodSync(join(temp, `petstore-${process.getuid?.() ?? 'user'}`), 0o777);
  const ledger = open(dir, { tempDir: temp, typeOf: () => 0xff534d42 });
  await take(ledger);
  expect(ledger.view().shared).toBe(false);
  expect(ledger.warnings).toHaveLength(1);
});

test('torn records and foreign bytes in the ledger are ignored by every process', async () => {
  const dir = tempDir();
  const clock = new FakeClock();
  const a = open(dir, { clock });
  a.observe(await take(a), response(clock));
  const file = join(dir, filesIn(dir)[0] ?? '');
  fs.appendFileSync(file, `abc {"kind":"ticket","at":${clock.now()}`);
  fs.appendFileSync(file, Buffer.from([0, 255, 10, 13, 200, 10]));
  fs.appendFileSync(file, `zz snapshot {"not": a snapshot .\nyy {"kind":"ticket"} .\n`);
  await take(a);
  expect(open(dir, { clock }).view()).toMatchObject({ window: { remaining: 59 }, inFlight: 1 });
});

test('a clock set back by a day blocks a key no longer than before', async () => {
  const dir = tempDir();
  const ledger = open(dir);
  ledger.observe(await take(ledger), response(ledger.clock, { status: 429, waitMs: 30_000 }));
  ledger.clock.at += -86_400_000;
  const admission = await ledger.acquire(30_000);
  expect(admission).toMatchObject({ granted: false, reason: 'blocked' });
  expect('until' in admission ? admission.until - ledger.clock.now() : Number.NaN).toBeLessThanOrEqual(31_000);
  ledger.clock.at += 31_000;
  expect(await take(ledger)).not.toBe('');
});

test('a clock set forward ends a wait earlier by as much, because it looks like a suspended machine', async () => {
  const ledger = open(tempDir());
  ledger.observe(await take(ledger), response(ledger.clock, { status: 429, waitMs: 60_000 }));
  ledger.clock.at += 30_000;
  const admission = await ledger.acquire(30_000);
  expect('until' in admission && admission.until - ledger.clock.at).toBeLessThanOrEqual(33_000);
  ledger.clock.at += 33_000;
  expect(await take(ledger)).not.toBe('');
});

test('a new ledger removes those that were not used for 48 hours, and no others', async () => {
  const dir = tempDir();
  for (const key of ['old', 'recent', 'empty']) await take(open(dir, { key }));
  const path = (key: string): string => join(dir, 'quota', ledgerName({ identity: 'https://pets.example/v1', key }));
  const [days2, days1] = [49, 47].map((hours) => new Date(Date.now() - hours * 3_600_000));
  for (const file of fs.readdirSync(path('old'))) fs.utimesSync(join(path('old'), file), days2 ?? '', days2 ?? '');
  for (const file of fs.readdirSync(path('recent')))
    fs.utimesSync(join(path('recent'), file), days1 ?? '', days1 ?? '');
  fs.rmSync(path('empty'), { recursive: true });
  fs.mkdirSync(path('empty'));
  open(dir, { key: 'recent' });
  expect(fs.existsSync(path('old'))).toBe(true);
  await take(open(dir, { key: 'new' }));
  expect(['old', 'recent', 'empty', 'new'].map((key) => fs.existsSync(path(key)))).toEqual([false, true, true, true]);
});

test('an error that is not of the log is not reported as one', async () => {
  const ledger = open(tempDir());
  const ticket = await take(ledger);
  const broken = {
    ...response(ledger.clock),
    reset: {
      get at(): number {
        throw new TypeError('a bug');
      },
    },
  };
  expect(() => ledger.observe(ticket, broken as unknown as Observation)).toThrow('a bug');
  expect([ledger.warnings, ledger.view().shared]).toEqual([[], true]);
});

test.each([3_600_000, 48_000])(
  'a block stated after a clock was set back by %i ms during the request lasts as long as stated',
  async (ms) => {
    const ledger = open(tempDir());
    const ticket = await take(ledger);
    ledger.clock.at -= ms;
    ledger.observe(ticket, response(ledger.clock, { status: 429, waitMs: 9000 }));
    const admission = await ledger.acquire(30_000);
    expect(admission).toMatchObject({ granted: false, reason: 'blocked' });
    expect('until' in admission && admission.until - ledger.clock.at).toBeGreaterThanOrEqual(9000);
  },
);

test('1,000 expired tickets of an earlier process do not block the key, and rotations remove them', async () => {
  const dir = tempDir();
  const clock = new FakeClock();
  const gone = open(dir, { clock });
  gone.observe(await take(gone, 1000), response(clock, { limit: 5000, remaining: 4999 }));
  for (let i = 0; i < 1000; i++) await take(gone, 1000);
  clock.at += 10_000;
  const ledger = open(dir, { clock });
  await take(ledger);
  expect(ledger.view().inFlight).toBe(1);
  for (let i = 0; i < 1000; i++) ledger.observe(await take(ledger), response(clock, { limit: 5000, remaining: 3990 }));
  expect(filesIn(dir).length).toBeLessThanOrEqual(2);
  expect(Math.max(...filesIn(dir).map((file) => fs.statSync(join(dir, file)).size))).toBeLessThan(120_000);
});

test('a waiting process closes the ticket of a dead process on its own machine only', async () => {
  const dir = tempDir();
  const clock = new FakeClock();
  const self = { pid: 4711, start: '5', host: 'here' };
  await take(open(dir, { clock, self }));
  const livenessOf = (ref: { pid: number }): 'alive' | 'dead' => (ref.pid === 4711 ? 'dead' : 'alive');
  const elsewhere = { ...self, pid: 2, host: 'another machine' };
  expect(await open(dir, { clock, self: elsewhere, livenessOf }).acquire(30_000)).toMatchObject({ granted: false });
  expect(await open(dir, { clock, self: elsewhere, livenessOf }).acquire(30_000)).toMatchObject({ granted: false });
  const other = open(dir, { clock, self: { ...self, pid: 1 }, livenessOf });
  expect(await other.acquire(30_000)).toMatchObject({ granted: false, reason: 'pending' });
  expect(await take(other)).not.toBe('');
});

test('a killed process of another machine delays others for 5 s by its probe, and for its lease by other tickets', async () => {
  const dir = tempDir();
  const clock = new FakeClock();
  const killed = open(dir, { clock, self: { pid: 1, start: '1', host: 'another machine' } });
  const other = open(dir, { clock });
  await take(killed);
  clock.at += 5000;
  expect(await other.acquire(30_000)).toEqual({ granted: false, reason: 'pending' });
  clock.at += 1;
  other.observe(await take(other), response(clock, { limit: 5, remaining: 4 }));
  await take(killed);
  clock.at += 32_000;
  expect(other.view().inFlight).toBe(1);
  clock.at += 1;
  expect(other.view().inFlight).toBe(0);
});

test('clearing the ledger ends a block for all processes', async () => {
  const dir = tempDir();
  const clock = new FakeClock();
  const [a, b] = [open(dir, { clock }), open(dir, { clock })];
  a.observe(await take(a), response(clock, { status: 429, waitMs: 90_000 }));
  expect(await b.acquire(30_000)).toMatchObject({ granted: false, reason: 'blocked' });
  await b.forget();
  await take(a);
  expect(a.view()).toMatchObject({ window: undefined, blocked: undefined });
});

test('a closed ledger keeps its last view', async () => {
  const ledger = open(tempDir());
  ledger.observe(await take(ledger), response(ledger.clock));
  await ledger.close();
  expect(ledger.view().window?.remaining).toBe(59);
  expect(ledger.warnings).toEqual([]);
});

// A process that creates `count` categories sequentially and prints how many succeeded.
const CHILD = `
const [clientFile, baseUrl, stateDir, count] = process.argv.slice(1);
const { createClient } = await import(clientFile);
const client = createClient({ baseUrl, apiKey: '${KEY}', stateDir });
let done = 0;
for (; done < Number(count); done++) await client.categories.create({ name: process.pid + '-' + done });
console.log(done);
`;
const child = (baseUrl: string, stateDir: string, count: number): string[] => [
  '--input-type=module',
  '-e',
  CHILD,
  compile('src/client.ts'),
  baseUrl,
  stateDir,
  String(count),
];

test.concurrent('six concurrent processes share several windows without a refusal', async () => {
  const server = await startLimited({ mode: 'fixed', limit: 24, windowMs: 3000, latencyMs: 5, reset: 'tenths' });
  const dir = tempDir();
  const run = promisify(execFile);
  const done = await Promise.all(Array.from({ length: 6 }, () => run(process.execPath, child(server.url, dir, 10))));
  server.close();
  expect(done.map(({ stdout }) => stdout.trim())).toEqual(Array(6).fill('10'));
  expect(server.seen).toMatchObject({ sent: 60, refused: 0, inside: 0 });
});

test
  .runIf(hasSignals)
  .concurrent('a process that is suspended while it waits continues afterwards without a refusal', async () => {
    const server = await startLimited({ mode: 'fixed', limit: 5, windowMs: 2000, reset: 'tenths' });
    const one = spawn(process.execPath, child(server.url, tempDir(), 12), { stdio: ['ignore', 'pipe', 'inherit'] });
    let out = '';
    one.stdout.on('data', (chunk) => {
      out += chunk;
    });
    const ended = new Promise((resolve) => one.once('close', resolve));
    while (server.seen.sent < 5) await new Promise((resolve) => setTimeout(resolve, 20));
    one.kill('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 2500));
    one.kill('SIGCONT');
    await ended;
    server.close();
    expect(out.trim()).toBe('12');
    expect(server.seen).toMatchObject({ sent: 12, refused: 0, inside: 0 });
  });
