// The journal on a state server: one machine at a time imports, another can resume, and lost records create no row twice.
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { StateServer } from '../../src/append-log/state-server.ts';
import { parseStateUrl } from '../../src/append-log/state-url.ts';
import { StreamLog } from '../../src/append-log/stream-log.ts';
import type { LockOptions } from '../../src/import/journal.ts';
import { Journal } from '../../src/import/journal.ts';
import { formatRecord } from '../../src/import/journal-record.ts';
import { openServerJournal } from '../../src/import/journal-server.ts';
import { journalFormat } from '../../src/import/journal-state.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { hasStateServer, RedisServer } from '../support/redis-server.ts';

const withServer = test.runIf(hasStateServer);

const URL = 'https://secret.example/v1';
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];
const SETTLE_MS = 10_000;

let server: RedisServer;
beforeEach(async () => {
  server = await RedisServer.start({ args: DURABLE });
});
const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
  await server[Symbol.asyncDispose]();
});

/** A machine whose processes the others cannot look up. */
class Machine {
  readonly clock = new FakeClock();
  readonly warnings: string[] = [];
  readonly notices: string[] = [];
  /** What this machine knows of the process that holds the lock. */
  holder: 'dead' | 'unknown' = 'unknown';

  connect(at = server): StateServer {
    const address = parseStateUrl(at.url, undefined, 'PETSTORE_STATE_URL');
    const connection = new StateServer({ address, clock: this.clock, timeoutMs: 10_000 });
    open.push(connection);
    return connection;
  }

  async open(at = server): Promise<Journal> {
    const connection = this.connect(at);
    const journal = new Journal(
      await openServerJournal(URL, {
        server: connection,
        clock: this.clock,
        onWarning: (text) => void this.warnings.push(text),
        onSettle: (text) => void this.notices.push(text),
      }),
    );
    open.push({ close: () => journal.close().catch(() => undefined) });
    return journal;
  }

  get lock(): LockOptions {
    const self = { pid: 1, start: '', host: 'elsewhere' };
    return {
      clock: this.clock,
      signal: new AbortController().signal,
      processes: { self, livenessOf: () => this.holder },
    };
  }

  duringNextSleep(act: () => Promise<unknown>): void {
    const sleep = this.clock.sleep.bind(this.clock);
    this.clock.sleep = async (ms, signal) => {
      this.clock.sleep = sleep;
      await act();
      return sleep(ms, signal);
    };
  }

  async acquire(at = server): Promise<Journal> {
    const journal = await this.open(at);
    await journal.acquire(this.lock);
    return journal;
  }
}

const storage = (message: RegExp) =>
  expect.objectContaining({ kind: 'storage', exitCode: 9, message: expect.stringMatching(message) });

const namesIn = (values: Iterable<{ readonly name: string }>): string[] => [...values].map(({ name }) => name);
const uncertainNames = ({ account }: Journal): string[] => namesIn(account.uncertain.values());

async function keysOf(at: RedisServer): Promise<string[]> {
  return [...(await at.command('KEYS', '*')).matchAll(/petstore:\S+/g)].map(([key]) => key);
}

async function journalKey(at = server): Promise<string> {
  return (await keysOf(at)).find((key) => key.endsWith(':import')) ?? '';
}

withServer('an import killed on one machine is resumed on another after a minute without a record', async () => {
  const first = await new Machine().acquire();
  await first.recordKnown([['7', 'a']]);
  const dog = await first.recordSend('dog');
  await first.recordSend('cat');
  await first.recordCreated(dog, ['8', 'b']);
  const machine = new Machine();
  const second = await machine.acquire();
  expect(machine.clock.monotonic()).toBeGreaterThanOrEqual(60_000);
  expect([...second.account.known.keys()]).toEqual(['7']);
  expect(second.account.created.get('8')).toMatchObject({ name: 'dog', label: 'b' });
  expect(uncertainNames(second)).toEqual(['cat']);
});

withServer('a run that writes no record learns within 4 s that another run has the lock', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const first = await new Machine().acquire();
  await server.command('FLUSHALL');
  await new Machine().acquire();
  first.assertHeld();
  vi.advanceTimersByTime(4000);
  await vi.waitFor(() => expect(() => first.assertHeld()).toThrow(storage(/taken over/)));
});

withServer('a run whose records are not confirmed for 30 s sends nothing until they are', async () => {
  const machine = new Machine();
  const journal = await machine.acquire();
  const dog = await journal.recordSend('dog');
  journal.assertHeld();
  await machine.clock.advance(31_000);
  expect(() => journal.assertHeld()).toThrow(storage(/not confirmed for 30s: key "petstore:\S+" on state server/));
  await journal.recordAbsent(dog);
  journal.assertHeld();
});

withServer('a run restores the records that a flushed server lost, even if another machine noticed first', async () => {
  const [machine, other] = [new Machine(), new Machine()];
  const journal = await machine.acquire();
  await journal.recordKnown([['7', 'a']]);
  const ant = await journal.recordSend('ant');
  const waiting = await other.open();
  const patience = new AbortController();
  const sleep = other.clock.sleep.bind(other.clock);
  let looks = 0;
  other.clock.sleep = async (ms, signal) => {
    if (++looks === 2) {
      // Records that the other machine has not read yet.
      const [dog, cow] = [await journal.recordSend('dog'), await journal.recordSend('cow')];
      await journal.recordCreated(dog, ['8', 'b']);
      await journal.recordSlow(cow);
      await journal.recordAbsent(ant);
      await server.command('FLUSHALL');
    }
    if (looks === 4) {
      await journal.recordSend('cat');
      patience.abort(new Error('enough'));
    }
    return sleep(ms, signal);
  };
  await expect(waiting.acquire({ ...other.lock, signal: patience.signal })).rejects.toThrow('enough');
  expect(namesIn(journal.account.created.values())).toEqual(['dog']);
  expect(uncertainNames(journal).sort()).toEqual(['cat', 'cow']);
  const next = await new Machine().acquire();
  expect([...next.account.known.keys()]).toEqual(['7']);
  expect([...next.account.created.keys()]).toEqual(['8']);
  expect([...next.account.uncertain.values()].map(({ name, slow }) => [name, slow]).sort()).toEqual([
    ['cat', undefined],
    ['cow', true],
  ]);
});

withServer.each<[string, (journal: Journal, attempt: string) => Promise<unknown>]>([
  ['created', (journal, attempt) => journal.recordCreated(attempt, ['8', 'b'])],
  ['found', (journal, attempt) => journal.recordFound(attempt, ['8', 'b'])],
  ['absent', (journal, attempt) => journal.recordAbsent(attempt)],
])('an attempt whose "%s" record reveals a rotation is not sent again', async (_outcome, end) => {
  const machine = new Machine();
  const journal = await machine.acquire();
  const dog = await journal.recordSend('dog');
  await journal.recordSend('cat');
  const key = await journalKey();
  const rotating = { server: machine.connect(), clock: machine.clock, key, recentMs: 0, rotateAt: 1 };
  await new StreamLog(journalFormat, rotating).append(formatRecord(['beat', 'other']));
  expect(await server.command('XRANGE', key, '-', '+')).not.toContain('"send"');
  await end(journal, dog);
  // A run killed after such a record would leave an uncertain attempt beside its own category.
  expect(await server.command('XRANGE', key, '-', '+')).not.toContain('"send"');
  expect(uncertainNames(journal)).toEqual(['cat']);
});

withServer(
  "a run that waited for the lock trusts the previous run's records, and waits for requests whose records may be lost",
  async () => {
    const [first, other] = [await new Machine().acquire(), new Machine()];
    const dog = await first.recordSend('dog');
    const waiting = await other.open();
    other.duringNextSleep(async () => {
      await server.command('FLUSHALL');
      // The waiting run knew the dog and not the cat.
      await first.recordSend('cat');
      await first.recordAbsent(dog);
      await first.close();
    });
    await waiting.acquire(other.lock);
    await waiting.recordKnown([['7', 'a']]);
    expect(uncertainNames(waiting)).toEqual(['cat']);
    expect(other.notices).toEqual([expect.stringMatching(/may have lost the import journal; waiting 10s$/)]);
  },
);

withServer('a run that waited for the lock does not restore what the run before it recorded as deleted', async () => {
  const [first, other] = [await new Machine().acquire(), new Machine()];
  await first.recordFound(await first.recordSend('dog'), ['7', 'a']);
  const waiting = await other.open();
  other.duringNextSleep(async () => {
    await first.recordDeleted(['7']);
    await server.command('FLUSHALL');
    await first.recordKnown([['8', 'b']]);
    await first.close();
  });
  await waiting.acquire(other.lock);
  await waiting.restoreLost();
  await waiting.recordKnown([['9', 'c']]);
  expect([...waiting.account.created.keys()]).toEqual([]);
});

withServer(
  'a run that saw the journal vanish and its holder die waits for requests whose records are lost',
  async () => {
    const [first, other] = [await new Machine().acquire(), new Machine()];
    await first.recordSend('dog');
    const waiting = await other.open();
    other.duringNextSleep(async () => {
      await first.recordSend('cat');
      await server.command('FLUSHALL');
      other.holder = 'dead';
    });
    await waiting.acquire(other.lock);
    expect(uncertainNames(waiting)).toEqual(['dog']);
    expect(other.clock.monotonic()).toBeGreaterThanOrEqual(SETTLE_MS);
  },
);

withServer.each<[string, (at: RedisServer) => Promise<unknown>]>([
  ['was flushed', (at) => at.command('FLUSHALL')],
  [
    'was restarted',
    async (at) => {
      await at.kill();
      await at.start();
    },
  ],
])('a run waits for requests of earlier runs if the server %s in between', async (_what, harm) => {
  const first = await new Machine().acquire();
  await first.recordSend('dog');
  await first.close();
  const undisturbed = new Machine();
  await (await undisturbed.acquire()).close();
  expect([undisturbed.notices, undisturbed.clock.slept]).toEqual([[], []]);
  await harm(server);
  const machine = new Machine();
  await (await machine.acquire()).close();
  expect(machine.clock.monotonic()).toBeGreaterThan(0);
  expect(machine.clock.monotonic()).toBeLessThanOrEqual(SETTLE_MS);
  expect(machine.notices).toEqual([expect.stringMatching(/may have lost the import journal; waiting \d+s$/)]);
  const later = new Machine();
  await later.acquire();
  expect(later.notices).toEqual([]);
});

withServer('a running import restores the journal on a server that restarts without persistence', async () => {
  await using forgetful = await RedisServer.start();
  const journal = await new Machine().acquire(forgetful);
  await journal.recordSend('dog');
  await forgetful.kill();
  await forgetful.start();
  await journal.recordSend('cat');
  journal.assertHeld();
  expect(uncertainNames(await new Machine().acquire(forgetful))).toEqual(['dog', 'cat']);
});

withServer('the next run waits 10 s if the server evicted the journal', async () => {
  await using evicting = await RedisServer.start({ args: ['--maxmemory-policy', 'allkeys-random'] });
  const first = await new Machine().acquire(evicting);
  await first.recordSend('dog');
  await first.close();
  await evicting.command('CONFIG', 'SET', 'maxmemory', '1');
  await evicting.command('SET', 'x', 'y');
  await evicting.command('CONFIG', 'SET', 'maxmemory', '0');
  expect(await journalKey(evicting)).toBe('');
  const machine = new Machine();
  await machine.acquire(evicting);
  expect(machine.clock.monotonic()).toBe(SETTLE_MS);
});

withServer(
  'an unreachable server causes exit code 9, immediately at the start and after 5 s during a run',
  async () => {
    const machine = new Machine();
    const journal = await machine.acquire();
    await server.kill();
    const before = machine.clock.monotonic();
    await expect(journal.recordSend('dog')).rejects.toEqual(storage(/cannot use state server \S+: connection/));
    expect(machine.clock.monotonic() - before).toBeGreaterThanOrEqual(5000);
    const fresh = new Machine();
    await expect(fresh.open()).rejects.toEqual(storage(/connection refused/));
    expect(fresh.clock.monotonic()).toBe(0);
    await server.start();
  },
);

withServer('the journal on the server never expires and has no base URL in plain text', async () => {
  const journal = await new Machine().acquire();
  await journal.recordKnown([['7', 'a']]);
  await journal.recordSend('dog');
  const keys = await keysOf(server);
  expect(keys.length).toBe(2);
  const ends = await Promise.all(keys.map((key) => server.command('PTTL', key)));
  expect(ends).toEqual([':-1\r\n', ':-1\r\n']);
  expect(keys.join() + (await server.command('XRANGE', await journalKey(), '-', '+'))).not.toContain('secret');
});
