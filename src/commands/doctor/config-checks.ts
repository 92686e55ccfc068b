// The checks of `petstore doctor` on this machine: Node, configuration, profile, URL, key and proxy.
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { PetstoreError } from '../../errors.ts';
import { proxyFor } from '../../http/proxy.ts';
import { environmentSuffices, environmentUrl, namedProfile, storedProfile } from '../../profiles/credentials.ts';
import { SANDBOX } from '../../profiles/store.ts';
import { maskKey } from '../../redact.ts';
import type { Session } from '../../session.ts';
import type { Check } from './check.ts';
import { attempt, ok, skipped } from './check.ts';

const OLDEST_NODE = [20, 18, 1] as const;

export function checkNode(version: string): Check {
  const parts = version.split('.').map((part) => Number.parseInt(part, 10));
  for (const [at, least] of OLDEST_NODE.entries()) {
    const own = parts[at] ?? 0;
    if (own > least) break;
    if (own < least) {
      const remedy = `install Node ${OLDEST_NODE.join('.')} or later`;
      const failure = new PetstoreError('usage', `Node ${version} is too old`, { hint: remedy });
      return { name: 'Node', status: 'failed', detail: failure.message, remedy, failure };
    }
  }
  return ok('Node', version);
}

/** @returns whether the stored configuration can be read, and by its owner only */
export function checkConfig(session: Session): Promise<Check> {
  return attempt('Config', async () => {
    const { env, platform } = session.context;
    if (env['PETSTORE_API_KEY'] !== undefined && env['PETSTORE_BASE_URL'] !== undefined) {
      return skipped('Config', 'not read: key and base URL come from the environment');
    }
    const dir = session.configDir;
    const wide = platform === 'win32' ? [] : tooWide(dir);
    // Reading checks owner and content, and restricts the files' permissions.
    const profiles = (await session.profiles()).list();
    if (wide.includes(dir)) {
      const detail = `other users can read ${dir}`;
      return { name: 'Config', status: 'warning', detail, remedy: `chmod 700 '${dir}'` };
    }
    const fixed = wide.length === 0 ? '' : '; other users could read a key until now: consider replacing it';
    const count = profiles.length === 1 ? '1 profile' : `${profiles.length} profiles`;
    const access = platform === 'win32' ? '' : ', readable only by you';
    return ok('Config', `${dir}: ${count}${access}${fixed}`);
  });
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

/** @returns which profile is used; failed where there is none of that name */
export function checkProfile(session: Session): Promise<Check> {
  return attempt('Profile', async () => {
    const { env } = session.context;
    const named = namedProfile({ env, profile: session.options.profile });
    if (named?.name === SANDBOX) return ok('Profile', `${SANDBOX} (built in)`);
    if ((named === undefined || named.from) && environmentSuffices(env) && environmentUrl(env)) {
      return ok('Profile', `${named?.name ?? 'none'} (key and base URL from the environment)`);
    }
    const store = await session.profiles();
    const name = named?.name ?? store.active();
    storedProfile(store, name, named?.from);
    return ok('Profile', `${name} (${named === undefined ? 'active' : `from ${named.from ?? '--profile'}`})`);
  });
}

const SOURCES: Readonly<Record<string, string>> = {
  environment: 'from the environment',
  command: 'from a key command',
};

/** @returns where requests would go and with which key, or what is missing for that */
export function checkTarget(session: Session): Promise<Check> {
  return attempt('URL and key', async () => {
    const target = await session.target();
    if (target.keySource === 'sandbox') return ok('URL and key', 'not applicable to the sandbox');
    const from = (source: string): string => SOURCES[source] ?? source;
    return ok(
      'URL and key',
      `${target.baseUrl} (${from(target.urlSource)}), key ${maskKey(target.key)} (${from(target.keySource)})`,
    );
  });
}

export function checkProxy(session: Session, url: URL): Promise<Check> {
  return attempt('Proxy', () => {
    const proxy = proxyFor(url, session.context.env);
    return ok('Proxy', proxy ? `${proxy.protocol}//${proxy.host}` : 'none');
  });
}
