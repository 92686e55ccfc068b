// The connection to the state server: each failure of the server causes an error, and no call hangs.
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { StateServer } from '../../src/shared-log/state-server.ts';
import type { StateServerError } from '../../src/shared-log/state-server-error.ts';
import { connectionError, replyError } from '../../src/shared-log/state-server-error.ts';
import type { StateServerConnection } from '../../src/shared-log/state-url.ts';
import { parseStateUrl } from '../../src/shared-log/state-url.ts';
import { needs } from '../support/capabilities.ts';
import { FakeClock, ManualClock } from '../support/fake-clock.ts';
import { until } from '../support/processes.ts';
import { RedisServer } from '../support/redis-server.ts';
import { scriptedRedis } from '../support/scripted-redis.ts';

const withServer = needs('redis');
const PING = "return {'pong', KEYS[1], ARGV[1]}";
const WITHIN_MS = 200;
const SETTINGS = { url: 'stateUrl', password: 'statePassword' };

function client(port: number, more: Partial<StateServerConnection> = {}, clock = new FakeClock()): StateServer {
  const connection = { ...parseStateUrl(`redis://127.0.0.1:${port}`, undefined, SETTINGS), ...more };
  const server = new StateServer({ connection, clock, timeoutMs: WITHIN_MS });
  onTestFinished(() => server.close());
  return server;
}

async function scripted(respond: Parameters<typeof scriptedRedis>[0]) {
  const server = await scriptedRedis(respond);
  onTestFinished(() => server.close());
  return server;
}

function failure(server: StateServer): Promise<string> {
  return ping(server).then(
    () => 'no failure',
    ({ problem, message }: StateServerError) => `${problem}: ${message}`,
  );
}

const ping = (server: StateServer): Promise<unknown> => server.run(PING, 'key', ['x']);

const AGAIN = 'try again when the state server is available';
const CHECK_USER = 'check statePassword and the user in stateUrl';
const GRANT = 'grant the user in stateUrl ~petstore:* +eval +info +time +exists +del +pexpire +xadd +xrange +xlen';

test.each([
  ['LOADING Redis is loading the dataset in memory', 'unavailable: it is loading its data', AGAIN],
  ['OOM command not allowed', 'unavailable: it is out of memory', 'increase maxmemory on the state server'],
  ['MISCONF Redis is configured', 'unavailable: it cannot save to disk', 'free some disk space on the state server'],
  ['NOREPLICAS Not enough good replicas to write.', 'unavailable: it has too few replicas', AGAIN],
  ['ERR max number of clients reached', 'unavailable: it has too many connections', AGAIN],
  ["NOPERM this user has no permissions to run the 'eval' command", 'rejected: permission denied', GRANT],
  ['NOAUTH Authentication required.', 'rejected: it requires a password', 'set statePassword'],
  ['WRONGPASS invalid', 'rejected: user name or password rejected', CHECK_USER],
  ['WRONGTYPE', 'rejected: another program uses its key in the database', 'name another database in stateUrl'],
  ['ERR DB index is out of range', 'rejected: it has no database 0', 'correct the number at the end of stateUrl'],
  ['ERR unknown command', 'rejected: ERR unknown command', 'correct stateUrl'],
  ['READONLY replica', 'unavailable: it is a read-only replica', AGAIN],
  ['MASTERDOWN Link with MASTER is down', 'unavailable: it is a read-only replica', AGAIN],
  ['BUSY Redis is busy running a script', 'unavailable: it is running a slow script', AGAIN],
  ['CLUSTERDOWN The cluster is down', 'unavailable: its cluster is down', AGAIN],
  ['TRYAGAIN Multiple keys request', 'unavailable: its cluster is down', AGAIN],
  ['ERR invalid password', 'rejected: user name or password rejected', CHECK_USER],
  ['ERR AUTH <password> called', 'rejected: user name or password rejected', CHECK_USER],
  ["ERR can't run this command", 'rejected: permission denied', GRANT],
])('the error reply "%s" is reported as "%s" with the hint "%s"', async (reply, expected, hint) => {
  const server = await scripted((_command, socket) => socket.write(`-${reply}\r\n`));
  const state = client(server.port);
  for (let times = 0; times < 2; times++) expect(await failure(state)).toBe(expected);
  // After a failover, a new connection may reach the new primary.
  expect(server.connections()).toBe(reply.startsWith('READONLY') ? 2 : 1);
  const error: unknown = await ping(state).catch((thrown: unknown) => state.toPetstoreError(thrown));
  const kind = expected.startsWith('rejected') ? 'usage' : 'storage';
  expect(error).toMatchObject({ kind, hint });
});

test('revoking a permission after the first reply causes a storage error, since requests may have been sent', async () => {
  const replies = ['+OK', '-NOPERM'];
  const server = await scripted((_command, socket) => socket.write(`${replies.shift()}\r\n`));
  const state = client(server.port);
  expect(await ping(state)).toBe('OK');
  const error: unknown = await ping(state).catch((thrown: unknown) => state.toPetstoreError(thrown));
  expect(error).toMatchObject({ kind: 'storage', message: expect.stringContaining('permission denied') });
});

test('hints about a state server use the given names of its settings, and its name shows IPv6 addresses in brackets', () => {
  expect(client(6379, { host: '::1' }).name).toBe('[::1]:6379');
  const error = replyError(new Error('WRONGPASS'), 0);
  expect(error.hint(SETTINGS)).toBe('check statePassword and the user in stateUrl');
  const variables = { url: 'PETSTORE_STATE_URL', password: 'PETSTORE_STATE_PASSWORD' };
  expect(error.hint(variables)).toBe('check PETSTORE_STATE_PASSWORD and the user in PETSTORE_STATE_URL');
});

test.each<[string, string, (socket: Socket) => unknown]>([
  ['responds in HTTP', 'it is not a Valkey or Redis server', (socket) => socket.end('HTTP/1.1 400 Bad\r\n\r\n')],
  ['closes the connection', 'connection closed', (socket) => socket.destroy()],
  ['does not respond', 'timed out', () => undefined],
])(
  'a state server that %s is reported as "unavailable: %s", and no command is resent',
  async (_what, reason, respond) => {
    const server = await scripted((_command, socket) => respond(socket));
    expect(await failure(client(server.port))).toBe(`unavailable: ${reason}`);
    expect([server.commands, server.connections()]).toEqual([['EVAL'], 1]);
  },
);

withServer(
  'a state server runs scripts and rejects a missing password, an unknown user and an unknown database',
  async () => {
    await using server = await RedisServer.start({ args: ['--requirepass', 'pässword'] });
    const password = 'pässword';
    expect(await ping(client(server.port, { password }))).toEqual(['pong', 'key', 'x']);
    expect(await failure(client(server.port))).toBe('rejected: it requires a password');
    const unknownUser = client(server.port, { username: 'ann', password });
    expect(await failure(unknownUser)).toBe('rejected: user name or password rejected');
    expect(await failure(client(server.port, { password, database: 99 }))).toBe('rejected: it has no database 99');
  },
);

test('if the TLS handshake with a state server times out, the hint suggests redis://', async () => {
  const server = await scripted(() => undefined);
  const error = await ping(client(server.port, { tls: true })).catch((thrown: StateServerError) => thrown);
  expect(error).toMatchObject({ message: 'the TLS handshake timed out' });
  expect((error as StateServerError).hint?.(SETTINGS)).toBe('use redis:// in stateUrl if the server does not use TLS');
});

test.each([
  ['ECONNREFUSED', 'connection refused', undefined],
  ['ENOTFOUND', 'host not found', 'correct stateUrl'],
  ['EAI_AGAIN', 'name resolution is unavailable', "check this machine's network connection"],
  ['EHOSTUNREACH', 'no route to the host', undefined],
  ['ENETUNREACH', 'no route to the host', undefined],
  ['CERT_HAS_EXPIRED', 'its certificate is not trusted', expect.stringContaining('NODE_EXTRA_CA_CERTS')],
])('a connection that fails with %s is reported as "%s"', (code, message, hint) => {
  const error = connectionError(Object.assign(new Error('connect'), { code }));
  expect([error.message, error.hint?.(SETTINGS)]).toEqual([message, hint]);
});

test('when a connection is closed, a call without a reply is rejected immediately, and a later call does not connect again', async () => {
  const server = await scripted((_command, socket) =>
    server.commands.length === 1 ? socket.write('+OK\r\n') : undefined,
  );
  const clock = new ManualClock();
  const state = client(server.port, {}, clock);
  await ping(state);
  const rejected = failure(state);
  await until(() => server.commands.length === 2);
  state.close();
  expect(await rejected).toBe('unavailable: connection closed');
  expect(await failure(state)).toBe('unavailable: connection closed');
  expect([server.connections(), clock.slept]).toEqual([1, []]);
});
