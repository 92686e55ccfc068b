// The options of the client library, with defaults from the process.
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Wait } from './http/types.ts';
import type { Environment } from './io.ts';
import { stateDir } from './profiles/paths.ts';

export interface ClientOptions {
  /** `https://HOST/v1`; `http` on loopback only. */
  readonly baseUrl: string;
  /** Sent in `Authorization` only. Undefined is rejected like an empty key. */
  readonly apiKey: string | undefined;
  /** Longest single wait for the rate limit, in milliseconds (default 120,000); a longer one fails at once with `retryAt`. */
  readonly maxWaitMs?: number;
  /** Retries of one request after the first attempt (default 4). */
  readonly maxRetries?: number;
  /** Timeout per attempt, from connect to last byte, in milliseconds (default 30,000). */
  readonly timeoutMs?: number;
  /** Folder of the shared rate limit (default: the command line's own). */
  readonly stateDir?: string;
  /** A Valkey or Redis server that shares the rate limit among machines: `rediss://user@host:6379/0` (docs/fleet.md). */
  readonly stateUrl?: string;
  /** The password for `stateUrl`. */
  readonly statePassword?: string;
  /** Aborts waits and requests. */
  readonly signal?: AbortSignal;
  /** Called when a wait for the rate limit begins, and with undefined when it ends. */
  readonly onWait?: (wait: Wait | undefined) => void;
  /** Called once if the rate limit cannot be shared with other processes. */
  readonly onWarning?: (text: string) => void;
}

/** The longest delay of a timer. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

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

/** @throws RangeError for a number that is negative or not finite */
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

// Without a home folder the limit is shared through the temporary folder.
function ownStateDir(env: Environment, platform: string): string {
  try {
    return stateDir({ env, platform, homeDir: homedir() });
  } catch {
    return join(tmpdir(), 'petstore');
  }
}
