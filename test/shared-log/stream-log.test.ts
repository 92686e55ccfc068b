// The stream log: all writers derive the same state, despite rotations, deletions and restarts.
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { LogFormat } from '../../src/shared-log/log.ts';
import { StateServer } from '../../src/shared-log/state-server.ts';
import { parseStateUrl } from '../../src/shared-log/state-url.ts';
import type { StreamOptions } from '../../src/shared-log/stream-log.ts';
import { ServerClock, StreamLog } from '../../src/shared-log/stream-log.ts';
import { needs } from '../support/capabilities.ts';
import { FakeClock, ManualClock } from '../support/fake-clock.ts';
import { RedisServer, SERVER_PROGRAMS } from '../support/redis-server.ts';
import { scriptedRedis } from '../support/scripted-redis.ts';

const withServer = needs('redis');

// The order of records is the state, so any divergence shows.
const words: LogFormat<string[]> = {
  initial: () => [],
  apply: (state, record) => void state.push(record),
  snapshot: (state) => state,
};

function stateServer(
  server: Pick<RedisServer, 'url'>,
  clock = systemClock,
  onOutage?: (text: string) => void,
): StateServer {
  const connection = parseStateUrl(server.url, undefined, { url: 'X', password: 'Y' });
  const made = new StateServer({ connection, clock, onOutage, timeoutMs: 10_000 });
  onTestFinished(() => made.close());
  return made;
}

const KEY = 'petstore:{test}:log';

function writer(server: StateServer, more: Partial<StreamOptions<string[]>> = {}): StreamLog<string[]> {
  const options = { key: KEY, ttlMs: 60_000, clock: systemClock, freshMs: 1500, rotateAt: 1e6 };
  return new StreamLog(words, { server, ...options, ...more });
}

async function append(log: StreamLog<string[]>, record: string): Promise<readonly string[]> {
  await log.append(record);
  return log.cached();
}

withServer.each(SERVER_PROGRAMS)(
  'eight writers on %s derive the same state, and each rotation is made by only one of them',
  async (program) => {
    await using server = await RedisServer.start({ program });
    const writers = Array.from({ length: 8 }, () => writer(stateServer(server), { rotateAt: 20 }));
    await Promise.all(
      writers.map(async (log, at) => {
        for (let count = 0; count < 50; count++)
          expect(await append(log, `${at}.${count}`)).toContain(`${at}.${count}`);
      }),
    );
    const stats = await server.command('INFO', 'commandstats');
    const calls = (command: string): number => Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1]);
    // One call for each record, and one for each rotation.
    expect(calls('del')).toBeGreaterThan(10);
    expect(calls('eval')).toBeLessThanOrEqual(400 + 400 / 19);
    const states = await Promise.all([...writers, writer(stateServer(server))].map((log) => log.refresh()));
    for (const state of states) expect(state).toEqual(states[0]);
    expect(new Set(states[0]).size).toBe(400);
    expect(Number((await server.command('XLEN', KEY)).slice(1))).toBeLessThan(60);
  },
);

withServer(
  'each record and each rotation, even a late one, sets the time to live of a log on a state server',
  async () => {
    await using server = await RedisServer.start();
    const [killed, log] = [writer(stateServer(server)), writer(stateServer(server), { rotateAt: 2 })];
    for (const record of ['a', 'b']) await killed.append(record);
    const keptMs = async (): Promise<number> => Number((await server.command('PTTL', KEY)).slice(1));
    for (const record of ['first', 'second, which rotates the log']) {
      await log.append(record);
      expect(await keptMs()).toBeGreaterThan(50_000);
      expect(await keptMs()).toBeLessThanOrEqual(60_000);
    }
    expect(await server.command('XRANGE', KEY, '-', '+')).toContain(
      '["a","b","first","second, which rotates the log"]',
    );
  },
);

withServer('concurrent calls of one process apply each record once', async () => {
  await using server = await RedisServer.start();
  const log = writer(stateServer(server));
  await log.append('a');
  await Promise.all(['b', 'c', 'd'].map((record) => log.append(record)));
  expect(log.cached()).toEqual(['a', 'b', 'c', 'd']);
});

withServer.each([
  ['9-0', '10-0'],
  ['5-9', '5-10'],
])('a reader that knows entry %s reduces entry %s, since ids are compared as numbers', async (...ids) => {
  await using server = await RedisServer.start();
  const log = writer(stateServer(server));
  for (const id of ids) {
    await server.command('XADD', KEY, id, 't', '1', 'r', id);
    await log.refresh();
  }
  expect(log.cached()).toEqual(ids);
});

withServer('a deleted log is restored by any process that has read it, and no state diverges', async () => {
  await using server = await RedisServer.start();
  const writers = Array.from({ length: 6 }, () => writer(stateServer(server), { rotateAt: 15 }));
  for (let round = 0; round < 15; round++) {
    const appended = writers.map((log, at) => log.append(`${round}.${at}`));
    if (round % 3 === 1) await server.command('DEL', KEY);
    if (round % 3 === 2) await server.command('SCRIPT', 'FLUSH');
    await Promise.all(appended);
  }
  const states = await Promise.all(writers.map((log) => log.refresh()));
  for (const state of states) expect(state).toEqual(states[0]);
  expect(states[0]?.filter((record) => record.startsWith('14.')).length).toBe(6);
});

withServer('a log that a state server has lost begins again with all records that the next writer knows', async () => {
  await using server = await RedisServer.start();
  const log = writer(stateServer(server));
  for (const record of ['a', 'b']) await log.append(record);
  await server.command('FLUSHALL');
  expect(await append(log, 'c')).toEqual(['a', 'b', 'c']);
  expect(await writer(stateServer(server)).refresh()).toEqual(['a', 'b', 'c']);
});

withServer(
  'a reader whose last entry has other content on the state server reads the log again from the start',
  async () => {
    await using server = await RedisServer.start();
    const other = writer(stateServer(server));
    const onReset = vi.fn<NonNullable<StreamOptions<string[]>['onReset']>>();
    const clock = new ManualClock(Date.now() - 3_600_000);
    const log = writer(stateServer(server), { onReset, clock });
    await other.append('a');
    await log.append('b');
    // Simulate a failover that lost the last record and reused its id.
    const ids = [...(await server.command('XRANGE', KEY, '-', '+')).matchAll(/\d{13}-\d+/g)];
    const last = ids.at(-1)?.[0] ?? '';
    await server.command('DEL', KEY);
    await server.command('XADD', KEY, last, 't', '1', 'r', 'c');
    expect(await append(log, 'd')).toEqual(['c', 'd']);
    expect(onReset.mock.calls).toEqual([[['a', 'b'], clock.at + log.clockOffsetMs]]);
  },
);

withServer("records have the state server's time, and a reply shows the offset of the server's clock", async () => {
  await using server = await RedisServer.start();
  const apply = vi.fn<LogFormat<undefined>['apply']>();
  const clock = new ManualClock(Date.now() - 3_600_000);
  const options = { server: stateServer(server), key: KEY, clock, ttlMs: 60_000, freshMs: 1500, rotateAt: 1e6 };
  const log = new StreamLog<undefined>({ initial: () => undefined, apply, snapshot: () => [] }, options);
  expect(log.clockOffsetMs).toBe(0);
  await log.append('a');
  expect(apply.mock.lastCall).toEqual([undefined, 'a', clock.at + log.clockOffsetMs]);
  expect(Math.round(log.clockOffsetMs / 60_000)).toBe(60);
});

test('a reply that took more than a second does not change the clock offset, but setting the clock back does', () => {
  const clock = new ManualClock(1000);
  const server = new ServerClock(clock);
  server.read(61_000, server.moment);
  expect(server.offsetMs).toBe(60_000);
  for (const tookMs of [1000, 1001]) {
    const { moment } = server;
    clock.at += tookMs;
    server.read(61_000, moment);
    expect(server.offsetMs).toBe(59_500);
  }
  clock.at -= 101_001;
  expect(server.offsetMs).toBe(159_500);
});

test('the first reply of a state server sets the clock offset even if it took more than a second', async () => {
  const clock = new ManualClock(1000);
  const server = new ServerClock(clock);
  const sentAt = server.moment;
  await clock.advance(3000);
  server.read(62_500, sentAt);
  expect(server.offsetMs).toBe(60_000);
});

// A jump ahead may be a suspension of this machine.
test.each([
  [-3_600_000, 30_000],
  [20_000, 10_000],
])('if the wall clock jumps by %i ms, a reply with a maximum age of 30 s stays fresh for %i ms', async (ms, leftMs) => {
  const clock = new ManualClock();
  const server = new ServerClock(clock);
  server.read(0, server.moment);
  clock.at += ms;
  await clock.advance(leftMs);
  expect(server.isFresh(30_000)).toBe(true);
  await clock.advance(1);
  expect(server.isFresh(30_000)).toBe(false);
});

test.each(['before', 'during'])(
  'if the wall clock is set back by 600 s %s a slow round trip, the clock offset grows by exactly 600 s',
  async (when) => {
    const clock = new ManualClock();
    const server = new ServerClock(clock);
    server.read(5000, server.moment);
    if (when === 'before') clock.at -= 600_000;
    const sentAt = server.moment;
    await clock.advance(1500);
    if (when === 'during') clock.at -= 600_000;
    server.read(7000, sentAt);
    expect(server.offsetMs).toBe(605_000);
  },
);

const bulk = (text: string): string => `$${text.length}\r\n${text}\r\n`;
const array = (...items: string[]): string => `*${items.length}\r\n${items.join('')}`;
const reply = (is: string, ...entries: string[]): string =>
  array(bulk('1795262400000'), bulk(is), ':1\r\n', array(...entries));

test.each([
  ['that the log is lost', reply('lost')],
  ['without the record', reply('unknown')],
  ['with another record', reply('known', array(bulk('1-1'), array(bulk('t'), bulk('1'), bulk('r'), bulk('another'))))],
])('if a state server replies to each append %s, it is reported as unavailable without a wait', async (_how, bytes) => {
  const server = await scriptedRedis((_command, socket) => socket.write(bytes));
  const clock = new FakeClock();
  onTestFinished(() => server.close());
  const state = stateServer({ url: `redis://127.0.0.1:${server.port}` }, clock);
  const error = { problem: 'unavailable', message: 'it keeps no data' };
  await expect(writer(state, { clock }).append('a')).rejects.toMatchObject(error);
  expect([clock.slept, server.commands.length <= 3]).toEqual([[], true]);
});

withServer(
  'a state server that responded before is retried for 5 s in each outage, and each outage is reported once',
  async () => {
    await using server = await RedisServer.start();
    const clock = new FakeClock();
    const outages: string[] = [];
    const log = writer(stateServer(server, clock, (text) => outages.push(text)));
    for (const endsAt of [15_000, 30_000]) {
      await log.append('a');
      await clock.sleep(10_000);
      await server.kill();
      await expect(log.append('b')).rejects.toThrow('connection refused');
      expect(clock.monotonic()).toBe(endsAt);
      await server.start();
    }
    const outage =
      /^cannot use state server 127\.0\.0\.1:\d+ \(connection (?:closed|refused)\); retrying for up to 5s$/;
    expect(outages).toEqual(Array(2).fill(expect.stringMatching(outage)));
  },
);

const parsed = (url: string) => parseStateUrl(url, undefined, { url: 'X', password: 'Y' });

test.each<[string, object]>([
  ['redis://host', { host: 'host', port: 6379, tls: false, database: 0 }],
  ['rediss://user@host:6380/3', { host: 'host', port: 6380, tls: true, username: 'user', database: 3 }],
  ['valkeys://user:p%40ss@host/', { tls: true, username: 'user', password: 'p@ss' }],
  ['valkey://[::1]:7000', { host: '::1', port: 7000, tls: false }],
  ['redis://h/9999', { database: 9999 }],
])('the state server URL %s is parsed', (url, expected) => {
  expect(parsed(url)).toMatchObject(expected);
});

test.each([
  ['http://u:secret@host', /^X must be a redis:/],
  ['redis://u:secret@', /^X (?!.*secret)/],
  ['redis://u:secret@h/foo', /^invalid database number "foo" in X$/],
  ['redis://u:secret@h/10000', /^invalid database number "10000" in X$/],
  ['redis://u:6379/secret@h', /^X has an unescaped slash before the host$/],
  ['redis://u:secret@h/0?a=1', /^X (?!.*secret)/],
  ['redis://u:secret@h/0#a', /^X (?!.*secret)/],
  ['redis:///0', /^X has no host$/],
  ['redis://%zz:secret@h', /^X (?!.*secret)/],
])('the state server URL %s is rejected, and the error shows no password', (url, message) => {
  expect(() => parsed(url)).toThrow(message);
});

test('if the password in a state server URL contains a slash, the hint says to escape it', () => {
  const hint = 'write the slash as %2F';
  expect(() => parsed('redis://u:6379/secret@h')).toThrow(expect.objectContaining({ hint }));
});

test.each([
  ['a separate password', 'two', 'two'],
  ['an empty separate password', 'one', ''],
  ['no separate password', 'one', undefined],
])('with redis://u:one@h and %s, the password "%s" is used', (_how, used, password) => {
  expect(parseStateUrl('redis://u:one@h', password, { url: 'X', password: 'Y' }).password).toBe(used);
});
