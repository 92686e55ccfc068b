// The client library: `import { createClient } from 'petstore-cli'`, with the limits and retries of the command line.
import { homedir } from 'node:os';
import { checkedRequest, checkNewCategory, checkWanted } from './api/arguments.ts';
import type { Api } from './api/categories.ts';
import { createApi } from './api/categories.ts';
import { createCategory, getCategory } from './api/lookup.ts';
import { deprecationNotices, jsonValue } from './api/raw-request.ts';
import type { Category, CategoryId, NewCategory } from './api/types.ts';
import type {
  ApiResponse,
  CallOptions,
  Client,
  ClientOptions,
  CreateOptions,
  RequestOptions,
  Wait,
} from './client-types.ts';
import { systemClock } from './clock.ts';
import type { ErrorKind } from './error-kind.ts';
import type { ErrorDetails } from './errors.ts';
import { PetstoreError, toPetstoreError } from './errors.ts';
import type { HttpClient } from './http/http-client.ts';
import { sharedMemory } from './rate-limit/machine-ledger.ts';
import type { Quota, QuotaWindow } from './rate-limit/quota.ts';
import { Service } from './service.ts';
import {
  checkAtLeastZero,
  checkCount,
  checkListener,
  checkOptions,
  checkPath,
  checkTimeout,
} from './settings/check-options.ts';
import { checkBaseUrl, checkKey } from './settings/credential-rules.ts';
import { stateDir } from './settings/paths.ts';
import type { StateServer } from './shared-log/state-server.ts';
import { parseStateUrl } from './shared-log/state-url.ts';
import { toPlainJson } from './text/json.ts';
import { Redactor } from './text/redact.ts';
import { VERSION } from './version.ts';

export type {
  ApiResponse,
  CallOptions,
  Category,
  CategoryId,
  Client,
  ClientOptions,
  CreateOptions,
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
const LIMITS = ['maxWaitMs', 'maxRetries', 'timeoutMs'];
const OPTIONS = ['baseUrl', 'apiKey', 'stateDir', 'stateUrl', 'statePassword', ...LIMITS, 'onWait', 'onWarning'];

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
  const { url: baseUrl } = checkBaseUrl(given.baseUrl, 'baseUrl');
  const key = checkKey(given.apiKey, 'apiKey');
  const redactor = new Redactor();
  redactor.add(key);
  const onWait = checkListener(given.onWait, 'onWait');
  const onWarning = checkListener(given.onWarning, 'onWarning');
  const warn = (text: string): void => onWarning(redactor.redact(text));
  const stateServer = lazyStateServer(given, warn);
  const service = new Service({
    ...{ baseUrl, key, env: process.env, version: VERSION, clock: systemClock, signal: new AbortController().signal },
    limits: {
      maxWaitMs: checkAtLeastZero(given.maxWaitMs ?? 120_000, 'maxWaitMs'),
      maxRetries: checkCount(given.maxRetries ?? 4, 'maxRetries'),
      timeoutMs: checkTimeout(given.timeoutMs ?? 30_000),
    },
    stateDir: ledgerDir(given.stateDir),
    openMemory: () => sharedMemory({ baseUrl, key }),
    stateServer: stateServer?.open,
    onWarning: warn,
    // Only an import has other reasons to wait.
    onWait: (wait) => wait && onWait({ until: wait.until, reason: wait.reason as Wait['reason'] }),
  });
  let closed: Promise<void> | undefined;

  // Runs a call, which sends each request with the call's own signal and timeout.
  const call = async <Options extends CallOptions, Result>(
    options: Options | undefined,
    names: readonly string[],
    work: (send: Send, options: Options) => Promise<Result>,
  ): Promise<Result> => {
    let signal: AbortSignal | undefined;
    try {
      if (closed !== undefined) throw closedError();
      const one = checkOptions<Options>(options, [...CALL_OPTIONS, ...names], 'the call');
      ({ signal } = one);
      if (signal && !(signal instanceof AbortSignal)) throw new PetstoreError('usage', 'signal must be an AbortSignal');
      const timeoutMs = one.timeoutMs === undefined ? undefined : checkTimeout(one.timeoutMs);
      return await work(async (request) => (await service.httpClient()).send({ ...request, signal, timeoutMs }), one);
    } catch (error) {
      throw publicError(error, signal, redactor);
    }
  };
  const operations = (send: Send): Api['categories'] => createApi({ send }).categories;
  const close = (): Promise<void> => (closed ??= service.close().then(() => stateServer?.close()));
  return {
    categories: {
      list: (options) =>
        call(options, [], async (send) => {
          const { listed, flaw } = await operations(send).list();
          if (flaw) warn(flaw.reason);
          return listed.map(plain);
        }),
      get: (category, options) =>
        call(options, [], async (send) => plain(await getCategory(operations(send), checkWanted(category)))),
      create: (category, options) =>
        call(options, ['ifMissing'], async (send, { ifMissing }) => {
          const checked = checkNewCategory(category);
          return plain((await createCategory(operations(send), checked, ifMissing === true, warn)).category);
        }),
    },
    request: (method, path, options) =>
      call(options, ['body'], async (send, { body }) => {
        const outgoing = checkedRequest(method, path, body);
        const response = await send(outgoing);
        deprecationNotices(outgoing.method, outgoing.path, response.headers).forEach(warn);
        return { status: response.status, headers: response.headers, body: jsonValue(response.body) };
      }),
    quota() {
      if (closed !== undefined) throw closedError();
      return service.quota();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

type Send = HttpClient['send'];

// The code for the state server is loaded at the first call.
function lazyStateServer({ stateUrl, statePassword }: Partial<ClientOptions>, onOutage: (text: string) => void) {
  if (!stateUrl) return undefined;
  const connection = parseStateUrl(stateUrl, statePassword, 'stateUrl');
  let server: StateServer | undefined;
  return {
    async open(): Promise<StateServer> {
      const { StateServer } = await import('./shared-log/state-server.ts');
      server ??= new StateServer({ connection, clock: systemClock, onOutage });
      return server;
    },
    close: () => server?.close(),
  };
}

// Null keeps the ledger in memory; undefined, without a home directory, does so with a warning.
function ledgerDir(given: string | null | undefined): string | null | undefined {
  if (given === null) return null;
  if (given !== undefined) return checkPath(given, 'stateDir');
  const { env, platform } = process;
  try {
    return stateDir({ env, platform, homeDir: homedir() });
  } catch {
    return undefined;
  }
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
