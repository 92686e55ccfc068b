// The calls of a program that uses the library: each checks its arguments, since JavaScript programs may pass anything, has its
// own signal and timeout, and is rejected with a public error.
import { setMaxListeners } from 'node:events';
import { PetstoreError, toPetstoreError } from '../errors.ts';
import type { HttpClient } from '../http/http-client.ts';
import type { HttpRequest } from '../http/types.ts';
import type { CallOptions, Category, CategoryId, ImportDocument, NewCategory } from '../public-types.ts';
import { checkOptions, checkTimeout, invalidValueError, newCategoryProblem } from '../settings/check-options.ts';
import { formatChoices } from '../text/format.ts';
import { stringifyJson, toPlainJson } from '../text/json.ts';
import type { Redactor } from '../text/redact.ts';
import type { Categories } from './categories.ts';
import { createCategories } from './categories.ts';
import { METHODS, rawRequest } from './raw-request.ts';

/** One call, whose requests share a signal and a timeout. */
interface Call {
  readonly categories: Categories;
  readonly send: HttpClient['send'];
  /** Aborts the requests of the call; the reason is a PetstoreError. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

interface CallsOptions {
  readonly httpClient: () => Promise<HttpClient>;
  /** The timeout of calls that have none of their own. */
  readonly timeoutMs: number;
  readonly redactor: Redactor;
}

export class Calls {
  readonly #options: CallsOptions;
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /**
   * @param names the options of this call besides `signal` and `timeoutMs`
   * @throws PetstoreError
   */
  async run<Options extends CallOptions, Result>(
    given: Options | undefined,
    names: readonly string[],
    work: (call: Call, options: Options) => Promise<Result>,
  ): Promise<Result> {
    const { httpClient, redactor } = this.#options;
    const abort = new AbortController();
    // An import has many requests in flight, which is not a leak.
    setMaxListeners(0, abort.signal);
    let unlink = (): void => undefined;
    try {
      this.checkOpen();
      const options = checkOptions<Options>(given, ['signal', 'timeoutMs', ...names], 'the call');
      unlink = abortAfter(options.signal, abort);
      const timeoutMs = checkTimeout(options.timeoutMs ?? this.#options.timeoutMs);
      const { signal } = abort;
      const send: Call['send'] = async (request) => (await httpClient()).send({ ...request, signal, timeoutMs });
      const result = work({ categories: createCategories({ send }), send, signal, timeoutMs }, options);
      this.#running.add(result);
      return await result.finally(() => this.#running.delete(result));
    } catch (error) {
      throw publicError(error, redactor);
    } finally {
      unlink();
    }
  }

  /** @throws PetstoreError `usage` after `close` */
  checkOpen(): void {
    if (this.#isClosed) throw new PetstoreError('usage', 'the client is closed', { hint: 'create another client' });
  }

  /** Rejects later calls, and waits for those in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
  }
}

// The signals derived from those of the program. Node.js 20 and 22 never free a result of `AbortSignal.any` before its source.
const derivedSignals = new WeakMap<AbortSignal, AbortSignal>();

// No listener is added to the program's signal, which many calls may share. Returns a function that unlinks the signals.
function abortAfter(signal: AbortSignal | undefined, call: AbortController): () => void {
  if (signal === undefined) return () => undefined;
  if (!(signal instanceof AbortSignal)) throw new PetstoreError('usage', 'signal must be an AbortSignal');
  const derived = derivedSignals.get(signal) ?? AbortSignal.any([signal]);
  derivedSignals.set(signal, derived);
  setMaxListeners(0, derived);
  const abort = (): void =>
    call.abort(new PetstoreError('interrupted', 'the call was aborted', { cause: signal.reason }));
  if (derived.aborted) abort();
  derived.addEventListener('abort', abort);
  return () => derived.removeEventListener('abort', abort);
}

/** @throws PetstoreError `usage` unless the value is a name or an object with an id */
export function checkWanted(given: unknown): string | CategoryId {
  if (typeof given === 'string' && given !== '') return given;
  const { id } = Object(given) as Partial<CategoryId>;
  if (typeof id === 'bigint' || Number.isSafeInteger(id)) return { id } as CategoryId;
  throw new PetstoreError('usage', 'the category must be a name or an object with an integer id');
}

/** @throws PetstoreError `usage` unless the values can be sent as a new category */
export function checkNewCategory(given: unknown): NewCategory {
  const fields = ['name', 'description'];
  const { name, description } = checkOptions<Partial<NewCategory>>(given, fields, 'the category', 'field');
  const problem = description === null ? 'description must be a string' : newCategoryProblem(name, description);
  if (problem !== undefined) throw new PetstoreError('usage', `the ${problem}`);
  return { name: name as string, description };
}

/** @param body text is sent as it is; any other value is serialized */
export function checkedRequest(method: unknown, path: unknown, body: unknown): HttpRequest {
  const known = METHODS.find((one) => one === String(method).toUpperCase());
  if (!known) throw invalidValueError(method, 'method', `use ${formatChoices(METHODS)}`);
  if (typeof path !== 'string') throw new PetstoreError('usage', 'path must be a string');
  return rawRequest(known, path, body === undefined ? undefined : jsonText(body), 'the body');
}

function jsonText(body: unknown): string {
  try {
    const text = typeof body === 'string' ? body : stringifyJson(body);
    JSON.parse(text);
    // JSON has no functions and symbols, and UTF-8 cannot encode half of a surrogate pair.
    if (!/^(?:function|symbol)$/.test(typeof body) && !/\p{Surrogate}/u.test(text)) return text;
  } catch {
    // The text is not JSON, or the object has a cycle.
  }
  throw new PetstoreError('usage', 'body is not valid JSON');
}

/** Rounds numbers to the nearest double, except the id. */
export function publicCategory({ id, ...rest }: Category): Category {
  return { id, ...(toPlainJson(rest) as typeof rest) };
}

export function publicDocument(document: ImportDocument, redactor: Redactor): ImportDocument {
  return { ...withoutKeys(document, redactor), created: document.created.map(publicCategory) };
}

/** Redacts the service's messages in the document of an import: a message may repeat the key. */
export function withoutKeys(document: ImportDocument, redactor: Redactor): ImportDocument {
  const redact = <T extends string | undefined>(text: T): T => text && (redactor.redact(text) as T);
  const failed = document.failed.map((row) => ({ ...row, code: redact(row.code), message: redact(row.message) }));
  const unknown = document.unknown.map((row) => ({ ...row, reason: redact(row.reason) }));
  return { ...document, failed, unknown };
}

// Omits internal details, and redacts the key.
function publicError(thrown: unknown, redactor: Redactor): PetstoreError {
  const error = toPetstoreError(thrown);
  const { kind, message, hint, code, serviceMessage, status, retryAt, processed, problems, document, cause } = error;
  const redact = (text: string | undefined): string | undefined => text && redactor.redact(text);
  return new PetstoreError(kind, redactor.redact(message), {
    ...{ hint: redact(hint), code: redact(code), serviceMessage: redact(serviceMessage) },
    ...{ status, retryAt, processed, problems, cause },
    document: document && publicDocument(document, redactor),
  });
}
