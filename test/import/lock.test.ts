// The lock of an import: one run at a time, and how long the next one waits.
import { readdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { MemoryLog } from '../../src/append-log/log.ts';
import { StateServer } from '../../src/append-log/state-server.ts';
import { parseStateUrl } from '../../src/append-log/state-url.ts';
import type { Clock } from '../../src/clock.ts';
import type { LockOptions, LockState } from '../../src/import/lock.ts';
import { Lock, lockFormat, openLock } from '../../src/import/lock.ts';
import { hasModes } from '../support/capabilities.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { hasStateServer, RedisServer } from '../support/redis-server.ts';
import { tempDir } from '../support/temp-dir.ts';

const URL = 'https://secret.example/v1';
const logsIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.log'));

type Liveness = 'alive' | 'dead' | 'unknown';

function options(pid: number, liveness: Liveness): LockOptions {
  const self = { pid, start: '', host: 'here' };
  return { signal: new AbortController().signal, liveness: { self, livenessOf: () => liveness } };
}

function fakeIntervals(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** A log on which runs follow one another. */
function shared(clock = new FakeClock()) {
  const log = new MemoryLog(lockFormat);
  const acquire = async (pid = 1, liveness: Liveness = 'dead', by: Clock = clock): Promise<Lock> => {
    const lock = new Lock(log, by);
    await lock.acquire(options(pid, liveness));
    return lock;
  };
  return { clock, log, acquire };
}

const takenOver = expect.objectContaining({ kind: 'storage', message: expect.stringContaining('taken over') });

test.runIf(hasModes)(
  'a lock in a file is private, hides the base URL, locks only this URL, and can be taken over',
  async () => {
    const stateDir = tempDir();
    const open = async (pid: number, liveness: Liveness, url = URL): Promise<Lock> => {
      const lock = await openLock(url, { clock: new FakeClock(), stateDir: () => stateDir });
      await lock.acquire(options(pid, liveness));
      return lock;
    };
    const first = await open(1, 'alive');
    const other = await open(2, 'alive', `${URL}/`);
    const dir = join(stateDir, 'imports');
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    for (const file of logsIn(dir)) {
      expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600);
      expect(`${file}${readFileSync(join(dir, file), 'utf8')}`).not.toContain('secret');
    }
    first.assertHeld();
    (await open(3, 'dead')).assertHeld();
    expect(() => first.assertHeld()).toThrow(takenOver);
    other.assertHeld();
  },
);

test('the lock of a new base URL removes those that were not used for 48 hours, and their runs end', async () => {
  const stateDir = tempDir();
  const open = async (url: string): Promise<Lock> => {
    const lock = await openLock(url, { clock: new FakeClock(), stateDir: () => stateDir });
    await lock.acquire(options(1, 'alive'));
    return lock;
  };
  const dir = join(stateDir, 'imports');
  const old = await open('old');
  const [unused = ''] = logsIn(dir);
  const recent = await open('recent');
  for (const file of logsIn(dir)) {
    const usedAt = new Date(Date.now() - (file === unused ? 49 : 47) * 3_600_000);
    utimesSync(join(dir, file), usedAt, usedAt);
  }
  await open('new');
  expect(logsIn(dir)).toHaveLength(2);
  recent.assertHeld();
  // A run that was suspended for so long finds the lock free, and sends nothing.
  expect(() => old.assertHeld()).toThrow(takenOver);
});

test.runIf(hasStateServer)('a lock on a state server expires 48 hours after its last record', async () => {
  await using redis = await RedisServer.start();
  const clock = new FakeClock();
  const server = new StateServer({ address: parseStateUrl(redis.url, undefined, 'X'), clock });
  onTestFinished(() => server.close());
  const lock = await openLock(URL, { clock, server, stateDir: tempDir });
  await lock.acquire(options(1, 'alive'));
  const [, key = ''] = /(petstore:\S+)/.exec(await redis.command('KEYS', '*')) ?? [];
  expect(Number((await redis.command('PTTL', key)).slice(1))).toBeGreaterThan(47 * 3_600_000);
  await lock.close();
});

test.each([
  ['4 s later', 4000, 6000],
  ['10 s later', 10_000, 0],
  ['an hour earlier, because the clock was set back', -3_600_000, 10_000],
])('a run whose process has died is taken over immediately; %s, the next one waits', async (_when, ms, drainMs) => {
  const { clock, acquire } = shared();
  const first = await acquire(11);
  clock.at += ms;
  const second = await acquire(12);
  expect(second.drainMs).toBe(drainMs);
  second.assertHeld();
  expect(() => first.assertHeld()).toThrow(takenOver);
  await first.close();
  second.assertHeld();
});

test('a run waits as long as the service may process creates of a killed run, even if another run was killed in between', async () => {
  const { clock, acquire } = shared();
  (await acquire(11)).extendDrain(45_000);
  await clock.sleep(5000);
  expect((await acquire(12)).drainMs).toBe(40_000);
  await clock.sleep(1000);
  expect((await acquire(13)).drainMs).toBe(39_000);
});

test('a run whose process cannot be seen is taken over after 60 s without a record', async () => {
  fakeIntervals();
  const { clock, acquire } = shared();
  const first = await acquire(11);
  let polls = 0;
  // A record after 45 s restarts the 60 s; jumps of the wall clock make no difference.
  const polling = Object.assign(new FakeClock(), {
    monotonic: () => clock.monotonic(),
    sleep: async (ms: number) => {
      if (++polls === 225) vi.advanceTimersByTime(3000);
      clock.at += 3_600_000;
      await clock.sleep(ms);
    },
  });
  await acquire(12, 'unknown', polling);
  expect(clock.monotonic()).toBe(45_000 + 60_000);
  expect(() => first.assertHeld()).toThrow(takenOver);
});

test('a run that was suspended while it took the lock is not taken over for another 60 s', async () => {
  fakeIntervals();
  const { clock, log, acquire } = shared();
  const append = log.append.bind(log);
  let second: Promise<Lock> | undefined;
  vi.spyOn(log, 'append').mockImplementationOnce(async (record) => {
    append(record);
    second = acquire(12, 'unknown');
    while (clock.monotonic() < 59_000) await new Promise(setImmediate);
  });
  await acquire(11);
  await second;
  expect(clock.monotonic()).toBeGreaterThanOrEqual(59_000 + 60_000);
});

const process = { pid: 1, start: '', host: 'here' };

function appendTo(log: MemoryLog<LockState>, ...records: readonly object[]): LockState {
  for (const record of records) log.append(JSON.stringify({ kind: 'acquire', run: 'a', at: 5, process, ...record }));
  return log.cached();
}

test.each<[string, string, object[]]>([
  ['of two runs that take the lock at the same time, the first', 'a', [{ revision: '' }, { revision: '', run: 'b' }]],
  ['the run that takes the lock of a dead one', 'b', [{ revision: '' }, { revision: 'a 5', run: 'b' }]],
  [
    'a run that seemed dead but has written',
    'a',
    [{ revision: '' }, { kind: 'beat', at: 7 }, { revision: 'a 5', run: 'b' }],
  ],
])('%s holds the lock', (_what, holder, records) => {
  expect(appendTo(new MemoryLog(lockFormat), ...records).holder?.run).toBe(holder);
});

test('a rotation keeps the holder, its last sign of life, and the wait', () => {
  const log = new MemoryLog(lockFormat);
  const rotated = (): LockState => new MemoryLog(lockFormat, lockFormat.snapshot(log.cached())).cached();
  appendTo(log, { revision: '' }, { kind: 'beat', at: 7, drainMs: 30_000 });
  expect(rotated()).toEqual({ holder: { ...process, run: 'a', drainMs: 0 }, at: 7, drainMs: 30_000 });
  appendTo(log, { kind: 'release', at: 9, drainMs: 2000 });
  expect(rotated()).toEqual({ at: 9, drainMs: 2000 });
});

test('a run records every 3 s that it is alive, and sends nothing while it cannot', async () => {
  fakeIntervals();
  const { log, acquire } = shared();
  const lock = await acquire();
  const append = vi.spyOn(log, 'append');
  for (const beats of [1, 2]) {
    await vi.advanceTimersByTimeAsync(3000);
    expect(append).toHaveBeenCalledTimes(beats);
  }
  lock.assertHeld();
  append.mockImplementation(() => {
    throw new Error('full');
  });
  await vi.advanceTimersByTimeAsync(3000);
  expect(() => lock.assertHeld()).toThrow('full');
  append.mockRestore();
  await vi.advanceTimersByTimeAsync(3000);
  lock.assertHeld();
});
