// Parses the URL of a state server.
import { PetstoreError } from '../errors.ts';

export interface StateServerConnection {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
}

/**
 * Messages omit the URL, since it may contain a password.
 * @param name the name of the setting, for messages
 * @throws PetstoreError `usage`
 */
export function parseStateUrl(text: string, password: string | undefined, name: string): StateServerConnection {
  const wrong = (problem: string): PetstoreError =>
    new PetstoreError('usage', `${name} ${problem}`, { hint: 'use a URL such as rediss://user@host:6379/0' });
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const [, scheme] = /^(rediss?|valkeys?):$/.exec(url?.protocol ?? '') ?? [];
  if (!url || !scheme) throw wrong('must be a redis://, rediss://, valkey:// or valkeys:// URL');
  if (url.hostname === '') throw wrong('has no host');
  if (url.search !== '' || url.hash !== '') throw wrong('must not contain a query or a fragment');
  const database = /^\/?(\d{0,4})$/.exec(url.pathname)?.[1];
  if (database === undefined) throw wrong('has an invalid database number');
  const decoded = (part: string): string | undefined => {
    try {
      return part === '' ? undefined : decodeURIComponent(part);
    } catch {
      throw wrong('contains invalid percent-encoding');
    }
  };
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || 6379),
    tls: scheme === 'rediss' || scheme === 'valkeys',
    username: decoded(url.username),
    password: password || decoded(url.password),
    database: Number(database),
  };
}
