// The connection to the state server: each failure of the server is an error, and none hangs.
import type { Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { StateServer } from '../../src/append-log/state-server.ts';
import type { ServerAddress } from '../../src/append-log/valkey-connection.ts';
import { StateServerError, ValkeyConnection } from '../../src/append-log/valkey-connection.ts';
import { systemClock } from '../../src/clock.ts';
import { hasStateServer, RedisServer } from '../support/redis-server.ts';
import { scriptedRedis } from '../support/scripted-redis.ts';

const withServer = test.runIf(hasStateServer);
const PING = "return {'pong', KEYS[1], ARGV[1]}";
const WITHIN_MS = 200;

const open: { close(): void }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

function address(port: number, more: Partial<ServerAddress> = {}): ServerAddress {
  const plain = { host: '127.0.0.1', port, tls: false, username: undefined, password: undefined, database: 0 };
  return { ...plain, ...more };
}

async function connected(port: number, more: Partial<ServerAddress> = {}): Promise<ValkeyConnection> {
  const connection = await ValkeyConnection.open(address(port, more), WITHIN_MS);
  open.push(connection);
  return connection;
}

async function scripted(respond: Parameters<typeof scriptedRedis>[0]) {
  const server = await scriptedRedis(respond);
  open.push(server);
  return server;
}

async function failure(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
  } catch (error) {
    if (error instanceof StateServerError) return `${error.problem}: ${error.message}`;
    throw error;
  }
  return 'no failure';
}

const ping = (connection: ValkeyConnection): Promise<unknown> => connection.run(PING, 'key', ['x']);

test.each([
  ['LOADING Redis is loading the dataset in memory', 'unavailable: LOADING Redis is loading the dataset in memory'],
  ["OOM command not allowed when used memory > 'maxmemory'.", 'unavailable: OOM'],
  ['MISCONF Redis is configured to save RDB snapshots', 'unavailable: MISCONF'],
  ['NOREPLICAS Not enough good replicas to write.', 'unavailable: NOREPLICAS'],
  ['ERR max number of clients reached', 'unavailable: ERR max number of clients reached'],
  ["NOPERM this user has no permissions to run the 'eval' command", 'rejected: permission denied'],
  ['NOAUTH Authentication required.', 'rejected: user name or password rejected'],
  ['ERR unknown command', 'rejected: ERR unknown command'],
  // After a failover a new connection may reach the new primary.
  ['READONLY replica', 'unavailable: READONLY replica'],
])('the error reply "%s" is reported as %s, and only READONLY closes the connection', async (reply, expected) => {
  const server = await scripted((_command, socket) => socket.write(`-${reply}\r\n`));
  const connection = await connected(server.port);
  expect(await failure(() => ping(connection))).toContain(expected);
  expect(connection.open).toBe(!reply.startsWith('READONLY'));
});

test.each<[string, string, (socket: Socket) => unknown]>([
  [
    'responds in another protocol',
    'it is not a Valkey or Redis server',
    (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
  ],
  ['does not respond', 'timed out', () => undefined],
])('a server that %s is unavailable (%s), and no command is resent', async (_what, reason, respond) => {
  const server = await scripted((_command, socket) => respond(socket));
  const connection = await connected(server.port);
  expect(await failure(() => ping(connection))).toBe(`unavailable: ${reason}`);
  expect(connection.open).toBe(false);
  expect(await failure(() => ping(connection))).toMatch(/^unavailable: /);
  expect([server.commands, server.connections()]).toEqual([['EVAL'], 1]);
});

withServer('a server runs scripts and rejects a missing password and an unknown database', async () => {
  await using server = await RedisServer.start({ args: ['--requirepass', 'pässword'] });
  const admin = await connected(server.port, { password: 'pässword' });
  expect(await ping(admin)).toEqual(['pong', 'key', 'x']);
  expect((await admin.info()).get('run_id')).toMatch(/^[0-9a-f]{40}$/);
  expect(await failure(async () => ping(await connected(server.port)))).toMatch(/^rejected: .*password/);
  const wrong = { password: 'pässword', database: 99 };
  expect(await failure(() => connected(server.port, wrong))).toBe('rejected: ERR DB index is out of range');
});

withServer(
  'a suspended or killed server is unavailable within the timeout, and a restarted one is usable again',
  async () => {
    await using server = await RedisServer.start();
    const first = await connected(server.port);
    await ping(first);
    server.suspend();
    expect(await failure(() => ping(first))).toBe('unavailable: timed out');
    server.resume();
    const second = await connected(server.port);
    const waiting = failure(() => second.run('while true do end', 'key', []));
    await server.kill();
    expect(await waiting).toMatch(/^unavailable: /);
    expect(await failure(() => ping(second))).toMatch(/^unavailable: /);
    await server.start();
    expect(await ping(await connected(server.port))).toEqual(['pong', 'key', 'x']);
  },
);

const password = 'user name or password rejected';
test.each([
  ['PETSTORE_STATE_URL', password, 'check PETSTORE_STATE_PASSWORD and the user in PETSTORE_STATE_URL'],
  ['stateUrl', password, 'check statePassword and the user in stateUrl'],
  ['stateUrl', 'permission denied', 'grant the user in stateUrl the permissions that docs/fleet.md lists'],
  ['stateUrl', 'ERR DB index is out of range', 'correct the number at the end of stateUrl'],
  ['PETSTORE_STATE_URL', 'ERR unknown command', 'correct PETSTORE_STATE_URL'],
])('the hint about a server from %s with the error "%s" is: %s', (from, error, hint) => {
  const server = new StateServer({ address: address(1, { from }), clock: systemClock });
  expect(server.toPetstoreError(new StateServerError(error, 'rejected'))).toMatchObject({ kind: 'usage', hint });
});
