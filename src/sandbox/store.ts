// The categories: a fold over a log that every process on the same data appends to. Ids come from the fold.
import type { LogFs } from '../append-log/generations.ts';
import type { DataPaths } from './paths.ts';
import type { TappedFormat } from './tapped-log.ts';
import { TappedLog } from './tapped-log.ts';

/** The largest id an int64 holds (service.md, section 2). */
export const LARGEST_ID = 2n ** 63n - 1n;

/** What a client sends to create a category (service.md, section 2). */
export interface CategoryInput {
  readonly name: string;
  readonly description?: string;
}

/** The state of a store. */
export interface Data {
  /** Each category as the JSON text that is served: an id keeps its digits. */
  items: string[];
  next: bigint;
  /** Length of all items together, characters. */
  size: number;
  /** Goes up with every record: what was made from the items is stale. */
  version: number;
}

/** All categories together are at most so many characters: what is listed must fit into memory, and into one string. */
const CAPACITY = 256 * 1024 * 1024;

/**
 * How records become categories: `c JSON` creates, `k JSON` keeps one with its id (in snapshots), `n ID` raises the next
 * id, `reset` empties. A reset leaves the next id alone: an id is never used again.
 */
export const dataFormat: TappedFormat<Data, string> = {
  initial: () => ({ items: [], next: 1n, size: 0, version: 0 }),
  apply(data, record) {
    data.version += 1;
    const rest = record.slice(2);
    if (record.startsWith('c ')) return create(data, rest);
    if (record.startsWith('k ')) keep(data, rest);
    if (record === 'reset') Object.assign(data, { items: [], size: 0 });
    if (record.startsWith('n ') && BigInt(rest) > data.next) data.next = BigInt(rest);
    return undefined;
  },
  *snapshot(data) {
    yield `n ${data.next}`;
    for (const item of data.items) yield `k ${item}`;
  },
};

function create(data: Data, fields: string): string | undefined {
  if (data.next > LARGEST_ID || data.size >= CAPACITY) return undefined;
  const item = `{"id":${data.next},${fields.slice(1)}`;
  data.next += 1n;
  keep(data, item);
  return item;
}

function keep(data: Data, item: string): void {
  data.items.push(item);
  data.size += item.length;
}

// Nothing is ever deleted, so a new generation saves little: the log is left to grow.
const SEAL_AT = 16 * 1024 * 1024;

/** How a store is opened. */
export interface StoreOptions {
  readonly reset?: boolean;
  readonly firstId?: bigint | undefined;
  readonly rotateAtBytes?: number;
  readonly fs?: LogFs | undefined;
}

/** The categories of one data file. */
export class Store {
  readonly #log: TappedLog<Data, string>;
  #flushing: Promise<void> | undefined;
  #listed: { readonly data: Data; readonly version: number; readonly body: Buffer } | undefined;

  /**
   * Opens the data, or begins it.
   * @param place where it lies
   * @param options `reset`: empties it; `firstId`: ids from here on, where none so large was given yet;
   *   `rotateAtBytes`: size in bytes from which the log begins anew; `fs`: the file system, which tests make fail
   * @throws errors of the file system as they come
   */
  constructor(place: DataPaths, options: StoreOptions = {}) {
    this.#log = new TappedLog(dataFormat, {
      dir: place.dir,
      name: place.dataName,
      rotateAtBytes: options.rotateAtBytes ?? SEAL_AT,
      durable: true,
      fs: options.fs,
    });
    const { firstId } = options;
    if (options.reset) this.#log.append('reset');
    if (firstId !== undefined && this.#log.state().next < firstId) this.#log.append(`n ${firstId}`);
  }

  /** @returns every category as the body of a list, oldest first */
  list(): Buffer {
    const data = this.#log.state();
    const known = this.#listed;
    if (known && known.data === data && known.version === data.version) return known.body;
    const body = Buffer.from(`[${data.items.join(',')}]`);
    this.#listed = { data, version: data.version, body };
    return body;
  }

  /**
   * Creates a category; it is on the disk when this resolves.
   * @param category checked values
   * @returns the category with its id, as JSON; undefined where there is no room
   * @throws errors of the file system: from the write, nothing was created; from the flush, it may have been
   */
  async create(category: CategoryInput): Promise<string | undefined> {
    // The fold prepends the id, so the field order is settled here.
    const item = this.#log.append(`c ${JSON.stringify({ name: category.name, description: category.description })}`);
    await this.#flush();
    return item;
  }

  // What arrived together is flushed together: the flush begins when the event loop has handed over all there is.
  #flush(): Promise<void> {
    this.#flushing ??= new Promise((resolve) => setImmediate(resolve)).then(() => {
      this.#flushing = undefined;
      return this.#log.sync();
    });
    return this.#flushing;
  }

  /** @returns whether there is no room for another category because no id is left */
  isOutOfIds(): boolean {
    return this.#log.state().next > LARGEST_ID;
  }

  close(): void {
    this.#log.close();
  }
}
