// The ledger in a real directory: shared by processes, and usable if the disk, the clock or a process fails.
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import type { KeyState, RateLimitReading } from '../../src/rate-limit/key-state.ts';
import { initialState } from '../../src/rate-limit/key-state.ts';
import type { LedgerPlace } from '../../src/rate-limit/ledger.ts';
import { Ledger } from '../../src/rate-limit/ledger.ts';
import type { MachineOptions } from '../../src/rate-limit/machine-ledger.ts';
import { ledgerName, openMachineLedger } from '../../src/rate-limit/machine-ledger.ts';
import type { LogFs } from '../../src/shared-log/segments.ts';
import { hasModes } from '../support/capabilities.ts';
import { compile } from '../support/compile.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { startHttpFake } from '../support/http-fake.ts';
import { Limiter } from '../support/limiter.ts';
import { play, refused, START } from '../support/records.ts';
import { tempDir } from '../support/temp-dir.ts';

const KEY = 'pk_live_secret_ledger_0123456789';
const BASE_URL = 'https://pets.example/v1';
const BLOCKED = { granted: false, reason: 'blocked' };
const PENDING = { granted: false, reason: 'pending' };

/** A state directory and a clock that several ledgers share. */
class Machine {
  readonly clock = new FakeClock();
  readonly dir = tempDir();
  readonly warnings: string[] = [];

  open(more: Partial<MachineOptions> = {}): Ledger {
    const { dir, clock, warnings } = this;
    const onWarning = (text: string): void => void warnings.push(text);
    return openMachineLedger({ stateDir: dir, baseUrl: BASE_URL, key: KEY, clock, onWarning, ...more });
  }

  /** Takes a ticket and reports its response, by default a success with 59 of 60 requests left. */
  async see(ledger: Ledger, more: Partial<RateLimitReading> = {}): Promise<void> {
    const ticket = await take(ledger);
    ledger.observe(ticket, this.response(more));
  }

  response(more: Partial<RateLimitReading> = {}): RateLimitReading {
    const window = { limit: 60, remaining: 59, resetInMs: 60_000 } as const;
    return { status: 200, refused: more.status === 429, ...window, waitFrom: 'retry_after', ...more };
  }

  get files(): string[] {
    const names = fs.readdirSync(this.dir, { recursive: true, encoding: 'utf8' });
    return names.filter((name) => name.endsWith('.log')).map((name) => join(this.dir, name));
  }
}

async function take(ledger: Ledger, timeoutMs = 30_000): Promise<string> {
  const admission = await ledger.acquire(timeoutMs);
  if (!admission.granted) throw new Error(`not granted: ${admission.reason}`);
  return admission.ticket;
}

test('two ledgers of one key share windows, open tickets and blocks, and clearing one clears both', async () => {
  const machine = new Machine();
  const [a, b] = [machine.open(), machine.open()];
  const ticket = await take(a);
  expect(await b.acquire(30_000)).toMatchObject(PENDING);
  a.observe(ticket, machine.response({ remaining: 1, limit: 2 }));
  expect(b.quota()).toMatchObject({ limit: 2, remaining: 1 });
  await machine.see(b, { status: 429, waitMs: 90_000 });
  expect(await a.acquire(30_000)).toMatchObject(BLOCKED);
  await a.forget();
  await take(b);
  expect(b.quota()).toMatchObject({ limit: null, blocked: null });
});

test('each pair of a key and a base URL has its own ledger, whose name and content reveal neither', async () => {
  const machine = new Machine();
  for (const other of [{}, { key: `1${KEY}` }, { baseUrl: `${BASE_URL}1` }]) await take(machine.open(other));
  expect(machine.files).toHaveLength(3);
  for (const file of machine.files) {
    const text = file + fs.readFileSync(file, 'utf8');
    for (const secret of [KEY, 'example']) expect(text).not.toContain(secret);
    if (hasModes) expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  }
});

// Node's own mkdir never returns in /proc.
const PROC: [string, string][] = fs.existsSync('/proc/self') ? [['below /proc', '/proc']] : [];
const UNUSABLE: [string, string | undefined][] = [['below a file', 'file'], ...PROC, ['unknown', undefined]];

test.each(UNUSABLE)('a ledger whose directory is %s is kept in memory and causes one warning', async (_where, dir) => {
  const machine = new Machine();
  fs.writeFileSync(join(machine.dir, 'file'), '');
  const ledger = machine.open({ stateDir: dir && resolve(machine.dir, dir, 'petstore', 'state') });
  await machine.see(ledger, { status: 429, waitMs: 9000 });
  expect([await ledger.acquire(30_000), ledger.quota()]).toMatchObject([BLOCKED, { shared: false }]);
  const reason = dir
    ? /^cannot write to "(?!.*pk_live).*" \((?:not a directory|no such file or directory)\); the rate limit is not shared/
    : /^cannot determine the home directory; the rate limit is not shared/;
  expect(machine.warnings).toEqual([expect.stringMatching(reason)]);
});

test('a disk that fills up after a 429 causes one warning, and blocks and tickets are kept in memory', async () => {
  const machine = new Machine();
  let full = false;
  const writeSync = (...args: Parameters<typeof fs.writeSync>): number => (full ? 0 : fs.writeSync(...args));
  const closeSync = vi.fn(fs.closeSync);
  const ledger = machine.open({ fs: { ...fs, writeSync, closeSync } as unknown as LogFs });
  await machine.see(ledger);
  const [late] = [await take(ledger), await take(ledger)];
  await machine.see(ledger, { status: 429, waitMs: 9000 });
  full = true;
  closeSync.mockClear();
  ledger.observe(late, machine.response({ remaining: 58 }));
  expect(await ledger.acquire(30_000)).toMatchObject(BLOCKED);
  expect(ledger.quota().inFlight).toBe(1);
  machine.clock.at += 10_000;
  await take(ledger);
  expect(await ledger.acquire(30_000)).toMatchObject(PENDING);
  expect(machine.warnings).toHaveLength(1);
  expect(closeSync).toHaveBeenCalledOnce();
});

test('a TypeError while a ledger records a response is thrown, not reported as a failure of its log', async () => {
  const machine = new Machine();
  const broken = { ...machine.response(), waitMs: 1n } as unknown as RateLimitReading;
  expect(() => machine.open().observe('ticket', broken)).toThrow(TypeError);
  expect(machine.warnings).toEqual([]);
});

test.each([
  [3_600_000, 'before'],
  [86_400_000, 'after'],
])('a block lasts as long as stated if the clock is set back by %i ms %s the 429', async (ms, when) => {
  const machine = new Machine();
  const ledger = machine.open();
  const ticket = await take(ledger);
  if (when === 'before') machine.clock.at -= ms;
  ledger.observe(ticket, machine.response({ status: 429, waitMs: 30_000 }));
  if (when === 'after') machine.clock.at -= ms;
  // Commands that end here report the time without requesting a ticket.
  else expect(ledger.quota().nextRequestAt ?? 0).toBeLessThanOrEqual(machine.clock.at + 31_000);
  const admission = await ledger.acquire(30_000);
  expect(admission).toMatchObject(BLOCKED);
  const wait = 'until' in admission ? admission.until - machine.clock.at : Number.NaN;
  expect([wait >= 30_000, wait <= 31_000]).toEqual([true, true]);
  machine.clock.at += 31_000;
  await take(ledger);
});

test('creating the ledger of a new key removes ledgers that were not used for 48 hours, and no others', async () => {
  const machine = new Machine();
  const path = (key: string): string => join(machine.dir, 'quota', ledgerName({ baseUrl: BASE_URL, key }));
  const unusedFor = (hours: number, file: string): void => {
    const usedAt = new Date(Date.now() - hours * 3_600_000);
    fs.utimesSync(file, usedAt, usedAt);
  };
  for (const key of ['recent', 'rotated', 'old']) await take(machine.open({ key }));
  for (const file of machine.files) unusedFor(file.includes(path('recent')) ? 47 : 49, file);
  // A rotation has left the old segment beside the new one.
  fs.writeFileSync(join(path('rotated'), 'ledger.2.log'), '');
  fs.mkdirSync(path('empty'));
  machine.open({ key: 'recent' });
  expect(fs.existsSync(path('old'))).toBe(true);
  await take(machine.open({ key: 'new' }));
  const exists = (key: string): boolean => fs.existsSync(path(key));
  expect(['old', 'recent', 'rotated', 'empty', 'new'].map(exists)).toEqual([false, true, true, true, true]);
});

test('300 tickets without a response expire 2 s after the timeout of their requests, and rotations remove them', async () => {
  const machine = new Machine();
  const gone = machine.open();
  await machine.see(gone, { limit: 5000, remaining: 4999 });
  for (let i = 0; i < 300; i++) await take(gone, 1000);
  machine.clock.at += 3000;
  const ledger = machine.open();
  expect(ledger.quota().inFlight).toBe(300);
  machine.clock.at += 1;
  await take(ledger);
  expect(ledger.quota().inFlight).toBe(1);
  for (let i = 0; i < 300; i++) await machine.see(ledger, { limit: 5000, remaining: 3990 });
  expect(machine.files.length).toBeLessThanOrEqual(2);
  expect(Math.max(...machine.files.map((file) => fs.statSync(file).size))).toBeLessThan(64 * 1024);
});

test('if a state server loses a block whose record is still on its way, the block is written again', () => {
  const records: string[] = [];
  let lose = (_before: KeyState, _now: number): void => undefined;
  const place: LedgerPlace = {
    mayRecover: true,
    shared: true,
    stateServer: 'server',
    open(onLoss) {
      lose = onLoss;
      const append = (record: string) => new Promise(() => void records.push(record));
      return { cached: initialState, freshState: initialState, refresh: initialState, append, close: () => undefined };
    },
    warningOf: String,
  };
  const ledger = new Ledger({ places: [place], clock: new FakeClock(START) });
  ledger.observe('a', refused());
  lose(play('0 take a, 0 429 a'), START);
  expect(records.map((record) => JSON.parse(record))).toMatchObject([
    { event: { id: 'a' } },
    { event: { id: '', reading: { waitMs: 5000 } } },
  ]);
});

// A process that creates 10 categories sequentially and prints the number of successes.
const CHILD = `
const [clientFile, baseUrl, stateDir] = process.argv.slice(1);
const { createClient } = await import(clientFile);
const client = createClient({ baseUrl, apiKey: '${KEY}', stateDir });
let done = 0;
for (; done < 10; done++) await client.categories.create({ name: 'dog' });
console.log(done);
`;

test('four concurrent processes share two windows without a refusal', async () => {
  const limiter = new Limiter({ mode: 'fixed', limit: 24, windowMs: 2000, reset: 'tenths' });
  const server = await startHttpFake(async () => {
    const { allowed, headers } = limiter.take(Date.now());
    await sleep(5);
    return { status: allowed ? 201 : 429, headers, body: { id: 1, name: 'dog' } };
  });
  const args = ['--input-type=module', '-e', CHILD, compile('src/client.ts'), server.url, tempDir()];
  const run = promisify(execFile);
  const done = await Promise.all(Array.from({ length: 4 }, () => run(process.execPath, args)));
  server.close();
  expect(done.map(({ stdout }) => stdout.trim())).toEqual(Array(4).fill('10'));
  expect(server.requests).toHaveLength(40);
});
