// The journals of one API key and base URL on a state server: any machine resumes what another one began.
import { createHash } from 'node:crypto';
import { DamagedRecordError } from '../append-log/log.ts';
import type { StateServer } from '../append-log/state-server.ts';
import { StreamLog } from '../append-log/stream-log.ts';
import { script } from '../append-log/valkey-connection.ts';
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import type { JournalLog, JournalStore } from './journal-files.ts';
import { damagedJournal } from './journal-files.ts';
import { journalFormat } from './journal-state.ts';

const KEEP_MS = 30 * 24 * 3_600_000;
// A run whose records were not confirmed for this long may be taken for dead soon (SILENCE_MS in journal.ts).
const CONFIRMED_WITHIN_MS = 30_000;

const NAMES = script(`
if ARGV[1] then
  redis.call('SADD', KEYS[1], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return redis.call('SMEMBERS', KEYS[1])`);

interface SharedJournalOptions {
  readonly server: StateServer;
  readonly clock: Clock;
  readonly onWarning: (text: string) => void;
}

/**
 * @param identity what the import writes to: the base URL
 * @param key the API key: another key may see other data
 */
export function sharedJournals(identity: string, key: string, options: SharedJournalOptions): JournalStore {
  const { server, onWarning } = options;
  const account = createHash('sha256').update(`${identity}\0${key}`).digest('hex').slice(0, 32);
  const prefix = `petstore:{${account}}:import`;
  const label = `on the state server at ${server.name}`;
  const names = async (...add: readonly (string | number)[]): Promise<readonly string[]> =>
    (await server.checked((connection) => connection.run(NAMES, [`${prefix}s`], add))) as readonly string[];
  const open = (name: string, epoch?: string): JournalLog => openJournal(`${prefix}:${name}`, label, options, epoch);
  return {
    names: () => names(),
    async namesOf(source) {
      const found: string[] = [];
      for (const name of await names()) {
        const { header } = await open(name).refresh();
        if (header?.source === source) found.push(name);
      }
      return found;
    },
    async open(name, mode) {
      if (mode === 'other') return open(name);
      await names(name, KEEP_MS);
      const info = await server.checked((connection) => connection.info());
      if (info.get('aof_enabled') === '0' && info.get('connected_slaves') === '0') {
        onWarning(
          `the state server at ${server.name} keeps no append-only file: if it restarts, rows could be created twice`,
        );
      }
      return open(name, info.get('run_id'));
    },
  };
}

function openJournal(key: string, label: string, options: SharedJournalOptions, epoch?: string): JournalLog {
  const { server, clock } = options;
  let confirmed = { monotonic: Number.NEGATIVE_INFINITY, wall: 0 };
  const log = new StreamLog(journalFormat, {
    server,
    key,
    ttlMs: KEEP_MS,
    rotateAt: Number.MAX_SAFE_INTEGER,
    stamp: (record) => record,
    monotonic: () => clock.monotonic(),
  });
  return {
    label,
    epoch,
    last: () => log.last(),
    refresh: () => guarded(server, label, () => log.refresh()),
    async append(record) {
      const sent = { monotonic: clock.monotonic(), wall: clock.now() };
      const state = await guarded(server, label, () => log.append(record));
      confirmed = sent;
      return state;
    },
    // A record is confirmed when it is as durable as the server keeps it.
    sync: async () => undefined,
    lastLook() {
      // The monotonic clock stands still while a machine is suspended.
      const age = Math.max(clock.monotonic() - confirmed.monotonic, clock.now() - confirmed.wall);
      if (age < CONFIRMED_WITHIN_MS) return log.last();
      throw new PetstoreError('storage', `the journal was not confirmed for 30s: ${label}`, {
        hint: 'run the same command again to resume',
      });
    },
    close: () => undefined,
  };
}

async function guarded<T>(server: StateServer, label: string, use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    throw error instanceof DamagedRecordError ? damagedJournal(label, error) : server.toPetstoreError(error);
  }
}
