// A request's body: read up to a limit, taken as JSON, checked as a NewCategory.
import type { IncomingMessage } from 'node:http';
import { HttpError } from './response.ts';
import type { CategoryInput } from './store.ts';

/** The largest body, bytes. */
export const LARGEST_BODY = 1024 * 1024;
// A client that sends a little too much reads the answer only after its last byte: so much is read and dropped.
const DRAINED = 8 * LARGEST_BODY;

/** The client went away before its body was whole: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/**
 * Reads the body of a create.
 * @param request its head is read already
 * @returns checked values
 * @throws Failure 400, 413, 415; ClientGone
 */
export async function readNewCategory(request: IncomingMessage): Promise<CategoryInput> {
  checkType(request);
  return checkCategory(parse(await readBody(request)));
}

function checkType(request: IncomingMessage): void {
  const { 'content-type': type, 'content-encoding': encoding } = request.headers;
  const known = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(type ?? '');
  if (!known)
    throw new HttpError(415, 'unsupported_media_type', 'the body must be sent with Content-Type: application/json');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new HttpError(415, 'unsupported_media_type', 'the body must be sent without a Content-Encoding');
  }
}

// By events: an async iterator costs more than everything else that is done with a small body.
function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const tooLarge = (): HttpError =>
      new HttpError(413, 'body_too_large', `the body is larger than ${LARGEST_BODY} bytes`, { Connection: 'close' });
    if (Number(request.headers['content-length']) > DRAINED) return reject(tooLarge());
    const pieces: Buffer[] = [];
    let size = 0;
    request.on('data', (piece: Buffer) => {
      size += piece.length;
      if (size > DRAINED) reject(tooLarge());
      else if (size <= LARGEST_BODY) pieces.push(piece);
    });
    request.on('end', () => (size > LARGEST_BODY ? reject(tooLarge()) : resolve(Buffer.concat(pieces))));
    request.on('error', () => reject(new ClientGone()));
    request.on('close', () => reject(new ClientGone()));
  });
}

function parse(body: Buffer): unknown {
  if (body.length === 0)
    throw new HttpError(400, 'invalid_json', 'the body is empty: a JSON object with a name is required');
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    // The parser's own message quotes the body.
    throw new HttpError(400, 'invalid_json', 'the body is not valid JSON in UTF-8');
  }
}

// service.md, section 4: name is required, description optional; length and uniqueness are left open, so both are free.
function checkCategory(value: unknown): CategoryInput {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('the body must be a JSON object');
  const fields = new Map(Object.entries(value));
  if (fields.has('id')) throw invalid('id is assigned by the service: leave it out');
  const name = fields.get('name');
  const description = fields.get('description');
  if (name === undefined) throw invalid('name is required');
  if (typeof name !== 'string') throw invalid('name must be a string');
  if (name.trim() === '') throw invalid('name must not be empty');
  if (description === undefined) return { name };
  if (typeof description !== 'string') throw invalid('description must be a string, or left out');
  return { name, description };
}

function invalid(message: string): HttpError {
  return new HttpError(400, 'invalid_category', message);
}
