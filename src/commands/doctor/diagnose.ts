// `petstore doctor`: its checks, and the view of their results.
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { categoriesOf } from '../../api/categories.ts';
import type { Action } from '../../command.ts';
import { PetstoreError, rephrase } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { formatDuration } from '../../format.ts';
import { proxyFor } from '../../http/proxy.ts';
import type { HttpResponse } from '../../http/types.ts';
import { TransportError } from '../../http/types.ts';
import type { Column, Style } from '../../output/view.ts';
import { environmentSuffices, findCredentials, namedProfile, storedProfile } from '../../profiles/credentials.ts';
import { SANDBOX } from '../../profiles/store.ts';
import { maskKey } from '../../redact.ts';
import { completeHint } from '../../report-error.ts';
import { Session } from '../../session.ts';
import { quoteForShell } from '../../shell-quote.ts';
import { systemReason } from '../../system-error.ts';
import type { Check, CheckDefinition, CheckResult } from './check.ts';
import { ok, runChecks, skipped, warning } from './check.ts';

/** The Date header has one-second resolution and network delay. */
const TOLERATED_SKEW_MS = 5_000;
const FROM_ENVIRONMENT = 'API key and base URL come from the environment';

const PAINTERS: Readonly<Record<Check['status'], (style: Style) => (text: string) => string>> = {
  ok: ({ green }) => green,
  warning: ({ yellow }) => yellow,
  failed: ({ red }) => red,
  skipped: ({ dim }) => dim,
};

const COLUMNS: readonly Column<Check>[] = [
  { header: 'status', value: ({ status }) => status, paint: ({ status }, style) => PAINTERS[status](style) },
  { header: 'check', value: ({ label }) => label },
  {
    header: 'detail',
    value: ({ detail, hint }) => `${detail}${hint ? `\nhint: ${hint}` : ''}`,
    wrap: true,
  },
];

export const diagnoseAction: Action<object, readonly Check[]> = {
  run: diagnose,
  view: {
    failure: exitError,
    json: (checks) => checks.map(({ failure: _, ...facts }) => facts),
    text: (checks, { table }) => table(COLUMNS, checks),
    tables: true,
  },
};

async function diagnose(session: Session): Promise<readonly Check[]> {
  const { context, options } = session;
  const { env } = context;
  const typedSandbox = (options.profile ?? env['PETSTORE_PROFILE']) === SANDBOX;
  const environmentUsed = options.profile === undefined && environmentSuffices(env);
  const once = new Session(context, { ...options, maxRetries: 0 });
  // The checks report warnings themselves.
  Object.assign(once, { warn: async () => undefined });
  const credentials = () => findCredentials({ env, profile: options.profile, store: session.profiles });
  let response: HttpResponse | undefined;

  const config = (): CheckResult => {
    if (typedSandbox) return skipped('not used by the sandbox');
    if (environmentUsed) return skipped(FROM_ENVIRONMENT);
    return checkDirectory(session, session.configDir(), 'PETSTORE_CONFIG_DIR');
  };
  const baseUrl = async (): Promise<CheckResult> => {
    const { url, urlSource, keySource, problem } = await credentials();
    if (keySource === 'sandbox') return skipped('not used by the sandbox');
    if (url === undefined) throw problem;
    return ok(`${url}${urlSource === 'environment' ? ' (from the environment)' : ''}`);
  };
  const proxy = async (): Promise<CheckResult> => {
    const { url } = await credentials();
    const used = url && proxyFor(new URL(url), env);
    return ok(used ? `${used.protocol}//${used.host}` : 'none');
  };
  const connection = async (): Promise<CheckResult> => {
    // The API key check reports the error.
    const target = await once.target().catch(() => undefined);
    if (!target) return skipped('needs an API key');
    try {
      response = await (await once.httpClient()).send({ method: 'GET', path: '/categories', safe: true });
      if (response.status !== 401) categoriesOf(response);
    } catch (error) {
      throw connectionError(error);
    } finally {
      once.progress.stop();
    }
    const host = target.keySource === 'sandbox' ? 'the sandbox' : new URL(target.baseUrl).host;
    return ok(`${host} responded in ${Math.round(response.receivedAt - response.sentAt)} ms`);
  };
  const apiKey = async (): Promise<CheckResult> => {
    const { key, keySource } = await once.target();
    if (response) categoriesOf(response);
    if (keySource === 'sandbox') return skipped('not used by the sandbox');
    const from =
      keySource === 'stored' ? 'saved' : `from ${keySource === 'command' ? 'a key command' : 'the environment'}`;
    return ok(`${maskKey(key)} accepted (${from})`);
  };
  const checks: readonly CheckDefinition[] = [
    ['node', 'Node', () => ok(context.nodeVersion)],
    ['config', 'Config', config],
    // Chained for the sandbox, whose data is in the state directory.
    ['state', 'State', () => checkDirectory(session, session.stateDir(), 'PETSTORE_STATE_DIR'), typedSandbox],
    ['state_server', 'State server', () => checkStateServer(session)],
    ['profile', 'Profile', () => (environmentUsed ? skipped(FROM_ENVIRONMENT) : checkProfile(session)), true],
    ['base_url', 'Base URL', baseUrl, true],
    ['proxy', 'Proxy', proxy, true],
    ['connection', 'Connection', connection, true],
    ['api_key', 'API key', apiKey, true],
    ['clock', 'Clock', () => (response ? checkClock(response) : skipped('no response'))],
  ];
  const configured = checks.filter(([id]) => id !== 'state_server' || env['PETSTORE_STATE_URL']);
  return runChecks(configured, (error) => completeHint(error, context, { ...options, target: once.usedTarget }).hint);
}

/**
 * Writes and syncs a small file in the directory, or in its nearest existing parent, and checks the permissions.
 * @throws PetstoreError `storage`
 */
function checkDirectory({ context }: Session, dir: string, variable: string): CheckResult {
  let existing = dir;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  const file = join(existing, `.petstore-doctor-${process.pid}`);
  let paths: readonly string[];
  try {
    writeFileSync(file, 'x'.repeat(4096), { mode: 0o600, flag: 'wx', flush: true });
    paths = existing === dir ? [dir, ...readdirSync(dir).map((name) => join(dir, name))] : [];
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const problem = code === 'ENOSPC' ? 'the disk is full' : systemReason(cause);
    const hint = code === 'ENOSPC' ? 'free some disk space' : `set ${variable} to a directory that you can write to`;
    throw new PetstoreError('storage', `cannot write to ${escapeControls(dir)} (${problem})`, { hint, cause });
  } finally {
    if (existsSync(file)) rmSync(file);
  }
  const isShared = (path: string): boolean => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0;
  const shared = paths.find(isShared);
  if (context.platform === 'win32' || shared === undefined) return ok(dir);
  return warning(`other users can access ${shared}`, `run \`chmod -R go= ${quoteForShell(dir, context)}\``);
}

/** @throws PetstoreError `usage` or `storage` if the server cannot be used */
async function checkStateServer(session: Session): Promise<CheckResult> {
  const server = await session.stateServer();
  if (!server) return skipped('not configured');
  try {
    const info = await server.info();
    await (await import('../../append-log/stream-log.ts')).checkPermissions(server, session.context.clock);
    const policy = await server.evictionPolicy();
    const detail = `${server.name} responded, ${server.tls ? 'TLS' : 'no TLS'}`;
    if (policy !== undefined) {
      return warning(`${detail}; it may delete imports (${policy})`, 'set `maxmemory-policy noeviction` on the server');
    }
    if (info.get('aof_enabled') === '1') return ok(`${detail}, append-only file on`);
    return warning(
      `${detail}; a restart may lose imports`,
      'set `appendonly yes` and `appendfsync always` on the server',
    );
  } catch (error) {
    if (!(error instanceof PetstoreError) || error.kind !== 'storage') throw error;
    throw rephrase(error, error.message, 'start the state server, or correct PETSTORE_STATE_URL');
  } finally {
    server.close();
  }
}

/** @throws PetstoreError `usage` if there is no profile of that name, `storage` */
async function checkProfile(session: Session): Promise<CheckResult> {
  const named = namedProfile({ env: session.context.env, profile: session.options.profile });
  if (named?.name === SANDBOX) return ok(`${SANDBOX} (built in)`);
  const store = await session.profiles();
  const name = named?.name ?? store.active();
  storedProfile(store, name, named?.from);
  return ok(`${name} (${named === undefined ? 'active' : `from ${named.from ?? '--profile'}`})`);
}

// Adds the failed step to the message, and a hint that does not suggest `petstore doctor` again.
function connectionError(error: unknown): unknown {
  if (!(error instanceof PetstoreError) || !(error.cause instanceof TransportError)) return error;
  const { code = '', reason, requestSent } = error.cause;
  const at = (step: string, hint: string): PetstoreError => rephrase(error, `${error.message} (${step})`, hint);
  if (/^(?:ENOTFOUND|EAI_)/.test(code)) return at('DNS', 'check the host name in the base URL');
  if (reason === 'connect' || (reason === 'timeout' && !requestSent)) {
    return at('TCP', 'check the host and port in the base URL');
  }
  if (reason !== 'tls') return rephrase(error, error.message, error.hint);
  if (/EXPIRED|NOT_YET_VALID/.test(code)) return at('TLS', 'synchronize the system clock, or renew the certificate');
  if (/ALTNAME|HOSTNAME/.test(code)) return at('TLS', 'check the host name in the base URL');
  if (/^(?:CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/.test(code)) {
    return at('TLS', 'set NODE_EXTRA_CA_CERTS to the certificate file of the authority to trust');
  }
  return at('TLS', 'check that the port in the base URL serves https');
}

/** Compares the system clock with the Date header (RFC 9110, 6.6.1); skew is only a warning, since waits are corrected. */
export function checkClock(response: Pick<HttpResponse, 'headers' | 'sentAt' | 'receivedAt'>): CheckResult {
  const { date } = response.headers;
  const theirs = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(theirs)) return skipped('the response has no Date header');
  // The header is truncated to the second: add the mean error of half a second.
  const skew = (response.sentAt + response.receivedAt) / 2 - (theirs + 500);
  if (Math.abs(skew) <= TOLERATED_SKEW_MS) return ok('agrees with the service');
  const detail = `the system clock is ${formatDuration(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} the service`;
  return warning(detail, 'synchronize the system clock');
}

// The error only counts the failures: the table has shown each with its hint.
function exitError(checks: readonly Check[]): PetstoreError | undefined {
  const failed = checks.filter(({ failure }) => failure);
  const first = failed[0]?.failure;
  if (!first) return undefined;
  const message = `${failed.length} of ${checks.length} checks failed: ${failed.map(({ label }) => label).join(', ')}`;
  return new PetstoreError(first.kind, message, { retryAt: first.retryAt, exitCode: first.exitCode });
}
