// Who may speak to the sandbox: a Host of its own, no web page, and the holder of a key it was started with.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { fingerprint } from './limiter.ts';
import { HttpError } from './response.ts';

/** A caller whose key is valid. */
export interface AuthenticatedKey {
  readonly key: string;
  readonly fingerprint: string;
}

/**
 * Refuses what a web page could send: a foreign Host (DNS rebinding), or any Origin (contract, section 8).
 * @param request the request's head
 * @param port the port this server listens on
 * @throws Failure 400 without a Host, 403 else
 */
export function checkOrigin(request: IncomingMessage, port: number): void {
  const { host, origin } = request.headers;
  if (host === undefined) throw new HttpError(400, 'missing_host', 'a request needs a Host header');
  const hosts = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  if (hosts.length > 1) throw new HttpError(400, 'invalid_host', 'a request has one Host header');
  if (origin !== undefined)
    throw new HttpError(403, 'origin_refused', 'the sandbox answers no web page: a request with an Origin is refused');
  const name = host.toLowerCase();
  if (name !== `127.0.0.1:${port}` && name !== `localhost:${port}`) {
    throw new HttpError(403, 'host_refused', `the sandbox answers to 127.0.0.1:${port} and localhost:${port} only`);
  }
}

/** Knows the keys, and tells callers by them without telling by its timing how near a wrong one came. */
export class Authenticator {
  readonly #callers: readonly { readonly caller: AuthenticatedKey; readonly digest: Buffer }[];

  /** @param keys the keys the sandbox was started with */
  constructor(keys: readonly string[]) {
    this.#callers = keys.map((key) => ({ caller: { key, fingerprint: fingerprint(key) }, digest: digestOf(key) }));
  }

  /**
   * @param authorization the header's value, `Bearer KEY` (service.md, section 5)
   * @returns the caller; undefined where the header is missing or its key is none of ours
   */
  identify(authorization: string | undefined): AuthenticatedKey | undefined {
    const key = /^bearer +([\x21-\x7e]+) *$/i.exec(authorization ?? '')?.[1];
    if (key === undefined) return undefined;
    const digest = digestOf(key);
    let found: AuthenticatedKey | undefined;
    // No early return: every key is compared, whichever matches.
    for (const known of this.#callers) if (timingSafeEqual(known.digest, digest)) found = known.caller;
    return found;
  }
}

function digestOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
