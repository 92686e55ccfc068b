// The operations of docs/service.md and their responses.
import type { IncomingMessage } from 'node:http';
import { readNewCategory } from './new-category.ts';
import openapi from './openapi.json' with { type: 'json' };
import type { SandboxResponse } from './response.ts';
import { HttpError, jsonResponse } from './response.ts';
import type { Store } from './store.ts';

interface Operation {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  /** Needs no key and is not counted. */
  readonly public?: boolean;
  readonly handle: (request: IncomingMessage, service: { readonly store: Store }) => Promise<SandboxResponse>;
}

// RFC 9745 and RFC 8594; the service documents a sunset, but no date.
const DEPRECATED = { Deprecation: '@1767225600', Sunset: 'Fri, 31 Dec 2027 23:59:59 GMT' };

const OPERATIONS: readonly Operation[] = [
  { method: 'GET', path: /^\/v1\/categories$/, handle: async (_request, { store }) => jsonResponse(200, store.list()) },
  {
    method: 'POST',
    path: /^\/v1\/categories$/,
    handle: async (request, { store }) => jsonResponse(201, store.create(await readNewCategory(request))),
  },
  {
    method: 'GET',
    path: /^\/v1\/pets\/[^/]+$/,
    handle: () => notImplemented('GET /pets/{petId} is deprecated and not implemented in the sandbox', DEPRECATED),
  },
  {
    method: 'GET',
    path: /^\/v1\/store\/orders$/,
    handle: () => notImplemented('GET /store/orders is not implemented in the sandbox'),
  },
  {
    method: 'GET',
    path: /^\/v1\/openapi\.json$/,
    public: true,
    handle: async () => jsonResponse(200, JSON.stringify(openapi)),
  },
];

async function notImplemented(message: string, headers: Readonly<Record<string, string>> = {}): Promise<never> {
  throw new HttpError(501, 'not_implemented', message, headers);
}

/**
 * @param target with or without a query, also in absolute form (RFC 9112, section 3.2.2)
 * @returns the operation, or the error to respond with: 404, or 405 with `Allow`
 */
export function findOperation(method: string, target: string): Operation | HttpError {
  const path = target.replace(/^http:\/\/[^/?]*/i, '').replace(/[?#].*$/s, '');
  const candidates = OPERATIONS.filter((operation) => operation.path.test(path));
  const found = candidates.find((operation) => operation.method === method);
  if (found) return found;
  if (candidates.length > 0) {
    const allow = candidates.map((operation) => operation.method).join(', ');
    return new HttpError(405, 'method_not_allowed', `this path allows ${allow}`, { Allow: allow });
  }
  const message = path.startsWith('/v1/') ? 'path not found' : 'every path begins with /v1/';
  return new HttpError(404, 'not_found', message);
}
