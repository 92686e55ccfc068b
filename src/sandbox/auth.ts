// Access control of the sandbox: a request needs a valid key and must not come from a web page.
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { HttpError } from './response.ts';

/** Rejects requests that a web page could send: a foreign Host (DNS rebinding) or any Origin. */
export function checkOrigin({ headers }: Pick<IncomingMessage, 'headers'>, port: number): void {
  const { host = '', origin } = headers;
  if (origin !== undefined) throw new HttpError(403, 'origin_rejected', 'requests with an Origin header are rejected');
  // Clients omit the default port (RFC 9110, section 7.2).
  const [, name, at = '80'] = /^(127\.0\.0\.1|localhost)(?::(\d+))?$/i.exec(host) ?? [];
  if (name === undefined || at !== String(port)) {
    throw new HttpError(403, 'host_rejected', `the Host must be 127.0.0.1:${port} or localhost:${port}`);
  }
}

/** Maps each key to its id in logs, which never contain the key. */
export function identifyKeys(keys: readonly string[]): ReadonlyMap<string, string> {
  return new Map(keys.map((key) => [key, createHash('sha256').update(key).digest('hex').slice(0, 16)]));
}

/** Returns the id of the request's API key; undefined if the key is missing or invalid. */
export function keyOf({ headers }: IncomingMessage, keys: ReadonlyMap<string, string>): string | undefined {
  return keys.get(/^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? '');
}

export function unauthorized({ headers }: IncomingMessage): HttpError {
  const missing = 'the API key is missing; send Authorization: Bearer <API_KEY>';
  const message = headers.authorization === undefined ? missing : 'the API key is not valid';
  return new HttpError(401, 'unauthorized', message, { 'WWW-Authenticate': 'Bearer' });
}
