// The categories, as a reducer over a log that all processes with the same data share. The reducer assigns the ids.
import { basename, dirname } from 'node:path';
import { FileLog } from '../append-log/file-log.ts';
import type { LogFormat } from '../append-log/log.ts';
import { DamagedRecordError, MemoryLog } from '../append-log/log.ts';

export interface DataOptions {
  /** Deletes the data first. */
  readonly reset?: boolean | undefined;
  /** Default: 16 MiB of categories, 64 KiB of windows. */
  readonly rotateAtBytes?: number;
}

/**
 * Opens one of a sandbox's logs. A log adds its generation to its name: the data file `X/pets`, `X/pets.log` or
 * `X/pets.1.log` means `X/pets.1.log` and, with the suffix `.windows`, `X/pets.windows.1.log`.
 * @param dataFile undefined: in memory
 */
export function openLog<State, Result>(
  format: LogFormat<State, Result>,
  dataFile: string | undefined,
  suffix: string,
  { reset, rotateAtBytes }: DataOptions & { readonly rotateAtBytes: number },
): FileLog<State, Result> | MemoryLog<State, Result> {
  if (dataFile === undefined) return new MemoryLog(format);
  const name = (basename(dataFile).replace(/(?:\.[1-9]\d*)?\.log$/, '') || 'sandbox') + suffix;
  const log = new FileLog(format, { dir: dirname(dataFile), name, rotateAtBytes, strict: true });
  if (reset) log.append('reset');
  return log;
}

const ROTATE_AT_BYTES = 16 * 1024 * 1024;

/** The body of a create: `NewCategory` in docs/service.md. */
export interface CategoryInput {
  readonly name: string;
  readonly description?: string;
}

interface StoreState {
  /** JSON texts with consecutive ids. */
  items: string[];
  nextId: bigint;
}

/** Records: `c JSON` creates a category, `n ID` sets the next id, `reset` deletes all, but an id is never reused. */
const storeFormat: LogFormat<StoreState, string> = {
  initial: () => ({ items: [], nextId: 1n }),
  apply(state, record) {
    const rest = record.slice(2);
    if (record.startsWith('c ')) {
      const item = `{"id":${state.nextId++},${rest.slice(1)}`;
      state.items.push(item);
      return item;
    }
    if (record.startsWith('n ')) state.nextId = BigInt(rest);
    else if (record === 'reset') state.items = [];
    else throw new DamagedRecordError(record);
    return '';
  },
  *snapshot({ items, nextId }) {
    yield `n ${nextId - BigInt(items.length)}`;
    for (const item of items) yield item.replace(/^\{"id":\d+,/, 'c {');
  },
};

export class Store {
  readonly #log: ReturnType<typeof openLog<StoreState, string>>;

  /** @param dataFile see `openLog` */
  constructor(dataFile: string | undefined, options: DataOptions = {}) {
    this.#log = openLog(storeFormat, dataFile, '', { rotateAtBytes: ROTATE_AT_BYTES, ...options });
  }

  /** All categories as a JSON array, oldest first. */
  list(): string {
    return `[${this.#log.refresh().items.join(',')}]`;
  }

  /**
   * @returns the category as JSON
   * @throws file system errors
   */
  create({ name, description }: CategoryInput): string {
    return this.#log.append(`c ${JSON.stringify({ name, description })}`);
  }

  close(): void {
    this.#log.close();
  }
}
