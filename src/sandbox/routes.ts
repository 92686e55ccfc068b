// The operations of service.md, section 4, and what each answers.
import type { IncomingMessage } from 'node:http';
import { readNewCategory } from './body.ts';
import type { SandboxResponse } from './response.ts';
import { HttpError, jsonResponse } from './response.ts';
import type { Store } from './store.ts';

/** What a handler works with. */
export interface Service {
  readonly store: Store;
  /** What the served description of the service says of stability. */
  readonly markers: Markers;
}

/** Which operations carry a stability marker (service.md, section 9: which ones do is not shown). */
export type Markers = ReadonlyMap<OperationName, 'beta' | 'experimental'>;

/** One operation. */
export interface Operation {
  readonly name: OperationName;
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  /** Needs no key and is not counted. */
  readonly open?: boolean;
  readonly handle: (request: IncomingMessage, service: Service) => Promise<SandboxResponse> | SandboxResponse;
}

/** The operations by name; two of them are known by method and path only. */
export const OPERATION_NAMES = ['listCategories', 'createCategory', 'GET /pets/{petId}', 'GET /store/orders'] as const;

/** The name of an operation. */
export type OperationName = (typeof OPERATION_NAMES)[number] | 'openapi';

// The document names a sunset date and does not show it: these are the sandbox's own (RFC 9745 and RFC 8594).
const DEPRECATED = { Deprecation: '@1767225600', Sunset: 'Fri, 31 Dec 2027 23:59:59 GMT' };

const OPERATIONS: readonly Operation[] = [
  {
    name: 'listCategories',
    method: 'GET',
    path: /^\/v1\/categories$/,
    handle: (_request, { store }) => jsonResponse(200, store.list()),
  },
  {
    name: 'createCategory',
    method: 'POST',
    path: /^\/v1\/categories$/,
    handle: createCategory,
  },
  {
    name: 'GET /pets/{petId}',
    method: 'GET',
    path: /^\/v1\/pets\/[^/]+$/,
    handle: () =>
      notShown('the document names GET /pets/{petId} (deprecated) and shows nothing more of it', DEPRECATED),
  },
  {
    name: 'GET /store/orders',
    method: 'GET',
    path: /^\/v1\/store\/orders$/,
    handle: () => notShown('the document names GET /store/orders and shows nothing more of it'),
  },
  {
    name: 'openapi',
    method: 'GET',
    path: /^\/v1\/openapi\.json$/,
    open: true,
    handle: async (_request, { markers }) => {
      const { describeService } = await import('./openapi.ts');
      return jsonResponse(200, JSON.stringify(describeService(markers)));
    },
  },
];

async function createCategory(request: IncomingMessage, { store }: Service): Promise<SandboxResponse> {
  const created = await store.create(await readNewCategory(request));
  if (created !== undefined) return jsonResponse(201, created);
  if (store.isOutOfIds()) throw new HttpError(507, 'ids_exhausted', 'no id is left that an int64 can hold');
  throw new HttpError(507, 'storage_full', 'the sandbox holds as many categories as it can');
}

function notShown(message: string, headers: Readonly<Record<string, string>> = {}): never {
  throw new HttpError(501, 'not_implemented', message, headers);
}

/**
 * Finds the operation of a request.
 * @param method the request's method
 * @param target the request's target, with or without a query; also in absolute form (RFC 9112, 3.2.2)
 * @returns the operation, or the failure to answer with: 404, or 405 with `Allow`
 */
export function findOperation(method: string, target: string): Operation | HttpError {
  const path = target.replace(/^http:\/\/[^/?]*/i, '').replace(/[?#].*$/s, '');
  const there = OPERATIONS.filter((operation) => operation.path.test(path));
  const found = there.find((operation) => operation.method === method);
  if (found) return found;
  if (there.length > 0) {
    const allow = there.map((operation) => operation.method).join(', ');
    return new HttpError(405, 'method_not_allowed', `this path allows ${allow}`, { Allow: allow });
  }
  const hint = path.startsWith('/v1/')
    ? 'there is nothing at this path'
    : 'there is nothing here: every path begins with /v1';
  return new HttpError(404, 'not_found', hint);
}
