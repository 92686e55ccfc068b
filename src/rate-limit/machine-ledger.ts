// The ledger of one machine: in a file that all its processes share, otherwise in the memory of this process.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { isSystemError, PetstoreError, systemReason } from '../errors.ts';
import { mkdirAndPrune } from '../settings/paths.ts';
import { FileLog } from '../shared-log/file-log.ts';
import type { Log } from '../shared-log/log.ts';
import { MemoryLog } from '../shared-log/log.ts';
import type { LogFs } from '../shared-log/segments.ts';
import type { KeyState } from './key-state.ts';
import type { LedgerOptions, LedgerPlace } from './ledger.ts';
import { Ledger } from './ledger.ts';
import { ledgerFormat } from './policy.ts';
import { LEDGER_VERSION } from './rules.ts';

export interface MachineOptions extends Omit<LedgerOptions, 'places'> {
  /** The base URL, or the path of the sandbox's data; together with the key, it identifies the ledger. */
  readonly baseUrl: string;
  readonly key: string;
  /** Undefined if there is no home directory; null keeps the ledger in memory, where all ledgers of the key share it. */
  readonly stateDir: string | undefined | null;
  readonly fs?: LogFs;
}

// Keeps the file small, because every process reads all of it at the start.
const ROTATE_AT_BYTES = 48 * 1024;
const NOT_SHARED = 'the rate limit is not shared with other processes';

/** Never throws: if the file cannot be used, the ledger is kept in memory. */
export function openMachineLedger(options: MachineOptions): Ledger {
  return new Ledger({ ...options, places: machinePlaces(options) });
}

/** The places of a ledger on this machine, in order. */
export function machinePlaces(options: MachineOptions): readonly LedgerPlace[] {
  const { stateDir, fs, clock } = options;
  if (stateDir === null) return [memoryPlace(() => sharedMemory(options))];
  let file: FileLog<KeyState> | undefined;
  const filePlace: LedgerPlace = {
    mayRecover: false,
    shared: true,
    stateServer: null,
    open() {
      if (!stateDir) throw new PetstoreError('storage', 'cannot determine the home directory');
      const dir = join(stateDir, 'quota', ledgerName(options));
      // Removes unused ledgers, too: each key that was replaced leaves one.
      mkdirAndPrune(dir);
      const name = `ledger-${LEDGER_VERSION}`;
      file = new FileLog(ledgerFormat, { dir, name, rotateAtBytes: ROTATE_AT_BYTES, fs, clock });
      return file;
    },
    warningOf(error) {
      if (!(error instanceof PetstoreError || isSystemError(error))) throw error;
      const reason = systemReason(error);
      return `${stateDir ? `cannot write to "${stateDir}" (${reason})` : reason}; ${NOT_SHARED}`;
    },
  };
  // The log in memory continues with the last state of the file: a full disk does not end a block.
  return [filePlace, memoryPlace(() => new MemoryLog(ledgerFormat, file && ledgerFormat.snapshot(file.cached())))];
}

function memoryPlace(open: () => Log<KeyState>): LedgerPlace {
  const warningOf = (error: unknown): never => {
    throw error;
  };
  return { mayRecover: false, shared: false, stateServer: null, open, warningOf };
}

const sharedMemories = new Map<string, { readonly log: MemoryLog<KeyState>; users: number }>();

/** Opens the log in memory that all ledgers of a key in this process share until the last of them is closed. */
function sharedMemory(options: MachineOptions): Log<KeyState> {
  const name = ledgerName(options);
  const close = (): void => void (--shared.users === 0 && sharedMemories.delete(name));
  const shared = sharedMemories.get(name) ?? { log: new MemoryLog<KeyState>(ledgerFormat, [], close), users: 0 };
  shared.users++;
  sharedMemories.set(name, shared);
  return shared.log;
}

/** Names a key's ledger by a hash, which reveals neither the key nor the base URL. */
export function ledgerName({ baseUrl, key }: Pick<MachineOptions, 'baseUrl' | 'key'>): string {
  return createHash('sha256').update(`${baseUrl}\0${key}`).digest('hex').slice(0, 32);
}
