// The data and options that programs and all layers see: the service's resources (docs/service.md), and the types of the library.

/** A category as the service returns it, unknown fields included. */
export interface Category {
  /** Assigned by the service. An int64: a bigint unless it is a safe integer. */
  readonly id: number | bigint;
  readonly name: string;
  readonly description?: string;
  readonly [extra: string]: unknown;
}

/** Refers to a category by its id. */
export type CategoryId = Pick<Category, 'id'>;

/** The values of a new category; the service assigns its id. */
export interface NewCategory {
  readonly name: string;
  readonly description?: string | undefined;
}

export interface ClientOptions {
  /** `https://HOST/v1`; `http` on loopback only. */
  readonly baseUrl: string;
  /** Sent in `Authorization` only. Undefined is rejected like an empty key. */
  readonly apiKey: string | undefined;
  /** Directory for rate limits and import locks (default: that of the command line); null keeps them in memory. */
  readonly stateDir?: string | null | undefined;
  /** A Valkey or Redis server that shares rate limits and import locks among machines: `rediss://user@host:6379/0`. */
  readonly stateUrl?: string | undefined;
  /** The password for `stateUrl`. */
  readonly statePassword?: string | undefined;
  /** Longest single wait for the rate limit, in milliseconds (default 120,000); a call that must wait longer is rejected. */
  readonly maxWaitMs?: number | undefined;
  /** Retries of one request after the first attempt (default 4). */
  readonly maxRetries?: number | undefined;
  /** Timeout per attempt, from connect to last byte, in milliseconds (default 30,000). */
  readonly timeoutMs?: number | undefined;
  /** Called when a wait begins and when its end changes. */
  readonly onWait?: ((wait: Wait) => void) | undefined;
  /** Called with each warning that the command line would print, as one sentence. */
  readonly onWarning?: ((text: string) => void) | undefined;
}

/** A wait for the rate limit, before a retry, or of an import. */
export interface Wait {
  /** Epoch milliseconds. */
  readonly until: number;
  /**
   * After a 429, after a 503 to a create or other change, for an exhausted quota, for the response to another request, or after a failed attempt;
   * in an import also for a complete list, for creates that may still be processed, or to confirm its lock on a state server.
   */
  readonly reason: 'blocked' | 'window' | 'pending' | 'backoff' | 'list' | 'requests' | 'lock';
}

export interface CallOptions {
  /** Aborts the call and its waits. The error of a create that was already sent has `outcome: 'unknown'`. */
  readonly signal?: AbortSignal | undefined;
  /** Overrides the client's timeout per attempt, in milliseconds. */
  readonly timeoutMs?: number | undefined;
}

export interface CreateOptions extends CallOptions {
  /** Returns the category of exactly this name if there is one (default: false). */
  readonly ifMissing?: boolean | undefined;
}

/** The rows of an import; other fields are rejected, except `id`, which is ignored. */
export type ImportRows = Iterable<NewCategory> | AsyncIterable<NewCategory>;

export interface ImportOptions extends CallOptions {
  /** The maximum number of concurrent requests, from 1 to 64 (default 8). */
  readonly concurrency?: number | undefined;
  /** Called after the first list, after each create, and after each lookup of unknown names. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
}

/** How many names are in each state; a name that several rows repeat counts once. */
export interface ImportProgress {
  readonly created: number;
  /** Names whose category existed. */
  readonly skipped: number;
  readonly failed: number;
  /** Names whose category may or may not exist, for now. */
  readonly unknown: number;
  readonly pending: number;
}

/** The results of an import. Rows are counted from 1. */
export interface ImportDocument {
  readonly created: readonly Category[];
  /** Rows whose category existed (`differs`: with another description), and rows that repeat the name of an earlier row. */
  readonly skipped: readonly {
    readonly row: number;
    readonly name: string;
    readonly id?: Category['id'];
    readonly differs?: boolean;
    readonly repeats?: number;
  }[];
  /** Rows that the service rejected, with its code, message and status. */
  readonly failed: readonly {
    readonly row: number;
    readonly name: string;
    readonly code?: string | undefined;
    readonly message: string;
    readonly status?: number | undefined;
  }[];
  /** Rows whose category may or may not exist. */
  readonly unknown: readonly { readonly row: number; readonly name: string; readonly reason?: string | undefined }[];
  /** The number of names that were not sent, or were certainly not processed. */
  readonly pending: number;
  /** New categories that no row explains: each may belong to an unknown row. */
  readonly unexplained?: readonly Pick<Category, 'id' | 'name'>[];
}

export interface RequestOptions extends CallOptions {
  /** A string is sent as it is and must be JSON; any other value is serialized. */
  readonly body?: unknown;
}

export interface ApiResponse {
  readonly status: number;
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The parsed JSON, with a bigint for each unsafe integer; a string if the body is not JSON, null if it is empty. */
  readonly body: unknown;
}
