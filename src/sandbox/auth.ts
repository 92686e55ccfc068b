// Who may use the sandbox: requests to its own host, not from a web page, with one of its keys.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { HttpError } from './response.ts';

/** Rejects what a web page could send: a foreign Host (DNS rebinding) or any Origin. */
export function checkOrigin(request: IncomingMessage, port: number): void {
  const { host, origin } = request.headers;
  if (host === undefined) throw new HttpError(400, 'missing_host', 'the Host header is missing');
  const hosts = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  if (hosts.length > 1) throw new HttpError(400, 'invalid_host', 'there must be exactly one Host header');
  if (origin !== undefined) throw new HttpError(403, 'origin_refused', 'requests with an Origin header are refused');
  // Clients leave out the default port (RFC 9110, section 7.2).
  const [, name, at = '80'] = /^(127\.0\.0\.1|localhost)(?::(\d+))?$/i.exec(host) ?? [];
  if (name === undefined || at !== String(port)) {
    throw new HttpError(403, 'host_refused', `the Host must be 127.0.0.1:${port} or localhost:${port}`);
  }
}

export class Authenticator {
  readonly #digests: readonly Buffer[];

  constructor(keys: readonly string[]) {
    this.#digests = keys.map(digest);
  }

  /** Returns what identifies the key in logs, which never contain it; undefined if there is no key or it is not one of ours. */
  authenticate(authorization: string | undefined): string | undefined {
    const key = /^bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? '')?.[1];
    if (key === undefined) return undefined;
    const given = digest(key);
    // Compares with every key, so that the time taken reveals nothing.
    const matches = this.#digests.filter((known) => timingSafeEqual(known, given));
    return matches.length > 0 ? given.toString('hex').slice(0, 16) : undefined;
  }
}

function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
