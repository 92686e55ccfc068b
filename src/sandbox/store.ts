// The categories: a reducer over a log that all processes with the same data append to. The reducer assigns the ids.
import { basename, dirname } from 'node:path';
import { FileLog } from '../append-log/file-log.ts';
import type { LogFs } from '../append-log/generations.ts';
import type { LogFormat } from '../append-log/log.ts';

/** The two logs of a sandbox. */
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

const MAX_ID = 2n ** 63n - 1n;
// All categories must fit into one string.
const MAX_CHARACTERS = 256 * 1024 * 1024;
// Nothing is ever deleted, so a new generation saves little.
const ROTATE_AT_BYTES = 16 * 1024 * 1024;

/** A NewCategory (docs/service.md). */
export interface CategoryInput {
  readonly name: string;
  readonly description?: string;
}

export interface StoreState {
  /** JSON texts, so that ids keep their digits. */
  items: string[];
  nextId: bigint;
  /** Of all items, in characters. */
  size: number;
  /** Incremented by every record. */
  version: number;
}

/**
 * Records: `c JSON` creates a category, `k JSON` restores one with its id, `n ID` raises the next id, `reset` deletes
 * all categories but keeps the next id, since an id is never reused.
 */
export const storeFormat: LogFormat<StoreState, string | undefined> = {
  initial: () => ({ items: [], nextId: 1n, size: 0, version: 0 }),
  apply(state, record) {
    state.version += 1;
    const rest = record.slice(2);
    if (record.startsWith('c ')) return create(state, rest);
    if (record.startsWith('k ')) add(state, rest);
    if (record === 'reset') Object.assign(state, { items: [], size: 0 });
    if (record.startsWith('n ') && BigInt(rest) > state.nextId) state.nextId = BigInt(rest);
    return undefined;
  },
  *snapshot(state) {
    yield `n ${state.nextId}`;
    for (const item of state.items) yield `k ${item}`;
  },
};

function create(state: StoreState, fields: string): string | undefined {
  if (state.nextId > MAX_ID || state.size >= MAX_CHARACTERS) return undefined;
  const item = `{"id":${state.nextId},${fields.slice(1)}`;
  state.nextId += 1n;
  add(state, item);
  return item;
}

function add(state: StoreState, item: string): void {
  state.items.push(item);
  state.size += item.length;
}

export interface StoreOptions {
  readonly reset?: boolean;
  readonly rotateAtBytes?: number;
  readonly fs?: LogFs | undefined;
}

export class Store {
  readonly #log: FileLog<StoreState, string | undefined>;
  #nextSync: Promise<void> | undefined;
  #list: { readonly state: StoreState; readonly version: number; readonly body: Buffer } | undefined;

  constructor(
    { dir, dataName: name }: DataPaths,
    { reset = false, rotateAtBytes = ROTATE_AT_BYTES, fs }: StoreOptions = {},
  ) {
    this.#log = new FileLog(storeFormat, { dir, name, rotateAtBytes, durable: true, rejectForeign: true, fs });
    if (reset) this.#log.append('reset');
  }

  /** All categories as a JSON array, oldest first. */
  list(): Buffer {
    const state = this.#log.refresh();
    const cached = this.#list;
    if (cached && cached.state === state && cached.version === state.version) return cached.body;
    const body = Buffer.from(`[${state.items.join(',')}]`);
    this.#list = { state, version: state.version, body };
    return body;
  }

  /**
   * Creates a category and syncs it to the disk.
   * @returns the category as JSON; undefined if there is no room
   * @throws errors of the file system; if the sync failed, the category may exist
   */
  async create({ name, description }: CategoryInput): Promise<string | undefined> {
    const item = this.#log.append(`c ${JSON.stringify({ name, description })}`);
    await this.#sync();
    return item;
  }

  // Creates that arrive together share one sync.
  #sync(): Promise<void> {
    this.#nextSync ??= new Promise((resolve) => setImmediate(resolve)).then(() => {
      this.#nextSync = undefined;
      return this.#log.sync();
    });
    return this.#nextSync;
  }

  isOutOfIds(): boolean {
    return this.#log.refresh().nextId > MAX_ID;
  }

  close(): void {
    this.#log.close();
  }
}
