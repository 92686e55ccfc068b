// The operations of docs/service.md: what each responds to a request with a valid key.
import type { IncomingMessage } from 'node:http';
import openapi from './openapi.json' with { type: 'json' };
import type { SandboxResponse } from './response.ts';
import { HttpError, jsonResponse } from './response.ts';
import type { CategoryInput, Store } from './store.ts';

interface Operation {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  /** Needs no key and is not counted. */
  readonly public?: boolean;
  readonly handle: (request: IncomingMessage, store: Store) => Promise<SandboxResponse>;
}

// RFC 9745 and RFC 8594; the service documents a sunset, but no date.
const DEPRECATED = { Deprecation: '@1767225600', Sunset: 'Fri, 31 Dec 2027 23:59:59 GMT' };

const OPERATIONS: readonly Operation[] = [
  { method: 'GET', path: /^\/v1\/categories$/, handle: async (_request, store) => jsonResponse(200, store.list()) },
  {
    method: 'POST',
    path: /^\/v1\/categories$/,
    handle: async (request, store) => jsonResponse(201, store.create(await readNewCategory(request))),
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

/**
 * @param target with or without a query, also in absolute form (RFC 9112, section 3.2.2)
 * @returns the operation, or the error to respond with: 404, or 405 with `Allow`
 */
export function findOperation(method: string, target: string): Operation | HttpError {
  const path = target.replace(/^http:\/\/[^/?]*/i, '').replace(/[?#].*$/s, '');
  const candidates = OPERATIONS.filter((operation) => operation.path.test(path));
  const found = candidates.find((operation) => operation.method === method);
  if (found) return found;
  if (candidates.length === 0) return new HttpError(404, 'not_found', 'path not found; every path begins with /v1/');
  const allow = candidates.map((operation) => operation.method).join(', ');
  return new HttpError(405, 'method_not_allowed', `this path allows ${allow}`, { Allow: allow });
}

async function notImplemented(message: string, headers: Readonly<Record<string, string>> = {}): Promise<never> {
  throw new HttpError(501, 'not_implemented', message, headers);
}

const MAX_BODY_BYTES = 1024 * 1024;

/** @throws HttpError 400, 413 or 415 */
async function readNewCategory(request: IncomingMessage): Promise<CategoryInput> {
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw new HttpError(415, 'unsupported_media_type', 'the Content-Type must be application/json');
  }
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // Read even a body that is too large, because clients read the response only after sending it.
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size <= MAX_BODY_BYTES) chunks.push(chunk);
    }
  } catch {
    throw new HttpError(400, 'invalid_json', 'the body is incomplete');
  }
  if (size > MAX_BODY_BYTES) throw new HttpError(413, 'body_too_large', `the body exceeds ${MAX_BODY_BYTES} bytes`);
  return toNewCategory(parse(Buffer.concat(chunks)));
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    // Replace the parser's message, which quotes the body.
    throw new HttpError(400, 'invalid_json', 'the body is not valid JSON in UTF-8');
  }
}

function toNewCategory(value: unknown): CategoryInput {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('the body must be an object');
  const { id, name, description } = value as Readonly<Record<string, unknown>>;
  if (id !== undefined) throw invalid('id is assigned by the service; omit it');
  if (name === undefined) throw invalid('name is required');
  if (typeof name !== 'string') throw invalid('name must be a string');
  if (name.trim() === '') throw invalid('name must not be empty');
  if (description === undefined) return { name };
  if (typeof description !== 'string') throw invalid('description must be a string');
  return { name, description };
}

function invalid(message: string): HttpError {
  return new HttpError(400, 'invalid_category', message);
}
