// Parses the URL of a state server.
import { PetstoreError } from '../errors.ts';

export interface StateServerConnection {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  readonly settings: StateServerSettings;
}

/** The names of the settings, for messages: options of the library or environment variables. */
export interface StateServerSettings {
  readonly url: string;
  readonly password: string;
}

/**
 * Parses `rediss://USER:PASSWORD@HOST:PORT/DATABASE`; port 6379 and database 0 by default. Messages omit the URL, since it
 * may contain a password.
 * @param password overrides that of the URL
 * @throws PetstoreError `usage`
 */
export function parseStateUrl(
  text: string,
  password: string | undefined,
  settings: StateServerSettings,
): StateServerConnection {
  const invalid = (message: string, hint = 'use a URL such as rediss://user@host:6379/0'): PetstoreError =>
    new PetstoreError('usage', message, { hint });
  const wrong = (problem: string, hint?: string): PetstoreError => invalid(`${settings.url} ${problem}`, hint);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const [, scheme] = /^(rediss?|valkeys?):$/.exec(url?.protocol ?? '') ?? [];
  if (!url || !scheme) throw wrong('must be a redis://, rediss://, valkey:// or valkeys:// URL');
  if (url.hostname === '') throw wrong('has no host');
  if (url.search !== '' || url.hash !== '') throw wrong('must not contain a query or a fragment');
  const database = /^\/?(\d{0,4})$/.exec(url.pathname)?.[1];
  // If the password contains an unescaped slash, the path contains the rest of it.
  if (url.pathname.includes('@')) throw wrong('has an unescaped slash before the host', 'write the slash as %2F');
  if (database === undefined) throw invalid(`invalid database number "${url.pathname.slice(1)}" in ${settings.url}`);
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
    settings,
  };
}
