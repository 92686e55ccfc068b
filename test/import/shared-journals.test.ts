// Journals on a state server: machines resume each other's imports, one at a time, and a lost record never creates a row twice.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StateServer } from '../../src/append-log/state-server.ts';
import { parseStateUrl } from '../../src/append-log/state-url.ts';
import type { LockOptions } from '../../src/import/journal.ts';
import { Journal } from '../../src/import/journal.ts';
import { journalName } from '../../src/import/journal-files.ts';
import { otherImports, readJournal, staleImportOf, supersede } from '../../src/import/other-journals.ts';
import { sharedJournals } from '../../src/import/shared-journals.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { hasStateServer, RedisServer } from '../support/redis-server.ts';

const withServer = test.runIf(hasStateServer);

const NAME = journalName('ab'.repeat(32));
const OTHER = journalName('cd'.repeat(32));
const SOURCE = '5'.repeat(32);
const header = { version: 2, source: SOURCE, rows: 4 } as const;
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

let server: RedisServer;
beforeEach(async () => {
  server = await RedisServer.start({ args: DURABLE });
});
const open: { close(): void }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) one.close();
  await server[Symbol.asyncDispose]();
});

/** A machine whose processes the others cannot look up. */
class Machine {
  readonly clock = new FakeClock();
  readonly warnings: string[] = [];
  readonly server: StateServer;
  readonly store: ReturnType<typeof sharedJournals>;

  constructor(at = server, password?: string) {
    const address = parseStateUrl(at.url, password, 'PETSTORE_STATE_URL');
    this.server = new StateServer({ address, clock: this.clock });
    open.push(this.server);
    const onWarning = (text: string): void => void this.warnings.push(text);
    this.store = sharedJournals('https://secret.example/v1', 'a-secret-key', { ...this, onWarning });
  }

  get lock(): LockOptions {
    const self = { pid: 1, start: '', host: 'here' };
    return { ...this, signal: new AbortController().signal, processes: { self, isAlive: () => 'unknown' } };
  }

  async acquire(name = NAME): Promise<Journal> {
    const journal = new Journal(await this.store.open(name, 'run'));
    open.push({ close: () => void journal.close().catch(() => undefined) });
    await journal.acquire(header, false, this.lock);
    return journal;
  }
}

const storage = (message: RegExp) =>
  expect.objectContaining({ kind: 'storage', exitCode: 9, message: expect.stringMatching(message) });

withServer(
  'an import that was killed on one machine is resumed on another, once it was silent for a minute',
  async () => {
    const first = await new Machine().acquire();
    await first.recordBaseline(['7']);
    for (const row of [0, 1]) await first.record('send', row);
    await first.record('created', 0, '8');
    await server.kill();
    await server.start();
    const machine = new Machine();
    const second = await machine.acquire();
    expect(machine.clock.monotonic()).toBeGreaterThanOrEqual(60_000);
    expect([...(second.state.baseline ?? [])]).toEqual(['7']);
    expect(second.state.rows.get(0)).toEqual({ state: 'created', attempts: 1, id: '8' });
    expect(second.state.rows.get(1)).toEqual({ state: 'unknown', attempts: 0 });
  },
);

withServer('a second machine is refused as soon as the first one writes again', async () => {
  const first = await new Machine().acquire();
  const machine = new Machine();
  const sleep = machine.clock.sleep.bind(machine.clock);
  machine.clock.sleep = async (ms) => {
    await first.recordBaseline([]);
    return sleep(ms);
  };
  await expect(machine.acquire()).rejects.toThrow(/another run is already importing these rows/);
  expect(machine.clock.monotonic()).toBeLessThan(5000);
});

withServer('a run that was taken over sends nothing more', async () => {
  const first = await new Machine().acquire();
  await first.recordBaseline([]);
  await new Machine().acquire();
  await expect(first.record('send', 1)).rejects.toEqual(storage(/another run has taken over this import/));
  expect(() => first.assertHeld()).toThrow(storage(/taken over/));
});

withServer('a run whose records are not confirmed for 30 s sends nothing', async () => {
  const machine = new Machine();
  const journal = await machine.acquire();
  journal.assertHeld();
  await machine.clock.advance(31_000);
  expect(() => journal.assertHeld()).toThrow(storage(/not confirmed for 30s/));
  await journal.recordFinished();
  journal.assertHeld();
});

withServer('after a restart of the server, rows without a record are unknown instead of never sent', async () => {
  const first = await new Machine().acquire();
  await first.recordBaseline([]);
  await first.record('send', 0);
  await first.record('created', 0, '8');
  await first.close();
  await server.kill();
  await server.start();
  const second = await new Machine().acquire();
  expect([...second.state.rows].map(([row, { state }]) => [row, state])).toEqual([
    [0, 'created'],
    [1, 'unknown'],
    [2, 'unknown'],
    [3, 'unknown'],
  ]);
  await second.close();
  const third = await new Machine().acquire();
  expect(third.state.rows.get(1)).toEqual({ state: 'unknown', attempts: 0 });
});

withServer('a server without persistence causes a warning, and a running import restores what it lost', async () => {
  await using forgetful = await RedisServer.start();
  const machine = new Machine(forgetful);
  const journal = await machine.acquire();
  expect(machine.warnings).toEqual([expect.stringContaining('keeps no append-only file')]);
  await journal.recordBaseline(['7']);
  await journal.record('send', 0);
  await forgetful.kill();
  await forgetful.start();
  await journal.record('created', 0, '8');
  await journal.record('send', 1);
  const { rows, baseline } = (await new Machine(forgetful).acquire()).state;
  expect([[...(baseline ?? [])], rows.get(0)?.id, rows.get(1)?.state]).toEqual([['7'], '8', 'unknown']);
});

withServer('without the server nothing is sent: exit 9 after five seconds, at the start at once', async () => {
  const machine = new Machine();
  const journal = await machine.acquire();
  await server.kill();
  const before = machine.clock.monotonic();
  await expect(journal.record('send', 0)).rejects.toEqual(
    storage(/the state server at \S+ cannot be used: connection/),
  );
  expect(machine.clock.monotonic() - before).toBeGreaterThanOrEqual(5000);
  const fresh = new Machine();
  await expect(fresh.acquire()).rejects.toEqual(storage(/connection refused/));
  expect(fresh.clock.monotonic()).toBe(0);
  await server.start();
});

withServer('other imports of the same service are known on every machine', async () => {
  const first = await new Machine().acquire();
  await first.recordBaseline([]);
  await first.record('send', 0);
  await first.record('send', 1);
  await first.record('created', 0, '8');
  const { store, lock } = new Machine();
  const { owned, inFlight } = await otherImports(store, OTHER, lock.processes);
  expect([[...owned], inFlight.size]).toEqual([['8'], 1]);
  expect(await staleImportOf(store, OTHER, SOURCE)).toEqual({ rows: 4, created: 1 });
  expect(await staleImportOf(store, OTHER, '6'.repeat(32))).toBeUndefined();
  expect((await readJournal(store, NAME, 4)).rows.get(0)?.id).toBe('8');
  expect((await readJournal(store, OTHER, 4)).rows.size).toBe(0);
  await first.close();
  await supersede(store, OTHER, SOURCE, lock);
  expect(await staleImportOf(store, OTHER, SOURCE)).toBeUndefined();
});

withServer('the server holds no address or key in the clear', async () => {
  const journal = await new Machine().acquire();
  await journal.recordBaseline(['7']);
  const keys = [...(await server.command('KEYS', '*')).matchAll(/petstore:\S+/g)].map(([key]) => key);
  expect(keys.length).toBeGreaterThan(1);
  const streams = keys.filter((key) => key.includes(':import:'));
  const dump = await Promise.all(streams.map((key) => server.command('XRANGE', key, '-', '+')));
  expect(keys.join() + dump.join()).not.toMatch(/secret/);
});
