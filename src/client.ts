// The client library: `import { createClient } from 'petstore-cli'`, with the limits and retries of the command line.
/// <reference lib="esnext.disposable" preserve="true" />
import { homedir } from 'node:os';
import { Calls, checkedRequest, checkNewCategory, checkWanted, publicCategory, publicDocument } from './api/calls.ts';
import { createCategory, getCategory, incompleteListWarning } from './api/categories.ts';
import { deprecationNotices, jsonValue } from './api/raw-request.ts';
import { systemClock } from './clock.ts';
import { PetstoreError } from './errors.ts';
import type {
  ApiResponse,
  CallOptions,
  Category,
  CategoryId,
  ClientOptions,
  CreateOptions,
  ImportDocument,
  ImportOptions,
  ImportRows,
  NewCategory,
  RequestOptions,
} from './public-types.ts';
import type { Quota } from './rate-limit/quota.ts';
import { Service } from './service.ts';
import {
  checkAtLeastZero,
  checkListener,
  checkOptions,
  checkPath,
  checkTimeout,
  checkWholeNumber,
} from './settings/check-options.ts';
import { checkBaseUrl, checkKey } from './settings/credential-rules.ts';
import { stateDir } from './settings/paths.ts';
import { parseStateUrl } from './shared-log/state-url.ts';
import { Redactor } from './text/redact.ts';
import { VERSION } from './version.ts';

export type { ErrorDetails, ErrorKind, Problem } from './errors.ts';
export type * from './public-types.ts';
export type { Quota, QuotaWindow } from './rate-limit/quota.ts';
export { PetstoreError };

/** A client of one base URL with one key. Every rejection is a PetstoreError. */
export interface Client {
  readonly categories: {
    /** `GET /categories`: the categories in the service's order. If the service sent only one page, `onWarning` is called. */
    list(options?: CallOptions): Promise<readonly Category[]>;
    /** The category with exactly this name or this id, from the list; otherwise `rejected` with code `not_found` or `ambiguous`. */
    get(category: string | CategoryId, options?: CallOptions): Promise<Category>;
    /** `POST /categories`: the created category. A request that may have been processed is never sent again. */
    create(category: NewCategory, options?: CreateOptions): Promise<Category>;
    /**
     * Creates a category for each name that the list does not show, as `petstore categories import` does: one import at a
     * time. Once a create may have been sent, every error has the results so far in `document`.
     */
    import(rows: ImportRows, options?: ImportOptions): Promise<ImportDocument>;
  };
  /** Sends any request. Every status is a response, not an error, except a 429 to the last attempt. */
  request(method: string, path: string, options?: RequestOptions): Promise<ApiResponse>;
  /** The rate limit as of the last response; times are epoch milliseconds. Nothing is sent. */
  quota(): Quota;
  /** Resolves when every call has ended. A later call is rejected. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const LIMITS = ['maxWaitMs', 'maxRetries', 'timeoutMs'];
const OPTIONS = ['baseUrl', 'apiKey', 'stateDir', 'stateUrl', 'statePassword', ...LIMITS, 'onWait', 'onWarning'];

/**
 * All petstore processes and clients that use the same base URL, key and state directory share one rate limit.
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
  const connection =
    given.stateUrl &&
    parseStateUrl(given.stateUrl, given.statePassword, { url: 'stateUrl', password: 'statePassword' });
  const dir = stateDirOf(given.stateDir);
  const limits = {
    maxWaitMs: checkAtLeastZero(given.maxWaitMs ?? 120_000, 'maxWaitMs'),
    maxRetries: checkWholeNumber(given.maxRetries ?? 4, 'maxRetries', 0, 999),
    timeoutMs: checkTimeout(given.timeoutMs ?? 30_000),
  };
  const service = new Service({
    ...{ baseUrl, key, env: process.env, version: VERSION, clock: systemClock, signal: new AbortController().signal },
    limits,
    stateDir: dir,
    stateServer: connection ? { connection, clock: systemClock, onOutage: warn } : undefined,
    onWarning: warn,
    onWait: (wait) => wait && onWait({ until: wait.until, reason: wait.reason }),
  });
  const calls = new Calls({ httpClient: () => service.httpClient(), timeoutMs: limits.timeoutMs, redactor });
  let closed: Promise<void> | undefined;
  const closeOnce = async (): Promise<void> => {
    await calls.close();
    await service.close();
  };
  const close = (): Promise<void> => (closed ??= closeOnce());
  return {
    categories: {
      list: (options) =>
        calls.run(options, [], async ({ categories }) => {
          const { listed, flaw } = await categories.list();
          if (flaw) warn(incompleteListWarning(flaw));
          return listed.map(publicCategory);
        }),
      get: (category, options) =>
        calls.run(options, [], async ({ categories }) =>
          publicCategory(await getCategory(categories, checkWanted(category))),
        ),
      create: (category, options) =>
        calls.run(options, ['ifMissing'], async ({ categories }, { ifMissing }) => {
          const checked = checkNewCategory(category);
          return publicCategory((await createCategory(categories, checked, Boolean(ifMissing), warn)).category);
        }),
      import: (rows, options) =>
        calls.run(options, ['concurrency', 'onProgress'], async ({ categories, signal, timeoutMs }, given) => {
          const { importRows } = await import('./import/import-categories.ts');
          const document = await importRows(rows, given, {
            ...{ categories, target: baseUrl, clock: systemClock, signal, timeoutMs, warn },
            lockPlace: (await service.stateServer()) ?? dir,
            maxRetries: limits.maxRetries,
            onPause: (pause) => pause && onWait(pause),
          });
          return publicDocument(document, redactor);
        }),
    },
    request: (method, path, options) =>
      calls.run(options, ['body'], async ({ send }, { body }) => {
        const outgoing = checkedRequest(method, path, body);
        const response = await send(outgoing);
        deprecationNotices(outgoing.method, outgoing.path, response.headers).forEach(warn);
        return { status: response.status, headers: response.headers, body: jsonValue(response.body) };
      }),
    quota() {
      calls.checkOpen();
      return service.quota();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

// Null keeps the state in memory; the result is undefined if there is no home directory.
function stateDirOf(given: string | null | undefined): string | null | undefined {
  if (given === null) return null;
  if (given !== undefined) return checkPath(given, 'stateDir');
  const { env, platform } = process;
  try {
    return stateDir({ env, platform, homeDir: homedir() });
  } catch {
    return undefined;
  }
}
