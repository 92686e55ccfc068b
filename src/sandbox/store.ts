// The categories, as a reducer over a log that all processes with the same data share. The reducer assigns the ids.
import { basename, dirname } from 'node:path';
import { FileLog } from '../append-log/file-log.ts';
import type { LogFs } from '../append-log/generations.ts';
import type { LogFormat } from '../append-log/log.ts';
import { DamagedRecordError } from '../append-log/log.ts';

export interface DataPaths {
  readonly dir: string;
  readonly dataName: string;
  readonly windowsName: string;
}

/**
 * A log adds its generation to its name: `X/pets`, `X/pets.log` and `X/pets.1.log` all mean `X/pets.1.log` and
 * `X/pets.windows.1.log`.
 */
export function dataPaths(dataFile: string): DataPaths {
  const dataName = basename(dataFile).replace(/(?:\.[1-9]\d*)?\.log$/, '') || 'sandbox';
  return { dir: dirname(dataFile), dataName, windowsName: `${dataName}.windows` };
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
    if (record.startsWith('c {"name":') && isCategory(rest)) {
      const item = `{"id":${state.nextId++},${rest.slice(1)}`;
      state.items.push(item);
      return item;
    }
    if (/^n \d{1,19}$/.test(record)) state.nextId = BigInt(rest);
    else if (record === 'reset') state.items = [];
    else throw new DamagedRecordError(record);
    return '';
  },
  *snapshot({ items, nextId }) {
    yield `n ${nextId - BigInt(items.length)}`;
    for (const item of items) yield item.replace(/^\{"id":\d+,/, 'c {');
  },
};

function isCategory(json: string): boolean {
  try {
    const { name, description = '', ...rest } = JSON.parse(json) as Record<string, unknown>;
    return typeof name === 'string' && typeof description === 'string' && Object.keys(rest).length === 0;
  } catch {
    return false;
  }
}

export class Store {
  readonly #log: FileLog<StoreState, string>;

  constructor(
    { dir, dataName: name }: DataPaths,
    options: { readonly reset?: boolean; readonly rotateAtBytes?: number; readonly fs?: LogFs | undefined } = {},
  ) {
    const { rotateAtBytes = ROTATE_AT_BYTES, fs } = options;
    this.#log = new FileLog(storeFormat, { dir, name, rotateAtBytes, strict: true, fs });
    if (options.reset) this.#log.append('reset');
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
