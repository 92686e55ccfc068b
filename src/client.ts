// The client library: `import { createClient } from 'petstore-cli'`, with the limits and retries of the command line.
/// <reference lib="esnext.disposable" preserve="true" />
import { homedir } from 'node:os';
import type { Api } from './api/categories.ts';
import { createApi } from './api/categories.ts';
import type { Category, NewCategory } from './api/types.ts';
import type { StateServer } from './append-log/state-server.ts';
import { parseStateUrl } from './append-log/state-url.ts';
import { checkOptions, checkPath } from './check-options.ts';
import { LONGEST_TIMER_MS, systemClock } from './clock.ts';
import { PetstoreError, toPetstoreError } from './errors.ts';
import { HttpClient } from './http/http-client.ts';
import { createTransport } from './http/transport.ts';
import type { Limits } from './http/types.ts';
import { toPlainJson } from './json.ts';
import { checkBaseUrl, checkKey } from './profiles/credential-rules.ts';
import { stateDir } from './profiles/paths.ts';
import { Ledger } from './rate-limit/ledger.ts';
import type { Quota, QuotaWindow } from './rate-limit/quota.ts';
import { Redactor } from './redact.ts';
import type { ErrorKind } from './error-kind.ts';
import { VERSION } from './version.ts';

export type { Category, ErrorKind, NewCategory, Quota, QuotaWindow };
export { PetstoreError };

export interface ClientOptions {
  /** `https://HOST/v1`; `http` on loopback only. */
  readonly baseUrl: string;
  /** Sent in `Authorization` only. Undefined is rejected like an empty key. */
  readonly apiKey: string | undefined;
  /** Directory for the shared state of the rate limit (default: that of the command line). */
  readonly stateDir?: string | undefined;
  /** A Valkey or Redis server that shares the rate limit among machines: `rediss://user@host:6379/0`. */
  readonly stateUrl?: string | undefined;
  /** The password for `stateUrl`. */
  readonly statePassword?: string | undefined;
  /** Maximum single wait for the rate limit, in milliseconds (default 120,000); beyond it a call fails with `retryAt`. */
  readonly maxWaitMs?: number | undefined;
  /** Retries of one request after the first attempt (default 4). */
  readonly maxRetries?: number | undefined;
  /** Timeout per attempt, from connect to last byte, in milliseconds (default 30,000). */
  readonly timeoutMs?: number | undefined;
}

export interface CallOptions {
  /** Aborts the call and its waits. A create that was already sent is rejected with `outcome: 'unknown'`. */
  readonly signal?: AbortSignal | undefined;
  /** Overrides the client's timeout per attempt, in milliseconds. */
  readonly timeoutMs?: number | undefined;
}

/** A client of one base URL with one key. Every rejection is a PetstoreError. */
export interface Client {
  readonly categories: {
    /** `GET /categories`: every category, in the service's order. */
    list(options?: CallOptions): Promise<readonly Category[]>;
    /** `POST /categories`: the category as created. A request that may have been processed is never sent again. */
    create(category: NewCategory, options?: CallOptions): Promise<Category>;
  };
  /** The rate limit as of the last response; times are epoch milliseconds. Nothing is sent. */
  quota(): Quota;
  /** Resolves when every call has ended. A later call is rejected. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const OPTIONS = ['baseUrl', 'apiKey', 'stateDir', 'stateUrl', 'statePassword', 'maxWaitMs', 'maxRetries', 'timeoutMs'];
const CALL_OPTIONS = ['signal', 'timeoutMs'];

/**
 * Creates a client. All petstore processes and clients that use the same base URL and key share one rate limit.
 * @throws PetstoreError `usage` for a missing, invalid or unknown option, `auth` for a missing or malformed key
 * @example
 * const client = createClient({ baseUrl: 'https://pets.example/v1', apiKey: process.env.PETSTORE_API_KEY });
 * for (const category of await client.categories.list()) console.log(String(category.id), category.name);
 * await client.close();
 */
export function createClient(options: ClientOptions): Client {
  const given = checkOptions<Partial<ClientOptions>>(options, OPTIONS, 'createClient');
  const { url } = checkBaseUrl(given.baseUrl, 'baseUrl');
  const key = checkKey(given.apiKey, 'apiKey');
  const limits = {
    maxWaitMs: checkNumber(given.maxWaitMs ?? 120_000, 'maxWaitMs'),
    maxRetries: checkNumber(given.maxRetries ?? 4, 'maxRetries', 'whole number', Number.isInteger),
    timeoutMs: checkTimeout(given.timeoutMs ?? 30_000),
    names: { maxWait: 'maxWaitMs', timeout: 'timeoutMs' },
  };
  const redactor = new Redactor();
  redactor.add(key);
  const service = openService(given, url, key, limits);
  let closed: Promise<void> | undefined;

  const call = async <T>(options: CallOptions | undefined, work: (api: Api) => Promise<T>): Promise<T> => {
    let signal: AbortSignal | undefined;
    try {
      if (closed) throw closedError();
      const one = checkOptions<CallOptions>(options, CALL_OPTIONS, 'the call');
      ({ signal } = one);
      if (signal && !(signal instanceof AbortSignal)) throw new PetstoreError('usage', 'signal must be an AbortSignal');
      const timeoutMs = one.timeoutMs === undefined ? undefined : checkTimeout(one.timeoutMs);
      const send: HttpClient['send'] = async (request) =>
        (await service.http()).send({ ...request, signal, timeoutMs });
      return await work(createApi({ send }));
    } catch (error) {
      throw publicError(error, signal, redactor);
    }
  };
  const close = (): Promise<void> => (closed ??= service.close());
  return {
    categories: {
      list: (options) => call(options, async ({ categories }) => (await categories.list()).listed.map(plain)),
      create: (category, options) =>
        call(options, async ({ categories }) => plain(await categories.create(checkCategory(category)))),
    },
    quota() {
      if (closed) throw closedError();
      return service.quota();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function openService(given: Partial<ClientOptions>, url: string, key: string, limits: Limits) {
  const clock = systemClock;
  const ownDir = checkPath(given.stateDir, 'stateDir') ?? ownStateDir();
  const own = { baseUrl: url, key, clock, stateDir: ownDir };
  const address = given.stateUrl ? parseStateUrl(given.stateUrl, given.statePassword, 'stateUrl') : undefined;
  // Nothing is known before the first call uses the state server.
  let ledger = new Ledger(address ? { ...own, stateDir: undefined } : own);
  let server: StateServer | undefined;
  let opened: Promise<HttpClient> | undefined;
  const open = async (): Promise<HttpClient> => {
    if (address) {
      const { StateServer } = await import('./append-log/state-server.ts');
      const { openSharedLedger } = await import('./rate-limit/shared-ledger.ts');
      server = new StateServer({ address, clock });
      ledger = openSharedLedger(server, own);
    }
    const transport = createTransport({ baseUrl: url, key, version: VERSION, env: process.env, now: clock.now });
    const { signal } = new AbortController();
    return new HttpClient({ transport, ledger, clock, signal, limits });
  };
  return {
    quota: (): Quota => ledger.quota(),
    http: (): Promise<HttpClient> => (opened ??= open()),
    async close(): Promise<void> {
      const client = await opened?.catch(() => undefined);
      await (client ?? ledger).close();
      server?.close();
    },
  };
}

// Without a home directory, the rate limit is kept in memory.
function ownStateDir(): string | undefined {
  const { env, platform } = process;
  try {
    return stateDir({ env, platform, homeDir: homedir() });
  } catch {
    return undefined;
  }
}

function checkNumber(value: unknown, name: string, of = 'number', isValid = Number.isFinite): number {
  if (isValid(value) && Number(value) >= 0) return Number(value);
  throw new PetstoreError('usage', `${name} must be a ${of} of at least 0`);
}

function checkTimeout(value: unknown): number {
  const ms = Math.ceil(checkNumber(value, 'timeoutMs'));
  if (ms > 0) return Math.min(LONGEST_TIMER_MS, ms);
  // With a timeout of 0 the outcome of a create would always be unknown.
  throw new PetstoreError('usage', 'timeoutMs must be greater than 0');
}

function checkCategory(category: NewCategory): NewCategory {
  const { name, description } = (category ?? {}) as Partial<NewCategory>;
  if (typeof name !== 'string' || name.trim() === '')
    throw new PetstoreError('usage', 'the name of a category is required');
  if (description === undefined || typeof description === 'string') return category;
  throw new PetstoreError('usage', 'the description of a category must be a string');
}

// Rounds numbers to the nearest double, except the id.
function plain({ id, ...rest }: Category): Category {
  return { id, ...(toPlainJson(rest) as typeof rest) };
}

function closedError(): PetstoreError {
  return new PetstoreError('usage', 'the client is closed', { hint: 'create another client' });
}

// Omits the facts for the command line, and redacts the key, which the service may have repeated.
function publicError(thrown: unknown, signal: AbortSignal | undefined, redactor: Redactor): PetstoreError {
  const isAbort = signal?.aborted && (thrown === signal.reason || !(thrown instanceof PetstoreError));
  const error = isAbort
    ? new PetstoreError('interrupted', 'the call was aborted', { cause: thrown })
    : toPetstoreError(thrown);
  const { kind, message, code, serviceMessage, status, retryAt, processed, cause } = error;
  // The hint of an unexpected error names an option of the command line.
  const hint = kind === 'internal' ? undefined : error.hint;
  const redact = (text: string | undefined): string | undefined => text && redactor.redact(text);
  const redacted = { hint: redact(hint), code: redact(code), serviceMessage: redact(serviceMessage) };
  return new PetstoreError(kind, redactor.redact(message), { ...redacted, status, retryAt, processed, cause });
}
