// The client library: `import { createClient } from 'petstore-cli'`, with the limits and retries of the command line.
import { homedir } from 'node:os';
import { changedNameWarning, createApi } from './api/categories.ts';
import { checkedRequest, deprecationNotices, jsonValue } from './api/raw-request.ts';
import type { Category, NewCategory } from './api/types.ts';
import type { ApiResponse, CallOptions, Client, ClientOptions, RequestOptions, Wait } from './client-types.ts';
import { MAX_TIMER_MS, systemClock } from './clock.ts';
import type { ErrorKind } from './error-kind.ts';
import type { ErrorDetails } from './errors.ts';
import { PetstoreError, toPetstoreError } from './errors.ts';
import { HttpClient } from './http/http-client.ts';
import { createTransport } from './http/transport.ts';
import type { HttpClientOptions, HttpRequest } from './http/types.ts';
import type { KeyState } from './rate-limit/key-state.ts';
import { ledgerFormat } from './rate-limit/ledger-format.ts';
import { ledgerName, openMachineLedger } from './rate-limit/machine-ledger.ts';
import type { Quota, QuotaWindow } from './rate-limit/quota.ts';
import { inMemoryUrls } from './sandbox/in-memory.ts';
import { checkOptions, checkPath } from './settings/check-options.ts';
import { checkBaseUrl, checkKey } from './settings/credential-rules.ts';
import { stateDir } from './settings/paths.ts';
import { MemoryLog } from './shared-log/log.ts';
import type { StateServer } from './shared-log/state-server.ts';
import { parseStateUrl } from './shared-log/state-url.ts';
import { toPlainJson } from './text/json.ts';
import { Redactor } from './text/redact.ts';
import { VERSION } from './version.ts';

export type {
  ApiResponse,
  CallOptions,
  Category,
  Client,
  ClientOptions,
  ErrorDetails,
  ErrorKind,
  NewCategory,
  Quota,
  QuotaWindow,
  RequestOptions,
  Wait,
};
export { PetstoreError };

const CALL_OPTIONS = ['signal', 'timeoutMs'];
const CATEGORY_FIELDS = ['name', 'description'];
const LIMITS = ['maxWaitMs', 'maxRetries', 'timeoutMs'];
const OPTIONS = ['baseUrl', 'apiKey', 'stateDir', 'stateUrl', 'statePassword', ...LIMITS, 'onWait', 'onWarning'];

type Send = HttpClient['send'];

/**
 * Creates a client. All petstore processes and clients that use the same base URL, key and state directory share one rate limit.
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
  const onWait = listener(given.onWait, 'onWait');
  const onWarning = listener(given.onWarning, 'onWarning');
  const limits = {
    maxWaitMs: checkNumber(given.maxWaitMs ?? 120_000, 'maxWaitMs'),
    maxRetries: checkNumber(given.maxRetries ?? 4, 'maxRetries', 'whole number', Number.isInteger),
    timeoutMs: checkTimeout(given.timeoutMs ?? 30_000),
  };
  const redactor = new Redactor();
  redactor.add(key);
  const warn = (text: string): void => onWarning(redactor.redact(text));
  const service = openService(given, url, key, warn, {
    limits,
    // Only an import has other reasons to wait.
    onWait: (wait) => wait && onWait({ until: wait.until, reason: wait.reason as Wait['reason'] }),
  });
  let closed: Promise<void> | undefined;

  const call = async <T>(options: unknown, work: (send: Send) => Promise<T>, names = CALL_OPTIONS): Promise<T> => {
    let signal: AbortSignal | undefined;
    try {
      if (closed) throw closedError();
      const one = checkOptions<CallOptions>(options, names, 'the call');
      ({ signal } = one);
      if (signal && !(signal instanceof AbortSignal)) throw new PetstoreError('usage', 'signal must be an AbortSignal');
      const timeoutMs = one.timeoutMs === undefined ? undefined : checkTimeout(one.timeoutMs);
      return await work(async (request) => (await service.http()).send({ ...request, signal, timeoutMs }));
    } catch (error) {
      throw publicError(error, signal, redactor);
    }
  };
  const list = async (send: Send): Promise<readonly Category[]> => {
    const { listed, flaw } = await createApi({ send }).categories.list();
    if (flaw) warn(flaw.reason);
    return listed.map(plain);
  };
  const create = async (send: Send, category: NewCategory): Promise<Category> => {
    const { name, description } = checkCategory(category);
    const created = await createApi({ send }).categories.create({ name, description });
    const warning = changedNameWarning(name, created);
    if (warning) warn(warning);
    return plain(created);
  };
  const request = async (send: Send, outgoing: HttpRequest): Promise<ApiResponse> => {
    const { status, headers, body } = await send(outgoing);
    deprecationNotices(outgoing.method, outgoing.path, headers).forEach(warn);
    return { status, headers, body: jsonValue(body) };
  };
  const close = (): Promise<void> => (closed ??= service.close());
  return {
    categories: {
      list: (options) => call(options, list),
      create: (category, options) => call(options, (send) => create(send, category)),
    },
    request: (method, path, options) =>
      call(options, (send) => request(send, checkedRequest(method, path, options?.body)), [...CALL_OPTIONS, 'body']),
    quota() {
      if (closed) throw closedError();
      return service.quota();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

type HttpOptions = Pick<HttpClientOptions, 'limits' | 'onWait'>;

function openService(
  given: Partial<ClientOptions>,
  url: string,
  key: string,
  onWarning: (text: string) => void,
  how: HttpOptions,
) {
  const clock = systemClock;
  const dir = ledgerDir(given.stateDir, url);
  const openMemory = () => sharedMemory(ledgerName({ baseUrl: url, key }));
  const own = { baseUrl: url, key, clock, onWarning, stateDir: dir, openMemory };
  const connection = given.stateUrl ? parseStateUrl(given.stateUrl, given.statePassword, 'stateUrl') : undefined;
  // The first call loads the code for the state server; until then, an empty ledger reports that nothing is known.
  let ledger = openMachineLedger(connection ? { ...own, stateDir: IN_MEMORY, openMemory: undefined } : own);
  let server: StateServer | undefined;
  let opened: Promise<HttpClient> | undefined;
  const open = async (): Promise<HttpClient> => {
    if (connection) {
      const { StateServer } = await import('./shared-log/state-server.ts');
      const { openSharedLedger } = await import('./rate-limit/shared-ledger.ts');
      server = new StateServer({ connection, clock, onOutage: onWarning });
      await ledger.close();
      ledger = openSharedLedger(server, own);
    }
    const transport = createTransport({ baseUrl: url, key, version: VERSION, env: process.env, now: clock.now });
    const { signal } = new AbortController();
    return new HttpClient({ transport, ledger, clock, signal, ...how });
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

/** The rate limits in memory: the clients of a key share one until the last of them is closed. */
const memories = new Map<string, { readonly log: MemoryLog<KeyState>; users: number }>();

function sharedMemory(name: string): MemoryLog<KeyState> {
  const leave = (): void => void (--shared.users === 0 && memories.delete(name));
  const shared = memories.get(name) ?? { log: new MemoryLog<KeyState>(ledgerFormat, [], leave), users: 0 };
  shared.users++;
  memories.set(name, shared);
  return shared.log;
}

const IN_MEMORY = null;
/** Without a home directory, the ledger is kept in memory, with a warning. */
const NO_HOME = undefined;

function ledgerDir(given: string | null | undefined, baseUrl: string): string | typeof IN_MEMORY | typeof NO_HOME {
  if (given === null) return IN_MEMORY;
  if (given !== undefined) return checkPath(given, 'stateDir');
  if (inMemoryUrls.has(baseUrl)) return IN_MEMORY;
  const { env, platform } = process;
  try {
    return stateDir({ env, platform, homeDir: homedir() });
  } catch {
    return NO_HOME;
  }
}

// Calls the listener later, so that its exception does not end a call.
function listener<T>(given: ((value: T) => void) | undefined, name: string): (value: T) => void {
  if (given === undefined) return () => undefined;
  if (typeof given !== 'function') throw new PetstoreError('usage', `${name} must be a function`);
  return (value) => queueMicrotask(() => given(value));
}

function checkNumber(value: unknown, name: string, of = 'number', isValid = Number.isFinite): number {
  if (isValid(value) && Number(value) >= 0) return Number(value);
  throw new PetstoreError('usage', `${name} must be a ${of} of at least 0`);
}

function checkTimeout(value: unknown): number {
  const ms = Math.ceil(checkNumber(value, 'timeoutMs'));
  if (ms > 0) return Math.min(MAX_TIMER_MS, ms);
  // With a timeout of 0, the outcome of a create would always be unknown.
  throw new PetstoreError('usage', 'timeoutMs must be greater than 0');
}

function checkCategory(given: unknown): NewCategory {
  const { name, description } = checkOptions<Partial<NewCategory>>(given, CATEGORY_FIELDS, 'a category', 'field');
  if (typeof name !== 'string' || name.trim() === '')
    throw new PetstoreError('usage', 'the name of a category is required');
  if (description === undefined || typeof description === 'string') return { name, description };
  throw new PetstoreError('usage', 'the description of a category must be a string');
}

// Rounds numbers to the nearest double, except the id.
function plain({ id, ...rest }: Category): Category {
  return { id, ...(toPlainJson(rest) as typeof rest) };
}

function closedError(): PetstoreError {
  return new PetstoreError('usage', 'the client is closed', { hint: 'create another client' });
}

// Omits internal details, and redacts the key, which the service may have repeated.
function publicError(thrown: unknown, signal: AbortSignal | undefined, redactor: Redactor): PetstoreError {
  const isAbort = signal?.aborted && (thrown === signal.reason || !(thrown instanceof PetstoreError));
  const error = isAbort
    ? new PetstoreError('interrupted', 'the call was aborted', { cause: thrown })
    : toPetstoreError(thrown);
  const { kind, message, hint, code, serviceMessage, status, retryAt, processed, cause } = error;
  const redact = (text: string | undefined): string | undefined => text && redactor.redact(text);
  const redacted = { hint: redact(hint), code: redact(code), serviceMessage: redact(serviceMessage) };
  return new PetstoreError(kind, redactor.redact(message), { ...redacted, status, retryAt, processed, cause });
}
