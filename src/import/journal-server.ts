// The journal of a base URL on a state server, for imports from several machines (docs/fleet.md).
import { createHash } from 'node:crypto';
import type { StateServer } from '../append-log/state-server.ts';
import { StreamLog } from '../append-log/stream-log.ts';
import { script } from '../append-log/valkey-connection.ts';
import type { Clock } from '../clock.ts';
import { sleepLong } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import { formatDuration } from '../format.ts';
import type { JournalLog } from './journal.ts';
import type { JournalState } from './journal-state.ts';
import { journalFormat } from './journal-state.ts';

const ROTATE_AT = 10_000;
/** Half of SILENCE_MS, after which another run takes over. */
const CONFIRMED_WITHIN_MS = 30_000;
/** How long a request of a killed run may be on its way. */
const SETTLE_MS = 10_000;
/** How often, in real time, a run reads the journal to notice a lost record or lock. */
const REFRESH_EVERY_MS = 4000;

// Returns whether the journal exists, whether this server process has served it, and whether that process ever flushed data.
const INSPECT = script(`
local flushed = string.find(redis.call('INFO', 'commandstats'), 'cmdstat_flush', 1, true)
return {redis.call('EXISTS', KEYS[1]), redis.call('ZSCORE', KEYS[2], ARGV[1]) and 1 or 0, flushed and 1 or 0}`);

const SET_EPOCH = script(`
redis.call('DEL', KEYS[1])
return redis.call('ZADD', KEYS[1], 1, ARGV[1])`);

export interface ServerJournalOptions {
  readonly server: StateServer;
  readonly clock: Clock;
  readonly onWarning: (text: string) => void;
  /** Called before a wait for requests whose records may be lost. */
  readonly onSettle: (text: string) => void;
}

/**
 * @param identity the target of the import: the base URL
 * @param options `server` is closed with the journal
 * @throws PetstoreError `storage` if the server cannot be reached, `usage` if it rejects the configuration
 */
export async function openServerJournal(identity: string, options: ServerJournalOptions): Promise<JournalLog> {
  const { server, clock, onWarning, onSettle } = options;
  const name = createHash('sha256').update(identity).digest('hex').slice(0, 32);
  const [key, epochKey] = [`petstore:{${name}}:import`, `petstore:{${name}}:import-epoch`];
  const label = `key "${key}" on state server ${server.name}`;
  const checked = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw server.toPetstoreError(error);
    });
  const info = await server.info();
  const epoch = info.get('run_id') ?? '';
  const [exists, isSameServer, flushed] = (await checked(server.run(INSPECT, [key, epochKey], [epoch]))) as number[];
  let settledAt = clock.monotonic() + (exists && isSameServer ? 0 : settleMs(info, !exists && !flushed));
  let refreshing: NodeJS.Timeout | undefined;
  let lost: JournalState | undefined;
  const onReset = (before: JournalState): void => {
    // Only the run that holds the lock knows every record. Another run waits for requests whose records may be lost.
    if (refreshing) lost ??= before;
    else settledAt = Math.max(settledAt, clock.monotonic() + SETTLE_MS);
  };
  const stream = { rotateAt: ROTATE_AT, recentMs: CONFIRMED_WITHIN_MS, onReset, onWarning };
  const log = new StreamLog(journalFormat, { server, clock, key, ...stream });
  return {
    last: () => log.last(),
    refresh: () => checked(log.refresh()),
    append: (record) => checked(log.append(record)),
    // The server decides how durable an appended record is.
    sync: () => Promise.resolve(),
    confirm() {
      if (log.recent()) return;
      throw new PetstoreError('storage', `the import journal was not confirmed for 30s: ${label}`, {
        hint: 'run the same command again to create the missing rows',
      });
    },
    async acquired(signal) {
      refreshing = setInterval(() => {
        log.refresh().catch(() => undefined);
      }, REFRESH_EVERY_MS).unref();
      const left = settledAt - clock.monotonic();
      if (left > 0) {
        onSettle(`state server ${server.name} may have lost the import journal; waiting ${formatDuration(left)}`);
        await sleepLong(clock, left, signal);
      }
      if (!isSameServer) await checked(server.run(SET_EPOCH, [epochKey], [epoch]));
    },
    takeLost() {
      const before = lost;
      lost = undefined;
      return before;
    },
    close() {
      clearInterval(refreshing);
      server.close();
    },
  };
}

// Returns how long requests whose records were lost may still be on their way. If only a restart can have lost them, they are
// older than the server's uptime.
function settleMs(info: ReadonlyMap<string, string>, isNew: boolean): number {
  const upMs = isNew && info.get('evicted_keys') === '0' ? Number(info.get('uptime_in_seconds') ?? 0) * 1000 : 0;
  return Math.max(0, SETTLE_MS - upMs);
}
