// The log of a ledger on this machine: in a file that all its processes share, or in the memory of this process if that file
// cannot be used.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { isSystemError, PetstoreError, systemReason } from '../errors.ts';
import { mkdirAndPrune } from '../settings/mkdirp.ts';
import { FileLog } from '../shared-log/file-log.ts';
import type { Log } from '../shared-log/log.ts';
import { MemoryLog } from '../shared-log/log.ts';
import type { LogFs } from '../shared-log/segments.ts';
import type { KeyState } from './key-state.ts';
import { ledgerFormat } from './ledger-format.ts';
import { LEDGER_VERSION } from './rules.ts';

export interface MachineLogOptions {
  /** Undefined if there is no home directory; null keeps the ledger in memory, shared by this process's clients of the key. */
  readonly stateDir: string | undefined | null;
  /** The base URL, or the path of the sandbox's data; together with the key, it identifies the ledger. */
  readonly baseUrl: string;
  readonly key: string;
  readonly fs?: LogFs;
  /** Called once if this machine's file cannot be used, and once if a state server is unavailable. */
  readonly onWarning?: ((text: string) => void) | undefined;
}

type FileOrMemory = FileLog<KeyState> | MemoryLog<KeyState>;

/** The logs that are kept in memory on request, by the names of their ledgers, with the number of clients that have them open. */
const wantedInMemory = new Map<string, { readonly log: MemoryLog<KeyState>; users: number }>();

// Keeps the file small, because every process reads all of it at the start.
const ROTATE_AT_BYTES = 48 * 1024;

/** Throws no file system errors. */
export class MachineLog implements Log<KeyState> {
  readonly #options: MachineLogOptions;
  #log: FileOrMemory;

  constructor(options: MachineLogOptions) {
    this.#options = options;
    this.#log = this.#open();
  }

  /** False if the log is only in the memory of this process. */
  get isShared(): boolean {
    return this.#log instanceof FileLog;
  }

  cached(): KeyState {
    return this.#log.cached();
  }

  freshState(): KeyState {
    return this.refresh();
  }

  refresh(): KeyState {
    return this.#use((log) => log.refresh());
  }

  append(record: string): void {
    this.#use((log) => log.append(record));
  }

  close(): void {
    this.#log.close();
    if (this.#options.stateDir === null) closeInMemory(ledgerName(this.#options));
  }

  #open(): FileOrMemory {
    const { stateDir, fs } = this.#options;
    if (stateDir === null) return openInMemory(ledgerName(this.#options));
    if (!stateDir) return this.#inMemory('cannot determine the home directory');
    const dir = join(stateDir, 'quota', ledgerName(this.#options));
    try {
      // A rotating key has one ledger for each token.
      mkdirAndPrune(dir);
      return new FileLog(ledgerFormat, { dir, name: `ledger-${LEDGER_VERSION}`, rotateAtBytes: ROTATE_AT_BYTES, fs });
    } catch (error) {
      return this.#insteadOfFile(error);
    }
  }

  // If the file fails, continues in memory with its last state: a full disk does not end a block.
  #use<T>(use: (log: FileOrMemory) => T): T {
    const file = this.#log;
    try {
      return use(file);
    } catch (error) {
      this.#log = this.#insteadOfFile(error, file.cached());
      file.close();
      return use(this.#log);
    }
  }

  /** @throws `error` unless it is a file error */
  #insteadOfFile(error: unknown, state?: KeyState): MemoryLog<KeyState> {
    if (!(error instanceof PetstoreError || isSystemError(error))) throw error;
    return this.#inMemory(`cannot write to "${this.#options.stateDir}" (${systemReason(error)})`, state);
  }

  #inMemory(problem: string, state?: KeyState): MemoryLog<KeyState> {
    this.#options.onWarning?.(`${problem}; the rate limit is not shared with other processes`);
    return new MemoryLog(ledgerFormat, state && ledgerFormat.snapshot(state));
  }
}

function openInMemory(name: string): MemoryLog<KeyState> {
  const wanted = wantedInMemory.get(name) ?? { log: new MemoryLog<KeyState>(ledgerFormat), users: 0 };
  wanted.users++;
  wantedInMemory.set(name, wanted);
  return wanted.log;
}

function closeInMemory(name: string): void {
  const wanted = wantedInMemory.get(name);
  if (wanted && --wanted.users === 0) wantedInMemory.delete(name);
}

/** Names a key's ledger by a hash, which reveals neither the key nor the base URL. */
export function ledgerName({ baseUrl, key }: Pick<MachineLogOptions, 'baseUrl' | 'key'>): string {
  return createHash('sha256').update(`${baseUrl}\0${key}`).digest('hex').slice(0, 32);
}
