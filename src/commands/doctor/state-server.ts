// The checks of `petstore doctor` for the state server: it responds, permits all commands, and persists its data.
import type { StateServer } from '../../append-log/state-server.ts';
import type { Session } from '../../session.ts';
import type { Check } from './check.ts';
import { attempt, ok, skipped } from './check.ts';

// Every command that the ledger and the journals use.
const COMMANDS = `
local log, set, scores = KEYS[1], KEYS[2], KEYS[3]
redis.call('TIME')
redis.call('XADD', log, '*', 'r', '')
redis.call('XRANGE', log, '-', '+')
redis.call('XLEN', log)
redis.call('EXISTS', log)
redis.call('ZADD', scores, 1, 'a')
redis.call('ZSCORE', scores, 'a')
redis.call('ZREMRANGEBYSCORE', scores, '-inf', 0)
redis.call('SADD', set, 'a')
redis.call('SMEMBERS', set)
for i = 1, 3 do
  redis.call('PEXPIRE', KEYS[i], 1000)
  redis.call('DEL', KEYS[i])
end`;

/** Returns no checks where no state server is configured. */
export async function checkStateServer(session: Session): Promise<readonly Check[]> {
  const { clock, env } = session.context;
  if (!env['PETSTORE_STATE_URL']) return [];
  let server: StateServer | undefined;
  const reached = await attempt('State server', async () => {
    const { openStateServer } = await import('../../session-services.ts');
    const { script } = await import('../../append-log/valkey-connection.ts');
    server = await openStateServer(session);
    if (!server) return skipped('State server', 'not configured');
    const since = clock.monotonic();
    const keys = ['log', 'set', 'scores'].map((name) => `petstore:{doctor}:${name}`);
    await server.checked((connection) => connection.run(script(COMMANDS), keys, []));
    const took = `responded in ${Math.round(clock.monotonic() - since)} ms`;
    return ok('State server', `${server.name}, ${server.tls ? 'TLS' : 'no TLS'}, all commands permitted, ${took}`);
  });
  const kept = await attempt('Persistence', async () => {
    if (!server || reached.status === 'failed') return skipped('Persistence', 'State server failed');
    return persistence(await server.checked((connection) => connection.info()));
  });
  server?.close();
  return [reached, kept];
}

function persistence(info: ReadonlyMap<string, string>): Check {
  if (info.get('aof_enabled') === '1') return ok('Persistence', 'append-only file on');
  const detail = 'append-only file off: an import may lose records when the server restarts';
  return { name: 'Persistence', status: 'warning', detail, remedy: 'set `appendonly yes` and `appendfsync always`' };
}
