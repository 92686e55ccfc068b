// The lock in a file: one run at a time, and how long the next one waits.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { MemoryLog } from '../../src/append-log/log.ts';
import type { LockOptions } from '../../src/import/lock.ts';
import { Lock, lockFormat } from '../../src/import/lock.ts';
import { openFileLock } from '../../src/import/lock-log.ts';
import { hasModes } from '../support/capabilities.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

const URL = 'https://secret.example/v1';
type Verdict = 'alive' | 'dead' | 'unknown';

/** A machine with a state directory, on which runs follow one another. */
class Machine {
  readonly stateDir = tempDir();
  readonly clock = new FakeClock();

  get dir(): string {
    return join(this.stateDir, 'imports');
  }

  get path(): string {
    return join(this.dir, readdirSync(this.dir)[0] ?? '');
  }

  open(clock = this.clock): Lock {
    return new Lock(openFileLock(this.stateDir, URL), clock);
  }

  options(pid: number, liveness: Verdict): LockOptions {
    const processes = { self: { pid, start: '', host: 'here' }, livenessOf: () => liveness };
    return { signal: new AbortController().signal, processes };
  }

  async acquire(pid = 1, liveness: Verdict = 'dead'): Promise<Lock> {
    const lock = this.open();
    await lock.acquire(this.options(pid, liveness));
    return lock;
  }
}

const takenOver = expect.objectContaining({ kind: 'storage', message: expect.stringContaining('taken over') });

test.runIf(hasModes)('the log and its directory are private, and the base URL is not written', async () => {
  const machine = new Machine();
  await (await machine.acquire()).close();
  expect(statSync(machine.dir).mode & 0o777).toBe(0o700);
  expect(statSync(machine.path).mode & 0o777).toBe(0o600);
  expect(`${machine.path}${readFileSync(machine.path, 'utf8')}`).not.toContain('secret');
});

test('each base URL has its own lock', async () => {
  const machine = new Machine();
  const first = await machine.acquire();
  const second = new Lock(openFileLock(machine.stateDir, `${URL}/`), machine.clock);
  await second.acquire(machine.options(2, 'alive'));
  first.assertHeld();
  second.assertHeld();
});

test.each([
  ['at once', 0, 10_000],
  ['4 s later', 4000, 6000],
  ['10 s later', 10_000, 0],
])('a run whose process has died is taken over immediately; %s, the next one waits', async (_when, ms, waitMs) => {
  const machine = new Machine();
  const first = await machine.acquire(11);
  await machine.clock.sleep(ms);
  const second = await machine.acquire(12, 'dead');
  expect(second.busyMs).toBe(waitMs);
  second.assertHeld();
  expect(() => first.assertHeld()).toThrow(takenOver);
  await first.close();
  second.assertHeld();
});

test('a run after a kill waits at most 10 s if the clock was set back', async () => {
  const machine = new Machine();
  await machine.acquire(11);
  machine.clock.at -= 3_600_000;
  expect((await machine.acquire(12, 'dead')).busyMs).toBe(10_000);
});

test('a run whose process cannot be seen is taken over after 60 s without a record', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const machine = new Machine();
  const first = await machine.acquire(11);
  let polls = 0;
  // A record after 45 s restarts the 60 s; jumps of the wall clock make no difference.
  const clock = Object.assign(new FakeClock(), {
    monotonic: () => machine.clock.monotonic(),
    sleep: async (ms: number) => {
      if (++polls === 225) vi.advanceTimersByTime(3000);
      machine.clock.at += 3_600_000;
      await machine.clock.sleep(ms);
    },
  });
  await machine.open(clock).acquire(machine.options(12, 'unknown'));
  expect(machine.clock.monotonic()).toBe(45_000 + 60_000);
  expect(() => first.assertHeld()).toThrow(takenOver);
});

test('a run waits until the one that holds the lock ends', async () => {
  const machine = new Machine();
  const first = await machine.acquire(11);
  const waited: number[] = [];
  const second = machine.open();
  const acquiring = second.acquire({ ...machine.options(12, 'alive'), onWait: ({ pid }) => void waited.push(pid) });
  await vi.waitFor(() => expect(machine.clock.slept.length).toBeGreaterThan(2));
  await first.close();
  await acquiring;
  expect([waited, second.busyMs]).toEqual([[11], 0]);
});

test('the next run waits for the rest of the time that creates of the last one may be on their way', async () => {
  const machine = new Machine();
  const first = await machine.acquire();
  first.mayArrive(45_000);
  first.mayArrive(2000);
  await first.close();
  await machine.clock.sleep(5000);
  const second = await machine.acquire();
  expect(second.busyMs).toBe(40_000);
  await second.settle(new AbortController().signal);
  expect(second.busyMs).toBe(0);
  await second.close();
  expect((await machine.acquire()).busyMs).toBe(0);
});

test('a rotation keeps the holder, its last sign of life, and the wait', async () => {
  const machine = new Machine();
  const stateOf = async () => openFileLock(machine.stateDir, URL).refresh();
  const first = await machine.acquire();
  const held = await stateOf();
  expect(held).toMatchObject({ holder: { pid: 1, waitMs: 0 }, at: machine.clock.now(), busyMs: 10_000 });
  expect(new MemoryLog(lockFormat, lockFormat.snapshot(held)).last()).toEqual(held);
  first.mayArrive(2000);
  await first.close();
  const released = await stateOf();
  expect(released).toMatchObject({ at: machine.clock.now(), busyMs: 2000 });
  expect(new MemoryLog(lockFormat, lockFormat.snapshot(released)).last()).toEqual(released);
});

test.each(['x', '{}', '{"kind":"state","at":1,"busyMs":-1}', '{"kind":"release"}', '{"kind":"constructor"}', 'null'])(
  'the record %s of another program is ignored',
  async (record) => {
    const machine = new Machine();
    const lock = await machine.acquire();
    writeFileSync(machine.path, `${readFileSync(machine.path, 'utf8')}~\nx ${record} .\n`);
    lock.assertHeld();
  },
);

test('a run records every 3 s that it is alive', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const machine = new Machine();
  const lock = await machine.acquire();
  for (const beats of [1, 2]) {
    await vi.advanceTimersByTimeAsync(3000);
    expect(readFileSync(machine.path, 'utf8').match(/"beat"/g)).toHaveLength(beats);
  }
  await lock.close();
});
