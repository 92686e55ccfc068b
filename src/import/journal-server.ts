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
/** Half of what makes a silent run count as dead. */
const CONFIRMED_WITHIN_MS = 30_000;
/** How long a request of a run that was killed may be on its way. */
const SETTLE_MS = 10_000;
/** A run learns this soon that another one has the lock, in case the server lost its own; real time. */
const LOOK_EVERY_MS = 4000;

// Whether the journal exists, whether it was used on this very server process, and whether data was ever deleted from that.
const LOOK = script(`
local flushed = string.find(redis.call('INFO', 'commandstats'), 'cmdstat_flush', 1, true)
return {redis.call('EXISTS', KEYS[1]), redis.call('ZSCORE', KEYS[2], ARGV[1]) and 1 or 0, flushed and 1 or 0}`);

const SET_EPOCH = script(`
redis.call('DEL', KEYS[1])
return redis.call('ZADD', KEYS[1], 1, ARGV[1])`);

export interface ServerJournalOptions {
  readonly server: StateServer;
  readonly clock: Clock;
  readonly onWarning: (text: string) => void;
  /** Called if records may be lost, before the wait for requests that they announced. */
  readonly onSettle: (text: string) => void;
}

/**
 * @param identity what the import writes to: the base URL
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
  const info = await server.checked((connection) => connection.info());
  const epoch = info.get('run_id') ?? '';
  const [exists, isSameServer, flushed] = (await checked(server.run(LOOK, [key, epochKey], [epoch]))) as number[];
  const settledAt = clock.monotonic() + (exists && isSameServer ? 0 : settleMs(info, !exists && !flushed));
  let looking: NodeJS.Timeout | undefined;
  let lost: JournalState | undefined;
  const onReset = (before: JournalState): void => {
    lost ??= before;
  };
  const stream = { rotateAt: ROTATE_AT, recentMs: CONFIRMED_WITHIN_MS, onReset, onWarning };
  const log = new StreamLog(journalFormat, { server, clock, key, ...stream });
  return {
    last: () => log.last(),
    refresh: () => checked(log.refresh()),
    append: (record) => checked(log.append(record)),
    sync: () => log.sync(),
    confirm() {
      if (log.recent()) return;
      throw new PetstoreError('storage', `the import journal was not confirmed for 30s: ${label}`, {
        hint: 'run the same command again to create what is missing',
      });
    },
    async acquired(signal) {
      looking = setInterval(() => {
        log.refresh().catch(() => undefined);
      }, LOOK_EVERY_MS).unref();
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
      clearInterval(looking);
      server.close();
    },
  };
}

// Requests that only lost records announced may be on their way. A server that lost data by a restart and nothing else has
// been up since.
function settleMs(info: ReadonlyMap<string, string>, isNew: boolean): number {
  const upMs = isNew && info.get('evicted_keys') === '0' ? Number(info.get('uptime_in_seconds') ?? 0) * 1000 : 0;
  return Math.max(0, SETTLE_MS - upMs);
}
