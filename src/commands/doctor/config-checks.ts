// The checks of `petstore doctor` on this machine: Node, configuration, profile, URL and key.
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PetstoreError } from '../../errors.ts';
import { environmentSuffices, namedProfile, storedProfile } from '../../profiles/credentials.ts';
import { SANDBOX } from '../../profiles/store.ts';
import { maskKey } from '../../redact.ts';
import type { Session } from '../../session.ts';
import type { CheckResult } from './check.ts';
import { ok, skipped, warning } from './check.ts';

const OLDEST_NODE = '20.18.1';

/** @throws PetstoreError `usage` for a version that is too old */
export function checkNode(version: string): CheckResult {
  // Compares the numbers in it as numbers.
  if (version.localeCompare(OLDEST_NODE, 'en', { numeric: true }) >= 0) return ok(version);
  throw new PetstoreError('usage', `Node ${version} is too old`, { hint: `install Node ${OLDEST_NODE} or later` });
}

/** @returns whether the stored configuration can be read, and by its owner only */
export async function checkConfig(session: Session): Promise<CheckResult> {
  const { env, platform } = session.context;
  if (environmentSuffices(env)) return skipped('not read: key and base URL come from the environment');
  const dir = session.configDir;
  const wide = platform === 'win32' ? [] : tooWide(dir);
  // Reading checks owner and content, and restricts the files' permissions.
  const store = await session.profiles();
  const profiles = store.names().filter((name) => store.get(name) !== undefined);
  if (wide.includes(dir)) return warning(`other users can read ${dir}`, `chmod 700 '${dir}'`);
  const fixed = wide.length === 0 ? '' : '; other users could read a key until now: consider replacing it';
  const count = profiles.length === 1 ? '1 profile' : `${profiles.length} profiles`;
  const access = platform === 'win32' ? '' : ', readable only by you';
  return ok(`${dir}: ${count}${access}${fixed}`);
}

function tooWide(dir: string): readonly string[] {
  try {
    const files = readdirSync(dir).map((name) => join(dir, name));
    return [dir, ...files].filter((path) => (lstatSync(path).mode & 0o077) !== 0);
  } catch {
    // No folder yet, or one that the store reports as unreadable.
    return [];
  }
}

/** @throws PetstoreError `usage` where there is no profile of that name, `storage` */
export async function checkProfile(session: Session): Promise<CheckResult> {
  const { env } = session.context;
  const named = namedProfile({ env, profile: session.options.profile });
  if (named?.name === SANDBOX) return ok(`${SANDBOX} (built in)`);
  if ((named === undefined || named.from) && environmentSuffices(env)) {
    return ok(`${named?.name ?? 'none'} (key and base URL from the environment)`);
  }
  const store = await session.profiles();
  const name = named?.name ?? store.active();
  storedProfile(store, name, named?.from);
  return ok(`${name} (${named === undefined ? 'active' : `from ${named.from ?? '--profile'}`})`);
}

const SOURCES: Readonly<Record<string, string>> = {
  environment: 'from the environment',
  command: 'from a key command',
};

/** @throws PetstoreError where URL or key is missing or invalid */
export async function checkTarget(session: Session): Promise<CheckResult> {
  const { baseUrl, key, keySource, urlSource } = await session.target();
  if (keySource === 'sandbox') return ok('not applicable to the sandbox');
  const from = (source: string): string => SOURCES[source] ?? source;
  return ok(`${baseUrl} (${from(urlSource)}), key ${maskKey(key)} (${from(keySource)})`);
}
