// The connection to the state server: each failure of the server is an error, and none hangs.
import type { Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { StateServer } from '../../src/append-log/state-server.ts';
import { StateServerError } from '../../src/append-log/state-server-error.ts';
import type { ServerAddress } from '../../src/append-log/state-url.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { until } from '../support/processes.ts';
import { hasStateServer, RedisServer } from '../support/redis-server.ts';
import { scriptedRedis } from '../support/scripted-redis.ts';

const withServer = test.runIf(hasStateServer);
const PING = "return {'pong', KEYS[1], ARGV[1]}";
const WITHIN_MS = 200;

const open: { close(): void }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

function client(port: number, more: Partial<ServerAddress> = {}, clock = new FakeClock()): StateServer {
  const plain = {
    host: '127.0.0.1',
    port,
    tls: false,
    username: undefined,
    password: undefined,
    database: 0,
    from: 'X',
  };
  const server = new StateServer({ address: { ...plain, ...more }, clock, timeoutMs: WITHIN_MS });
  open.push(server);
  return server;
}

async function scripted(respond: Parameters<typeof scriptedRedis>[0]) {
  const server = await scriptedRedis(respond);
  open.push(server);
  return server;
}

async function failure(server: StateServer): Promise<string> {
  try {
    await ping(server);
  } catch (error) {
    if (error instanceof StateServerError) return `${error.problem}: ${error.message}`;
    throw error;
  }
  return 'no failure';
}

const ping = (server: StateServer): Promise<unknown> => server.run(PING, 'key', ['x']);

test.each([
  ['LOADING Redis is loading the dataset in memory', 'unavailable: LOADING Redis is loading the dataset in memory'],
  ["OOM command not allowed when used memory > 'maxmemory'.", 'unavailable: OOM'],
  ['MISCONF Redis is configured to save RDB snapshots', 'unavailable: MISCONF'],
  ['NOREPLICAS Not enough good replicas to write.', 'unavailable: NOREPLICAS'],
  ['ERR max number of clients reached', 'unavailable: ERR max number of clients reached'],
  ["NOPERM this user has no permissions to run the 'eval' command", 'rejected: permission denied'],
  ['NOAUTH Authentication required.', 'rejected: user name or password rejected'],
  ['WRONGTYPE Operation against a key', 'rejected: another program uses a key of its name'],
  ['ERR unknown command', 'rejected: ERR unknown command'],
  // After a failover a new connection may reach the new primary.
  ['READONLY replica', 'unavailable: READONLY replica'],
])('the error reply "%s" is reported as %s, and only READONLY closes the connection', async (reply, expected) => {
  const server = await scripted((_command, socket) => socket.write(`-${reply}\r\n`));
  const state = client(server.port);
  for (let times = 0; times < 2; times++) expect(await failure(state)).toContain(expected);
  expect(server.connections()).toBe(reply.startsWith('READONLY') ? 2 : 1);
});

test.each<[string, string, (socket: Socket) => unknown]>([
  [
    'responds in another protocol',
    'it is not a Valkey or Redis server',
    (socket) => socket.end('HTTP/1.1 400 Bad\r\n\r\n'),
  ],
  ['closes the connection', 'connection closed', (socket) => socket.destroy()],
  ['does not respond', 'timed out', () => undefined],
])('a server that %s is unavailable (%s), and no command is resent', async (_what, reason, respond) => {
  const server = await scripted((_command, socket) => respond(socket));
  expect(await failure(client(server.port))).toBe(`unavailable: ${reason}`);
  expect([server.commands, server.connections()]).toEqual([['EVAL'], 1]);
});

withServer('a server runs scripts and rejects a missing password and an unknown database', async () => {
  await using server = await RedisServer.start({ args: ['--requirepass', 'pässword'] });
  const password = 'pässword';
  expect(await ping(client(server.port, { password }))).toEqual(['pong', 'key', 'x']);
  expect(await failure(client(server.port))).toMatch(/^rejected: .*password/);
  expect(await failure(client(server.port, { password, database: 99 }))).toBe('rejected: ERR DB index is out of range');
});

withServer('a suspended server is unavailable within the timeout', async () => {
  await using server = await RedisServer.start();
  server.suspend();
  expect(await failure(client(server.port))).toBe('unavailable: timed out');
});

const password = 'user name or password rejected';
test.each([
  ['PETSTORE_STATE_URL', password, 'check PETSTORE_STATE_PASSWORD and the user in PETSTORE_STATE_URL'],
  ['stateUrl', password, 'check statePassword and the user in stateUrl'],
  ['stateUrl', 'permission denied', 'grant the user in stateUrl the permissions that docs/fleet.md lists'],
  ['stateUrl', 'ERR DB index is out of range', 'correct the number at the end of stateUrl'],
  ['PETSTORE_STATE_URL', 'ERR unknown command', 'correct PETSTORE_STATE_URL'],
])('the hint about a server from %s with the error "%s" is: %s', (from, error, hint) => {
  const rejected = new StateServerError(error, 'rejected');
  expect(client(1, { from }).toPetstoreError(rejected)).toMatchObject({ kind: 'usage', hint });
});

test('closing the connection rejects a call without a reply immediately, and does not connect again', async () => {
  const server = await scripted((_command, socket) =>
    server.commands.length === 1 ? socket.write('+OK\r\n') : undefined,
  );
  const clock = FakeClock.manual();
  const state = client(server.port, {}, clock);
  await ping(state);
  const rejected = failure(state);
  await until(() => server.commands.length === 2);
  state.close();
  expect(await rejected).toBe('unavailable: connection closed');
  expect([server.connections(), clock.slept]).toEqual([1, []]);
});
