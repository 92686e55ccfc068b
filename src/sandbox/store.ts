// The data of a sandbox: a reducer over a log that all processes with the same data share. The reducer assigns the ids.
import { statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { FileLog } from '../shared-log/file-log.ts';
import type { LogFormat } from '../shared-log/log.ts';
import { MemoryLog } from '../shared-log/log.ts';
import type { KeyUsage, QuotaStatus, RateLimit } from './limiter.ts';
import { admitRequest, newKeyUsage, quotaStatus } from './limiter.ts';

/** The body of a create: `NewCategory` in docs/service.md. */
export interface CategoryInput {
  readonly name: string;
  readonly description?: string | undefined;
}

/** A record of the log, as JSON, has one of these properties. */
interface StoreRecord {
  readonly create?: CategoryInput;
  /** A request at `now` (epoch milliseconds). */
  readonly request?: { readonly key: string; readonly now: number; readonly limits: readonly RateLimit[] };
  /** Deletes everything. The next id is kept, so that no id is assigned twice; a snapshot sets it. */
  readonly reset?: { readonly nextId?: string };
  /** Only in snapshots. */
  readonly restore?: { readonly key: string; readonly usage: KeyUsage };
}

interface StoreState {
  /** The ids of the categories are consecutive. */
  categories: CategoryInput[];
  nextId: bigint;
  usages: Map<string, KeyUsage>;
}

/** The category as JSON for a create, the quota for a request, '' for the other records; undefined for an unknown record. */
type RecordResult = string | QuotaStatus | undefined;

const format: LogFormat<StoreState, RecordResult> = {
  initial: () => ({ categories: [], nextId: 1n, usages: new Map() }),
  apply(state, text) {
    try {
      return reduce(state, JSON.parse(text));
    } catch {
      // Another version or a user wrote this record.
      return undefined;
    }
  },
  *snapshot(state) {
    yield encode({ reset: { nextId: String(firstId(state)) } });
    for (const create of state.categories) yield encode({ create });
    for (const [key, usage] of state.usages) yield encode({ restore: { key, usage } });
  },
};

const encode = (record: StoreRecord): string => JSON.stringify(record);

function reduce(state: StoreState, { create, request, reset, restore }: StoreRecord): RecordResult {
  if (create) {
    state.categories.push(create);
    return categoryJson(state.nextId++, create);
  }
  if (request) {
    const usage = state.usages.get(request.key) ?? newKeyUsage();
    state.usages.set(request.key, usage);
    return admitRequest(usage, request.now, request.limits);
  }
  if (reset) {
    const { nextId = state.nextId } = reset;
    Object.assign(state, { categories: [], nextId: BigInt(nextId), usages: new Map() });
    return '';
  }
  if (!restore) return undefined;
  state.usages.set(restore.key, restore.usage);
  return '';
}

const firstId = ({ nextId, categories }: StoreState): bigint => nextId - BigInt(categories.length);

// Written as digits, since a number would round a large id.
function categoryJson(id: bigint, { name, description }: CategoryInput): string {
  const more = description === undefined ? '' : `,"description":${JSON.stringify(description)}`;
  return `{"id":${id},"name":${JSON.stringify(name)}${more}}`;
}

/** Its methods throw file system errors unchanged, and PetstoreError `storage` for damaged data. */
export class Store {
  readonly #log: FileLog<StoreState, RecordResult> | MemoryLog<StoreState, RecordResult>;

  /**
   * @param dataFile `X/pets`, `X/pets.log` or `X/pets.1.log` means `X/pets.1.log`; undefined: in memory
   * @param options `reset` deletes the data first
   * @throws file system errors unchanged, for example if the directory does not exist
   */
  constructor(
    dataFile: string | undefined,
    { reset = false, rotateAtBytes = 1024 * 1024 }: { reset?: boolean; rotateAtBytes?: number } = {},
  ) {
    if (dataFile === undefined) this.#log = new MemoryLog(format);
    else {
      const dir = dirname(dataFile);
      const name = basename(dataFile).replace(/(?:\.[1-9]\d*)?\.log$/, '') || 'sandbox';
      statSync(dir);
      this.#log = new FileLog(format, { dir, name, rotateAtBytes, strict: true });
    }
    if (reset) this.#log.append(encode({ reset: {} }));
  }

  /** All categories as a JSON array, oldest first. */
  list(): string {
    const state = this.#log.refresh();
    let id = firstId(state);
    return `[${state.categories.map((category) => categoryJson(id++, category)).join(',')}]`;
  }

  /** @returns the category as JSON */
  create(category: CategoryInput): string {
    return this.#log.append(encode({ create: category })) as string;
  }

  /**
   * Counts one request.
   * @param now epoch milliseconds
   */
  admit(key: string, now: number, limits: readonly RateLimit[]): QuotaStatus {
    if (limits.length === 0) return quotaStatus(newKeyUsage(), now, limits);
    return this.#log.append(encode({ request: { key, now: Math.floor(now), limits } })) as QuotaStatus;
  }

  close(): void {
    this.#log.close();
  }
}
