// The body of a create: read up to a limit, parsed as JSON, validated as a NewCategory.
import type { IncomingMessage } from 'node:http';
import { HttpError } from './response.ts';
import type { CategoryInput } from './store.ts';

const MAX_BODY_BYTES = 1024 * 1024;

/** The client closed the connection before its request was complete. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** @throws HttpError 400, 413 or 415; ClientGone */
export async function readNewCategory(request: IncomingMessage): Promise<CategoryInput> {
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw new HttpError(415, 'unsupported_media_type', 'the Content-Type must be application/json');
  }
  return validate(parse(await readBody(request)));
}

// Uses events, because an async iterator costs more than all other work on a small body.
function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MAX_BODY_BYTES) chunks.push(chunk);
    });
    // Read even a body that is too large, because clients read the response only after sending it.
    request.on('end', () => {
      if (size <= MAX_BODY_BYTES) resolve(Buffer.concat(chunks));
      else reject(new HttpError(413, 'body_too_large', `the body exceeds ${MAX_BODY_BYTES} bytes`));
    });
    request.on('close', () => reject(new ClientGone()));
  });
}

function parse(body: Buffer): unknown {
  if (body.length === 0) throw new HttpError(400, 'invalid_json', 'the body is empty; send a JSON object with a name');
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    // Replace the parser's message, which quotes the body.
    throw new HttpError(400, 'invalid_json', 'the body is not valid JSON in UTF-8');
  }
}

function validate(value: unknown): CategoryInput {
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
