// The client library: `import { createClient } from 'petstore-cli'`, with the limits and retries of the command line.
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApi } from './api/categories.ts';
import type { Api, Category, NewCategory } from './api/types.ts';
import { parseStateUrl } from './append-log/state-url.ts';
import { LONGEST_TIMER_MS, systemClock } from './clock.ts';
import type { ErrorKind } from './errors.ts';
import { PetstoreError } from './errors.ts';
import { createHttpClient } from './http/http-client.ts';
import { createTransport } from './http/transport.ts';
import type { HttpClient, Wait } from './http/types.ts';
import { checkBaseUrl, checkKey } from './profiles/credential-rules.ts';
import { stateDir } from './profiles/paths.ts';
import type { Ledger, LogLedger } from './rate-limit/ledger.ts';
import { openLedger } from './rate-limit/ledger.ts';
import { initialState } from './rate-limit/policy.ts';
import type { QuotaView } from './rate-limit/quota-view.ts';
import { quotaView } from './rate-limit/quota-view.ts';
import { VERSION } from './version.ts';

export type { Category, ErrorKind, NewCategory, QuotaView, Wait };
export { PetstoreError };

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

/** The service at one base URL, with one key. */
export interface Client extends Api {
  /** What is left of the rate limit according to the last response; nothing is sent. */
  quota(): QuotaView;
  /** Resolves when every request has ended; the client cannot be used afterwards. */
  close(): Promise<void>;
}

/**
 * Opens the service. All petstore processes and clients that use the same key share one rate limit.
 * @throws PetstoreError `usage` for a missing or invalid base URL, `auth` for a missing or malformed key; RangeError for
 *   a number that is negative or not finite. The operations throw PetstoreError, whose `kind` says what happened
 *   (`rate_limited`, `unknown_outcome`, …)
 * @example
 * const client = createClient({ baseUrl: 'https://pets.example/v1', apiKey: process.env.PETSTORE_API_KEY });
 * for (const category of await client.categories.list()) console.log(String(category.id), category.name);
 * await client.close();
 */
export function createClient(options: ClientOptions): Client {
  // JavaScript callers may omit the options.
  const given: Partial<ClientOptions> = options ?? {};
  const { url } = checkBaseUrl(given.baseUrl, 'baseUrl');
  const key = checkKey(given.apiKey, 'apiKey');
  const limits = checkLimits(given);
  const { onWarning, onWait = () => undefined, signal = new AbortController().signal } = given;
  const own = { identity: url, key, clock: systemClock, timeoutMs: limits.timeoutMs, onWarning };
  const openOwn = (): LogLedger => openLedger({ ...own, stateDir: given.stateDir ?? ownStateDir(), tempDir: tmpdir() });
  const address = given.stateUrl && parseStateUrl(given.stateUrl, given.statePassword, 'stateUrl');
  let ledger: Ledger | undefined = address ? undefined : openOwn();
  const open = async (): Promise<HttpClient> => {
    if (address) {
      const { StateServer } = await import('./append-log/state-server.ts');
      const { FailoverLedger } = await import('./rate-limit/failover.ts');
      const server = new StateServer({ address, clock: systemClock });
      ledger = new FailoverLedger({ ...own, server, openOwn });
    }
    const used = ledger ?? openOwn();
    const clock = systemClock;
    const { env, versions } = process;
    const now = (): number => clock.now();
    const transport = createTransport({ baseUrl: url, key, version: VERSION, env, nodeVersion: versions.node, now });
    return createHttpClient({ transport, ledger: used, clock, signal, limits, onWait });
  };
  let opened: Promise<HttpClient> | undefined;
  const httpClient: Pick<HttpClient, 'send'> = {
    async send(request) {
      opened ??= open();
      return (await opened).send(request);
    },
  };
  return {
    ...createApi(httpClient),
    quota: () => ledger?.view() ?? quotaView(initialState(), systemClock.now(), true),
    close: async () => (opened ? (await opened).close() : ledger?.close()),
  };
}

function checkLimits({ maxWaitMs = 120_000, maxRetries = 4, timeoutMs = 30_000 }: Partial<ClientOptions>) {
  for (const [name, value] of Object.entries({ maxWaitMs, maxRetries, timeoutMs })) {
    if (!Number.isFinite(value) || value < 0) throw new RangeError(`${name} must be a number from 0`);
  }
  return { maxWaitMs, maxRetries, timeoutMs: Math.min(LONGEST_TIMER_MS, Math.max(1, Math.ceil(timeoutMs))) };
}

// Without a home folder the limit is shared through the temporary folder.
function ownStateDir(): string {
  const { env, platform } = process;
  try {
    return stateDir({ env, platform, homeDir: homedir() });
  } catch {
    return join(tmpdir(), 'petstore');
  }
}
