// The operations in docs/service.md, and their responses to a request with a valid key.
import type { IncomingMessage } from 'node:http';
import openapi from './openapi.json' with { type: 'json' };
import type { SandboxResponse } from './response.ts';
import { HttpError, jsonResponse } from './response.ts';
import type { CategoryInput, Store } from './store.ts';

type Operation = (request: IncomingMessage, store: Store) => Promise<SandboxResponse>;

/** A request for this path needs no key and is not counted. */
export const OPENAPI_PATH = '/v1/openapi.json';
export const openapiResponse = (): SandboxResponse => jsonResponse(200, JSON.stringify(openapi));

// RFC 9745 and RFC 8594; the service documents a sunset, but no date.
const DEPRECATED = { Deprecation: '@1767225600', Sunset: 'Fri, 31 Dec 2027 23:59:59 GMT' };

/** By path and method. */
const OPERATIONS: Readonly<Record<string, Readonly<Record<string, Operation>>>> = {
  '/v1/categories': {
    GET: async (_request, store) => jsonResponse(200, store.list()),
    POST: async (request, store) => jsonResponse(201, store.create(await readNewCategory(request))),
  },
  '/v1/pets/{petId}': { GET: () => notImplemented('GET /pets/{petId} is deprecated and not implemented', DEPRECATED) },
  '/v1/store/orders': { GET: () => notImplemented('GET /store/orders is not implemented') },
};

/** @throws HttpError 404, or 405 with `Allow` */
export function findOperation(method: string, path: string): Operation {
  const operations = OPERATIONS[path.replace(/^\/v1\/pets\/[^/]+$/, '/v1/pets/{petId}')];
  if (!operations) {
    const prefix = path.startsWith('/v1/') ? '' : '; every path begins with /v1/';
    throw new HttpError(404, 'not_found', `path not found${prefix}`);
  }
  const operation = operations[method];
  if (operation) return operation;
  const allow = Object.keys(operations).join(', ');
  throw new HttpError(405, 'method_not_allowed', `this path allows ${allow}`, { Allow: allow });
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
  if (size > MAX_BODY_BYTES) throw new HttpError(413, 'body_too_large', 'the body exceeds 1 MiB');
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
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidBodyError('the body must be an object');
  const { id, name, description } = value as Readonly<Record<string, unknown>>;
  if (id !== undefined) throw invalidBodyError('id is assigned by the service; omit it');
  if (name === undefined) throw invalidBodyError('name is required');
  if (typeof name !== 'string') throw invalidBodyError('name must be a string');
  if (name.trim() === '') throw invalidBodyError('name must not be blank');
  if (description === undefined) return { name };
  if (typeof description !== 'string') throw invalidBodyError('description must be a string');
  return { name, description };
}

function invalidBodyError(message: string): HttpError {
  return new HttpError(400, 'invalid_category', message);
}
