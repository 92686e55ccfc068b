// The journal of a base URL on a state server, for imports from several machines (docs/fleet.md).
import { createHash } from 'node:crypto';
import type { StateServer } from '../append-log/state-server.ts';
import { StreamLog } from '../append-log/stream-log.ts';
import { script } from '../append-log/valkey-connection.ts';
import type { Clock } from '../clock.ts';
import { sleepLong } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import type { JournalLog } from './journal.ts';
import type { JournalState } from './journal-state.ts';
import { journalFormat } from './journal-state.ts';

const ROTATE_AT = 10_000;
/** Half of what makes a silent run count as dead. */
const CONFIRMED_WITHIN_MS = 30_000;
/** How long a request of a run that was killed may be on its way. */
const SETTLE_MS = 10_000;

// Whether the journal is there, and was used since the server started.
const IS_WHOLE = script(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
return redis.call('ZSCORE', KEYS[2], ARGV[1]) and 1 or 0`);

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
  const epoch = (await server.checked((connection) => connection.info())).get('run_id') ?? '';
  const isWhole = await server.checked((connection) => connection.run(IS_WHOLE, [key, epochKey], [epoch]));
  let lost: JournalState | undefined;
  const onReset = (before: JournalState): void => {
    lost ??= before;
  };
  const stream = { rotateAt: ROTATE_AT, recentMs: CONFIRMED_WITHIN_MS, onReset, onWarning };
  const log = new StreamLog(journalFormat, { server, clock, key, ...stream });
  const checked = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw server.toPetstoreError(error);
    });
  return {
    label,
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
      if (isWhole === 1) return;
      onSettle(`state server ${server.name} has no complete import journal; waiting 10s for earlier requests`);
      await sleepLong(clock, SETTLE_MS, signal);
      await server.checked((connection) => connection.run(SET_EPOCH, [epochKey], [epoch]));
    },
    takeLost() {
      const before = lost;
      lost = undefined;
      return before;
    },
    close: () => server.close(),
  };
}
