// The categories: a reducer over a log that all processes with the same data append to. The reducer assigns the ids.
import { basename, dirname } from 'node:path';
import type { LogFs } from '../append-log/generations.ts';
import type { LogFormat } from '../append-log/log.ts';
import { DamagedRecordError } from '../append-log/log.ts';
import { DataLog } from './data-log.ts';

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

interface StoreState {
  /** JSON texts, so that ids keep their digits. */
  items: string[];
  nextId: bigint;
  /** Of all items, in characters. */
  size: number;
  /** Incremented by every record. */
  version: number;
}

const CREATE = /^c \{"name":/;
const RESTORE = /^k \{"id":\d{1,19},"name":/;
const NEXT_ID = /^n \d{1,19}$/;

/**
 * Records: `c JSON` creates a category, `k JSON` restores one with its id, `n ID` raises the next id, `reset` deletes
 * all categories but keeps the next id, since an id is never reused.
 */
export const storeFormat: LogFormat<StoreState, string | undefined> = {
  initial: () => ({ items: [], nextId: 1n, size: 0, version: 0 }),
  apply(state, record) {
    state.version += 1;
    const rest = record.slice(2);
    if (CREATE.test(record) && isCategory(rest)) return create(state, rest);
    if (RESTORE.test(record) && isCategory(rest)) add(state, rest);
    else if (NEXT_ID.test(record)) state.nextId = BigInt(rest) > state.nextId ? BigInt(rest) : state.nextId;
    else if (record === 'reset') Object.assign(state, { items: [], size: 0 });
    else throw new DamagedRecordError(record);
    return undefined;
  },
  *snapshot(state) {
    yield `n ${state.nextId}`;
    for (const item of state.items) yield `k ${item}`;
  },
};

function isCategory(json: string): boolean {
  try {
    const { id: _, name, description = '', ...rest } = JSON.parse(json) as Record<string, unknown>;
    return typeof name === 'string' && typeof description === 'string' && Object.keys(rest).length === 0;
  } catch {
    return false;
  }
}

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

export class Store {
  readonly #log: DataLog<StoreState, string | undefined>;
  #list: { readonly state: StoreState; readonly version: number; readonly body: Buffer } | undefined;

  constructor(
    { dir, dataName: name }: DataPaths,
    options: { readonly reset?: boolean; readonly rotateAtBytes?: number; readonly fs?: LogFs | undefined } = {},
  ) {
    const { rotateAtBytes = ROTATE_AT_BYTES, fs } = options;
    this.#log = new DataLog(storeFormat, { dir, name, rotateAtBytes, durable: true, fs });
    if (options.reset) this.#log.append('reset');
  }

  /** All categories as a JSON array, oldest first. */
  list(): Buffer {
    const state = this.#log.state();
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
    await this.#log.sync();
    return item;
  }

  close(): void {
    this.#log.close();
  }
}
