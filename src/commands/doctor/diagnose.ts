// `petstore doctor`: every check in turn; what depends on a failed one is skipped.
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { categoriesOf } from '../../api/categories.ts';
import type { Action } from '../../command.ts';
import { PetstoreError } from '../../errors.ts';
import { formatDuration } from '../../format.ts';
import type { HttpRequest, HttpResponse } from '../../http/types.ts';
import type { Column, Style } from '../../output/view.ts';
import { environmentSuffices, namedProfile, storedProfile } from '../../profiles/credentials.ts';
import { SANDBOX } from '../../profiles/store.ts';
import { maskKey } from '../../redact.ts';
import type { Session } from '../../session.ts';
import type { Check, CheckResult } from './check.ts';
import { check, checkInTurn, ok, skipped, warning } from './check.ts';
import { connectionTests, stateServerTests } from './network-checks.ts';

const LIST: HttpRequest = { method: 'GET', path: '/categories', safe: true };
const OLDEST_NODE = '20.18.1';
/** The Date header counts whole seconds and travels: a smaller difference means nothing. */
const TOLERATED_SKEW_MS = 5_000;

const SOURCES: Readonly<Record<string, string>> = {
  environment: 'from the environment',
  command: 'from a key command',
};

const PAINTERS: Readonly<Record<Check['status'], (style: Style) => (text: string) => string>> = {
  ok: ({ green }) => green,
  warning: ({ yellow }) => yellow,
  failed: ({ red }) => red,
  skipped: ({ dim }) => dim,
};

const COLUMNS: readonly Column<Check>[] = [
  { header: 'status', value: ({ status }) => status, paint: ({ status }, style) => PAINTERS[status](style) },
  { header: 'check', value: ({ name }) => name },
  { header: 'detail', value: ({ detail, remedy }) => detail + (remedy ? `\nhint: ${remedy}` : ''), wrap: true },
];

export const diagnoseAction: Action<object, readonly Check[]> = {
  run: diagnose,
  view: {
    failure: exitError,
    json: (checks) => ({
      ok: checks.every(({ status }) => status !== 'failed'),
      checks: checks.map(({ failure: _, ...facts }) => facts),
    }),
    text: (checks, { table }) => table(COLUMNS, checks),
    tables: true,
  },
};

async function diagnose(session: Session): Promise<readonly Check[]> {
  let response: HttpResponse | undefined;
  const local = [
    await check('Node', () => checkNode(session.context.nodeVersion)),
    await check('Config', () => checkConfig(session)),
    await check('Profile', () => checkProfile(session)),
  ];
  const stateServer = await checkInTurn(stateServerTests(session));
  const service = await checkInTurn({
    'URL and key': () => checkTarget(session),
    ...connectionTests(session),
    'Key accepted': async () => {
      response = await (await session.httpClient()).send(LIST);
      await categoriesOf(response);
      return ok(`GET /categories took ${Math.round(response.receivedAt - response.sentAt)} ms`);
    },
  });
  const clock = await check('Clock', () => (response ? checkClock(response) : skipped('no response')));
  return [...local, ...stateServer, ...service, clock];
}

/** @throws PetstoreError `usage` for a version that is too old */
export function checkNode(version: string): CheckResult {
  // Compares the numbers in it as numbers.
  if (version.localeCompare(OLDEST_NODE, 'en', { numeric: true }) >= 0) return ok(version);
  throw new PetstoreError('usage', `Node ${version} is too old`, { hint: `install Node ${OLDEST_NODE} or later` });
}

/** @returns whether the stored configuration can be read, and by its owner only */
async function checkConfig(session: Session): Promise<CheckResult> {
  const { env, platform } = session.context;
  if (environmentSuffices(env)) return skipped('not read: key and base URL come from the environment');
  const dir = session.configDir();
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
async function checkProfile(session: Session): Promise<CheckResult> {
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

/** @throws PetstoreError where URL or key is missing or invalid */
async function checkTarget(session: Session): Promise<CheckResult> {
  const { baseUrl, key, keySource, urlSource } = await session.target();
  if (keySource === 'sandbox') return ok('not applicable to the sandbox');
  const from = (source: string): string => SOURCES[source] ?? source;
  return ok(`${baseUrl} (${from(urlSource)}), key ${maskKey(key)} (${from(keySource)})`);
}

/** Compares this machine's clock with the Date header (RFC 9110, 6.6.1); waits are corrected by it, so skew is no failure. */
export function checkClock(response: Pick<HttpResponse, 'headers' | 'sentAt' | 'receivedAt'>): CheckResult {
  const { date } = response.headers;
  const theirs = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(theirs)) return skipped('the response has no Date header');
  // The header is cut to the second: on average the moment it names lies half a second later.
  const skew = (response.sentAt + response.receivedAt) / 2 - (theirs + 500);
  if (Math.abs(skew) <= TOLERATED_SKEW_MS) return ok('agrees with the service');
  const detail = `this machine is ${formatDuration(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} the service`;
  return warning(detail, 'set the clock, for example with NTP');
}

// The table has shown each failure and its remedy: the error counts them.
function exitError(checks: readonly Check[]): PetstoreError | undefined {
  const failed = checks.filter(({ status }) => status === 'failed');
  const first = failed[0]?.failure;
  if (!first) return undefined;
  const names = failed.map(({ name }) => name).join(', ');
  const { retryAt, exitCode } = first;
  const message = `${failed.length} of ${checks.length} checks failed: ${names}`;
  return new PetstoreError(first.kind, message, { retryAt, exitCode });
}
