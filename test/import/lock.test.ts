// The lock of an import: one run at a time, and the wait of the next run.
import { readdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { openLock } from '../../src/import/import-categories.ts';
import type { LockOptions } from '../../src/import/lock.ts';
import { Lock } from '../../src/import/lock.ts';
import type { LockState } from '../../src/import/lock-format.ts';
import { lockFormat } from '../../src/import/lock-format.ts';
import { MemoryLog } from '../../src/shared-log/log.ts';
import { StateServer } from '../../src/shared-log/state-server.ts';
import { parseStateUrl } from '../../src/shared-log/state-url.ts';
import { hasModes, needs } from '../support/capabilities.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { RedisServer } from '../support/redis-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { IN_MEMORY } from './fake-service.ts';

const withServer = needs('redis');
const URL = 'https://secret.example/v1';
const { signal } = new AbortController();
const options: LockOptions = { signal, pause: async () => undefined };
const process = { pid: 1, start: '', host: 'here' };

/** A lock in memory that several runs take in turn. */
function shared() {
  const clock = new FakeClock();
  const log = new MemoryLog(lockFormat);
  async function acquire(pid = 1, liveness: 'dead' | 'unknown' = 'dead', by: Clock = clock): Promise<Lock> {
    const lock = new Lock(log, by, { ...IN_MEMORY, process: { ...process, pid }, livenessOf: () => liveness });
    const onBusy = () => liveness === 'dead' && expect.unreachable('it is held');
    await lock.acquire({ ...options, onBusy });
    expect(await lock.confirm(options.pause)).toBe(true);
    return lock;
  }
  return { clock, log, acquire };
}

/** Locks in files. */
function inFiles() {
  const stateDir = tempDir();
  const dir = join(stateDir, 'imports');
  const clock = new FakeClock();
  return {
    dir,
    clock,
    logs: (): string[] =>
      readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.log')),
    acquire: async (url = URL): Promise<Lock> => {
      const lock = await openLock(url, stateDir, clock);
      await lock.acquire({ ...options, onBusy: () => expect.unreachable('it is held') });
      expect(await lock.confirm(options.pause)).toBe(true);
      return lock;
    },
  };
}

function onServer({ url }: RedisServer) {
  const clock = new FakeClock();
  const server = new StateServer({ connection: parseStateUrl(url, undefined, { url: 'X', password: 'Y' }), clock });
  onTestFinished(() => server.close());
  return { clock, open: () => openLock(URL, server, clock) };
}

const takenOver = expect.objectContaining({ kind: 'storage', message: expect.stringContaining('taken over') });

test.runIf(hasModes)(
  'a lock file is readable only by its owner and omits the base URL, and its lock affects no other base URL',
  async () => {
    const { dir, logs, acquire } = inFiles();
    const locks = [await acquire(), await acquire(`${URL}/`)];
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    for (const name of logs()) {
      expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
      expect(`${name}${readFileSync(join(dir, name), 'utf8')}`).not.toContain('secret');
    }
    for (const lock of locks) lock.assertHeld();
  },
);

test('opening the lock of a new base URL removes locks unused for 48 hours, and their runs send nothing more', async () => {
  const { dir, clock, logs, acquire } = inFiles();
  const old = await acquire('old');
  const [unused] = logs();
  const recent = await acquire('recent');
  for (const file of logs()) {
    const usedAt = new Date(Date.now() - (file === unused ? 49 : 47) * 3_600_000);
    utimesSync(join(dir, file), usedAt, usedAt);
  }
  await acquire('new');
  expect(logs()).toHaveLength(2);
  recent.assertHeld();
  // A run that was suspended for more than 48 hours finds an empty log, and sends nothing.
  clock.at += 49 * 3_600_000;
  expect(() => old.assertHeld()).toThrow('the import lock was removed');
});

withServer('a lock on a state server is kept for more than 47 hours after its last record', async () => {
  await using redis = await RedisServer.start();
  const { open } = onServer(redis);
  const lock = await open();
  await lock.acquire(options);
  const [, key = ''] = /(petstore:\S+)/.exec(await redis.command('KEYS', '*')) ?? [];
  expect(Number((await redis.command('PTTL', key)).slice(1))).toBeGreaterThan(47 * 3_600_000);
  await lock.close();
});

/** Runs whose lock is on a state server that loses records. Time is virtual, and the tests write the heartbeats. */
function onForgetfulServer() {
  const clock = new FakeClock();
  const log = new MemoryLog(lockFormat);
  const pauses: string[] = [];
  const pause = async (ms: number, reason: string): Promise<void> => {
    if (ms <= 0) return;
    pauses.push(`${reason} ${ms}`);
    await clock.sleep(ms);
  };
  const start = (pid: number): Lock =>
    new Lock(log, clock, { ...IN_MEMORY, isOnServer: true, process: { ...process, pid }, livenessOf: () => 'alive' });
  return {
    ...{ clock, log, pauses, pause, start },
    /** Starts a run that holds a confirmed lock. */
    confirmed: async (pid: number): Promise<Lock> => {
      const run = start(pid);
      await run.acquire({ signal, pause });
      await run.confirm(pause);
      return run;
    },
    /** Restores the records of an earlier time; by default none. */
    rollBack: (snapshot: Iterable<string> = []): void => {
      Object.assign(log.cached(), { holder: undefined }, new MemoryLog(lockFormat, snapshot).cached());
    },
  };
}

test('with its lock on a state server, a run may list immediately, but creates nothing until 4 s after it took the lock', async () => {
  const { clock, pauses, pause, start } = onForgetfulServer();
  const run = start(1);
  await run.acquire({ signal, pause });
  expect(pauses).toEqual([]);
  // The list takes a second; a heartbeat meanwhile does not confirm the lock.
  await clock.sleep(1000);
  void run.heartbeat();
  expect(await run.confirm(pause)).toBe(true);
  expect(pauses).toEqual(['lock 3000']);
  run.assertHeld();
});

test('a run takes back a lock that a state server lost in a rollback to older records, and the next run waits', async () => {
  const { log, pause, confirmed, start, rollBack, clock } = onForgetfulServer();
  const earlier = await confirmed(1);
  await earlier.close();
  // A snapshot with a released lock: the log is not empty.
  const snapshot = [...lockFormat.snapshot(log.cached())];
  const first = await confirmed(2);
  rollBack(snapshot);
  const second = start(3);
  const events: string[] = [];
  await second.acquire({ signal, pause });
  clock.at += 3000;
  void first.heartbeat();
  expect(await second.confirm(pause)).toBe(false);
  first.assertHeld();
  const onBusy = (): void => void first.close().then(() => events.push('released'));
  await second.acquire({ signal, pause, onBusy });
  expect(events).toEqual(['released']);
  expect(await second.confirm(pause)).toBe(true);
  second.assertHeld();
});

test('if a run ends before it takes back its lost lock, the lock of the next run is not confirmed', async () => {
  const { log, pause, confirmed, start, rollBack } = onForgetfulServer();
  const first = await confirmed(1);
  const own = structuredClone(log.cached());
  rollBack();
  const second = start(2);
  await second.acquire({ signal, pause });
  // The first run has not read the log since the server lost the lock.
  vi.spyOn(log, 'cached').mockReturnValueOnce(own);
  await first.close();
  expect(await second.confirm(pause)).toBe(false);
});

test('a suspended run whose lock was taken over cannot take it back from a later run whose lock is provisional', async () => {
  const { pause, start, confirmed, log, clock } = onForgetfulServer();
  const suspended = await confirmed(1);
  const other = new Lock(log, clock, {
    ...{ ...IN_MEMORY, isOnServer: true, process: { ...process, pid: 2 } },
    livenessOf: () => 'dead',
  });
  await other.acquire({ signal, pause });
  await other.confirm(pause);
  await other.close();
  const third = start(3);
  await third.acquire({ signal, pause });
  void suspended.heartbeat();
  expect(() => suspended.assertHeld()).toThrow(takenOver);
  expect(await third.confirm(pause)).toBe(true);
});

test.each(['all records', 'the newest records'])(
  'a run that counted as dead does not continue after the state server has lost %s',
  async (lost) => {
    const { pause, confirmed, rollBack, log, clock } = onForgetfulServer();
    const suspended = await confirmed(1);
    const snapshot = [...lockFormat.snapshot(log.cached())];
    const known = [structuredClone(log.cached())];
    clock.at += 60_000;
    const other = new Lock(log, clock, { ...IN_MEMORY, isOnServer: true, process, livenessOf: () => 'dead' });
    await other.acquire({ signal, pause });
    await other.confirm(pause);
    known.push(structuredClone(log.cached()));
    rollBack(lost === 'all records' ? [] : snapshot);
    for (const run of [suspended, other]) {
      // The run has not read the log since the server lost records.
      vi.spyOn(log, 'cached').mockReturnValueOnce(known.shift() as LockState);
      void run.heartbeat();
      if (run === other) run.assertHeld();
      else expect(() => run.assertHeld()).toThrow(expect.objectContaining({ kind: 'storage' }));
    }
  },
);

test('a run must take its lock again if the state server lost the lock before the run confirmed it', async () => {
  const { pause, start, rollBack } = onForgetfulServer();
  const run = start(1);
  await run.acquire({ signal, pause });
  rollBack();
  // Another run may have been confirmed and forgotten since this one listed.
  expect(await run.confirm(pause)).toBe(false);
  await run.acquire({ signal, pause });
  expect(await run.confirm(pause)).toBe(true);
});

withServer('a run takes back a lock that a state server lost in a flush, and another run waits', async () => {
  await using redis = await RedisServer.start();
  const { clock, open } = onServer(redis);
  const [first, second] = [await open(), await open()];
  const pause = async (ms: number): Promise<void> => clock.sleep(ms);
  await first.acquire({ signal, pause });
  expect(await first.confirm(pause)).toBe(true);
  await redis.command('FLUSHALL');
  await second.acquire({ signal, pause });
  void first.heartbeat();
  expect(await second.confirm(pause)).toBe(false);
  const onBusy = (): void => {
    first.assertHeld();
    void first.close();
  };
  await second.acquire({ signal, pause, onBusy });
  expect(await second.confirm(pause)).toBe(true);
  second.assertHeld();
  await second.close();
});

test.each([
  // A create may have been sent just before the next record, 3 s after the last one.
  ['4 s after the last record', 9000, 4000],
  ['13 s after the last record', 0, 13_000],
  ['after the clock was set back by an hour', 13_000, -3_600_000],
])('%s, a run that takes over the lock of a dead process has a drain of %i ms', async (_when, drainMs, ms) => {
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

test('the drain that a killed run left continues even if the next run is killed, too', async () => {
  const { clock, acquire } = shared();
  (await acquire(11)).extendDrain(45_000);
  await clock.sleep(5000);
  expect((await acquire(12)).drainMs).toBe(40_000);
  await clock.sleep(1000);
  expect((await acquire(13)).drainMs).toBe(39_000);
});

test('a run of a process whose liveness is unknown is taken over after 60 s without a record', async () => {
  const it = shared();
  const first = await it.acquire(11);
  let polls = 0;
  // A record after 45 s restarts the 60 s; jumps of the wall clock make no difference.
  const polling = Object.assign(new FakeClock(), {
    monotonic: () => it.clock.monotonic(),
    sleep: async (ms: number) => {
      if (++polls === 225) void first.heartbeat();
      it.clock.at += 3_600_000;
      await it.clock.sleep(ms);
    },
  });
  await it.acquire(12, 'unknown', polling);
  expect(it.clock.monotonic()).toBe(45_000 + 60_000);
  expect(() => first.assertHeld()).toThrow(takenOver);
});

test('a run of unknown liveness that was suspended for 59 s while it took the lock is taken over only after another 60 s', async () => {
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

// Records of runs named by letters.
const took = (run: string, revision = '') => ({ kind: 'acquire', run, revision, at: 5 });
const beat = (run: string, at: number, term = 0) => ({ kind: 'beat', run, at, term });
const confirm = (run: string) => ({ kind: 'confirm', run, at: 6 });

function appendTo(log: MemoryLog<LockState>, ...records: readonly object[]): LockState {
  for (const record of records)
    log.append(JSON.stringify({ run: 'a', at: 5, term: 0, drainMs: 0, process, ...record }));
  return log.cached();
}

test.each<[string, string, object[]]>([
  ['the run that was recorded first if two runs take it at the same time', 'a', [took('a'), took('b')]],
  ['the run that takes it from a dead run', 'b', [took('a'), took('b', 'a 5')]],
  ['a run that seemed dead but has written a record', 'a', [took('a'), beat('a', 7), took('b', 'a 5')]],
  ['a live run whose lock a server lost', 'a', [took('b'), beat('b', 6), beat('a', 7, 1), beat('b', 9)]],
  [
    'a live run whose lock a server lost in a rollback to an earlier holder',
    'a',
    [took('b'), confirm('b'), beat('a', 9, 2)],
  ],
  [
    'a run that was confirmed before the holder of a lost lock returned',
    'b',
    [took('b'), confirm('b'), beat('a', 9, 1)],
  ],
  ['a live run that took it back before another run confirmed it', 'a', [took('b'), beat('a', 7, 1), confirm('b')]],
  ['a run that takes it back after two other runs took it', 'a', [took('c'), took('b', 'c 5'), beat('a', 7, 1)]],
  ['the run that took it, even if another run writes a record to the same file', 'b', [took('b'), beat('a', 5)]],
])('the lock is held by %s', (_what, holder, records) => {
  expect(appendTo(new MemoryLog(lockFormat), ...records).holder?.run).toBe(holder);
});

test('a snapshot of a lock keeps its holder, its term, its drain and the time of its last record', () => {
  const log = new MemoryLog(lockFormat);
  const rotated = (): LockState => new MemoryLog(lockFormat, lockFormat.snapshot(log.cached())).cached();
  appendTo(log, took('a'), { ...beat('a', 7, 3), drainMs: 30_000 });
  expect(rotated()).toEqual({ holder: { ...process, run: 'a' }, term: 3, at: 7, drainMs: 30_000 });
  appendTo(log, { kind: 'release', at: 9, drainMs: 2000 });
  expect(rotated()).toEqual({ term: 3, at: 9, drainMs: 2000 });
});

test('a run writes a heartbeat every 3 s until it ends', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { log, acquire } = shared();
  const lock = await acquire();
  const append = vi.spyOn(log, 'append');
  for (const records of [1, 2]) {
    await vi.advanceTimersByTimeAsync(3000);
    expect(append).toHaveBeenCalledTimes(records);
  }
  await lock.close();
  await vi.advanceTimersByTimeAsync(3000);
  expect(append).toHaveBeenCalledTimes(3);
});

test('before a create, a run whose last record is 3 s old writes another, and sends nothing if it cannot', async () => {
  const { clock, log, acquire } = shared();
  const lock = await acquire();
  const since = clock.at;
  clock.at += 2999;
  lock.assertHeld();
  expect(log.cached().at).toBe(since);
  for (const ms of [1, 60_000, -3_600_000]) {
    clock.at += ms;
    lock.assertHeld();
    expect(log.cached()).toMatchObject({ at: clock.at, drainMs: 13_000 });
  }
  const full = vi.spyOn(log, 'append').mockImplementation(() => {
    throw new Error('full');
  });
  clock.at += 3000;
  expect(() => lock.assertHeld()).toThrow('full');
  full.mockRestore();
  clock.at += 3000;
  lock.assertHeld();
});

test('a run whose heartbeat failed while it waited for the drain continues once it can write again', async () => {
  const { clock, log } = shared();
  const lock = new Lock(log, clock, { ...IN_MEMORY, process, livenessOf: () => 'dead' });
  const pause = async (): Promise<void> => {
    vi.spyOn(log, 'append').mockImplementationOnce(() => {
      throw new Error('full');
    });
    void lock.heartbeat();
  };
  await lock.acquire({ signal, pause });
  expect(await lock.confirm(options.pause)).toBe(true);
  lock.assertHeld();
});

test('a run that ends while its lock is provisional leaves the lock to a run whose lock the server lost', async () => {
  const { log, start } = onForgetfulServer();
  const stopped = start(1);
  const pause = () => Promise.reject(new Error('interrupted'));
  await stopped.acquire(options);
  await expect(stopped.confirm(pause)).rejects.toThrow('interrupted');
  await stopped.close();
  expect(log.cached().holder).toBeUndefined();
  expect(appendTo(log, beat('lost', 9, 1)).holder?.run).toBe('lost');
});
