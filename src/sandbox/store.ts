// The data of a sandbox, as a reducer over a log that all processes with the same data share. The reducer assigns the ids.
import { basename, dirname } from 'node:path';
import { FileLog } from '../append-log/file-log.ts';
import type { LogFormat } from '../append-log/log.ts';
import { MemoryLog } from '../append-log/log.ts';
import type { KeyUsage, Limit, QuotaStatus } from './limiter.ts';
import { decide, newKeyUsage, quotaStatus } from './limiter.ts';

interface StoreOptions {
  /** Deletes the data first. */
  readonly reset?: boolean | undefined;
  /** Default: 1 MiB. */
  readonly rotateAtBytes?: number;
}

/** The body of a create: `NewCategory` in docs/service.md. */
export interface CategoryInput {
  readonly name: string;
  readonly description?: string;
}

interface StoreState {
  /** JSON texts with consecutive ids. */
  items: string[];
  nextId: bigint;
  readonly usages: Map<string, KeyUsage>;
}

/** The category as JSON, what is left of the limits, or nothing. */
type RecordResult = string | QuotaStatus | undefined;

/**
 * Records: `c JSON` creates a category, `n ID` sets the next id, `r KEY TIME LIMITS` requests admission, `s KEY JSON`
 * restores the usage of a key, `reset` deletes all, but an id is never reused.
 */
const format: LogFormat<StoreState, RecordResult> = {
  initial: () => ({ items: [], nextId: 1n, usages: new Map() }),
  apply(state, record) {
    const rest = record.slice(2);
    if (record.startsWith('c ')) {
      const item = `{"id":${state.nextId++},${rest.slice(1)}`;
      state.items.push(item);
      return item;
    }
    const [kind, key = '', value = '', limits = ''] = record.split(' ');
    if (kind === 'r') {
      const usage = state.usages.get(key) ?? newKeyUsage();
      state.usages.set(key, usage);
      return decide(usage, Number(value), JSON.parse(limits));
    }
    if (kind === 's') state.usages.set(key, JSON.parse(value));
    else if (kind === 'n') state.nextId = BigInt(rest);
    else if (record === 'reset') {
      state.items = [];
      state.usages.clear();
    } else return undefined;
    return '';
  },
  *snapshot({ items, nextId, usages }) {
    yield `n ${nextId - BigInt(items.length)}`;
    for (const item of items) yield item.replace(/^\{"id":\d+,/, 'c {');
    for (const [key, usage] of usages) yield `s ${key} ${JSON.stringify(usage)}`;
  },
};

/** Its methods throw file system errors. */
export class Store {
  readonly #log: FileLog<StoreState, RecordResult> | MemoryLog<StoreState, RecordResult>;

  /** @param dataFile `X/pets`, `X/pets.log` or `X/pets.1.log` means `X/pets.1.log`; undefined: in memory */
  constructor(dataFile: string | undefined, { reset, rotateAtBytes = 1024 * 1024 }: StoreOptions = {}) {
    const name = basename(dataFile ?? '').replace(/(?:\.[1-9]\d*)?\.log$/, '') || 'sandbox';
    this.#log =
      dataFile === undefined
        ? new MemoryLog(format)
        : new FileLog(format, { dir: dirname(dataFile), name, rotateAtBytes, strict: true });
    if (reset) this.#log.append('reset');
  }

  /** All categories as a JSON array, oldest first. */
  list(): string {
    return `[${this.#log.refresh().items.join(',')}]`;
  }

  /** @returns the category as JSON */
  create({ name, description }: CategoryInput): string {
    return this.#log.append(`c ${JSON.stringify({ name, description })}`) as string;
  }

  /**
   * Counts one request.
   * @param now epoch milliseconds
   */
  admit(key: string, now: number, limits: readonly Limit[]): QuotaStatus {
    if (limits.length === 0) return quotaStatus(newKeyUsage(), now, limits);
    return this.#log.append(`r ${key} ${Math.floor(now)} ${JSON.stringify(limits)}`) as QuotaStatus;
  }

  close(): void {
    this.#log.close();
  }
}
