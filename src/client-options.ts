// The options of the client for programs, with what the process provides where they are silent: the library's door to it.
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from './environment.ts';
import type { Wait } from './http/types.ts';
import { stateDir } from './profiles/paths.ts';

/** How a client is opened. */
export interface ClientOptions {
  /** `https://HOST/v1`; `http` on loopback only. */
  readonly baseUrl: string;
  /** Goes into `Authorization` and nowhere else. Undefined, as of a variable that is not set, is refused as an empty one is. */
  readonly apiKey: string | undefined;
  /** The longest single pause for the rate limit, milliseconds; 120,000 unless given. A longer one fails at once, with `retryAt`. */
  readonly maxWaitMs?: number;
  /** Further tries of one request after the first; 4 unless given. */
  readonly maxRetries?: number;
  /** For one try, connect to last byte, milliseconds; 30,000 unless given. */
  readonly timeoutMs?: number;
  /** Where the rate limit is remembered; the command line's own folder unless given, so that both share it. */
  readonly stateDir?: string;
  /**
   * A Valkey or Redis server where the rate limit is remembered instead (`rediss://user@host:6379/0`): all machines that
   * use it share one rate limit.
   */
  readonly stateUrl?: string;
  /** The password for `stateUrl`. */
  readonly statePassword?: string;
  /** Ends waits and requests. */
  readonly signal?: AbortSignal;
  /** Called when a wait for the rate limit begins, and with nothing when it ends. */
  readonly onWait?: (wait: Wait | undefined) => void;
  /** Called once where the rate limit cannot be shared with other processes. */
  readonly onWarning?: (text: string) => void;
}

// A longer timer would ring at once (RangeError in Node's own words: it does not fit into 32 bits).
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** The options, complete. */
export interface ResolvedOptions {
  readonly world: {
    readonly env: Environment;
    readonly stateDir: string;
    readonly tempDir: string;
    readonly nodeVersion: string;
  };
  readonly signal: AbortSignal;
  readonly limits: { readonly maxWaitMs: number; readonly maxRetries: number; readonly timeoutMs: number };
  readonly onWait: (wait: Wait | undefined) => void;
  readonly onWarning: (text: string) => void;
}

/**
 * @param options as the program gave them
 * @returns the same, complete
 * @throws RangeError for a number that is negative or not finite
 */
export function readOptions(options: ClientOptions): ResolvedOptions {
  const { maxWaitMs = 120_000, maxRetries = 4, timeoutMs = 30_000 } = options;
  for (const [name, value] of Object.entries({ maxWaitMs, maxRetries, timeoutMs })) {
    if (!Number.isFinite(value) || value < 0) throw new RangeError(`${name} must be a number from 0`);
  }
  const { env, platform } = process;
  return {
    world: {
      env,
      stateDir: options.stateDir ?? ownStateDir(env, platform),
      tempDir: tmpdir(),
      nodeVersion: process.versions.node,
    },
    signal: options.signal ?? new AbortController().signal,
    limits: { maxWaitMs, maxRetries, timeoutMs: Math.min(LONGEST_TIMEOUT_MS, Math.max(1, Math.ceil(timeoutMs))) },
    onWait: options.onWait ?? (() => undefined),
    onWarning: options.onWarning ?? (() => undefined),
  };
}

// A service without a home folder still shares the limit, in the temporary folder.
function ownStateDir(env: Environment, platform: string): string {
  try {
    return stateDir({ env, platform, homeDir: homedir() });
  } catch {
    return join(tmpdir(), 'petstore');
  }
}
