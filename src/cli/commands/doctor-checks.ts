// The checks of `petstore doctor`. A check fails by throwing.
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { categoriesOf, LIST_REQUEST } from '../../api/categories.ts';
import { certificateProblem, PetstoreError, rephrase, storageError, toPetstoreError } from '../../errors.ts';
import { proxyFor } from '../../http/proxy.ts';
import { CHECK_NETWORK, isOffline } from '../../http/request-errors.ts';
import type { HttpResponse } from '../../http/types.ts';
import { TransportError } from '../../http/types.ts';
import { formatDuration, formatTime } from '../../text/format.ts';
import { maskKey } from '../../text/redact.ts';
import { withHint, writableHint } from '../hints.ts';
import type { Credentials, FoundUrl } from '../profiles/credentials.ts';
import { findUrl, loginHint, overridesAll, readCredentialRequest, selectProfile } from '../profiles/credentials.ts';
import { SANDBOX } from '../profiles/store.ts';
import type { Session } from '../session.ts';
import { quoteForShell } from '../shell-quote.ts';

export interface CheckResult {
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  readonly hint?: string | undefined;
  /** The error that determines the exit code. */
  readonly failure?: PetstoreError;
}

export interface CheckDefinition {
  readonly label: string;
  readonly test: () => CheckResult | Promise<CheckResult>;
  /** Whether it is skipped after the failure of an earlier check that also has this property. */
  readonly dependsOnPrevious?: true;
  /** The labels of checks that may have failed for the same reason, which is reported once. */
  readonly uses?: readonly string[];
}

const FROM_ENVIRONMENT = 'API key and base URL come from the environment';
const SANDBOX_NEEDS_NONE = 'not used by the sandbox';
/** The Date header has a resolution of one second, and arrives with network delay. */
const TOLERATED_SKEW_MS = 5_000;

const ok = (detail: string): CheckResult => ({ status: 'ok', detail });
export const skipped = (detail: string): CheckResult => ({ status: 'skipped', detail });
const warning = (detail: string, hint: string): CheckResult => ({ status: 'warning', detail, hint });

/** The results that later checks use. */
interface Found {
  url?: FoundUrl;
  response?: HttpResponse;
}

/** In the order in which they run. */
export function checkDefinitions(session: Session): readonly CheckDefinition[] {
  const { env, nodeVersion } = session.context;
  const { profile } = session.options;
  const isSandbox = (profile ?? env['PETSTORE_PROFILE']) === SANDBOX;
  const isFromEnvironment = overridesAll(readCredentialRequest(env, profile));
  const skipReason = isSandbox ? SANDBOX_NEEDS_NONE : isFromEnvironment ? FROM_ENVIRONMENT : undefined;
  const checkConfig = () => checkDirectory(session, session.configDir(), 'PETSTORE_CONFIG_DIR');
  const checkState = () => checkDirectory(session, session.stateDir(), 'PETSTORE_STATE_DIR');
  const checkProfile = () => (isFromEnvironment ? skipped(FROM_ENVIRONMENT) : describeProfile(session));
  const stateServer = { label: 'State server', test: () => checkStateServer(session) };
  const found: Found = {};
  const dependsOnPrevious = true;
  // The sandbox's data is in the state directory.
  const uses = ['State', 'State server'];
  return [
    { label: 'Node', test: () => ok(nodeVersion) },
    { label: 'Config', test: () => (skipReason ? skipped(skipReason) : checkConfig()) },
    { label: 'State', test: checkState },
    ...(env['PETSTORE_STATE_URL'] ? [stateServer] : []),
    { label: 'Profile', test: checkProfile, dependsOnPrevious, uses: ['Config'] },
    { label: 'Base URL', test: () => checkUrl(session, found), dependsOnPrevious },
    { label: 'Proxy', test: () => checkProxy(session, found), dependsOnPrevious },
    { label: 'Connection', test: () => checkConnection(session, found), dependsOnPrevious, uses },
    { label: 'API key', test: () => checkApiKey(session, found), dependsOnPrevious },
    { label: 'Clock', test: () => (found.response ? checkClock(found.response) : skipped('no response')) },
  ];
}

/** Runs a check. Throws only bugs and interruptions; any other error is a failed check. */
export async function runCheck(test: CheckDefinition['test'], session: Session): Promise<CheckResult> {
  try {
    return await test();
  } catch (thrown) {
    const failure = toPetstoreError(await session.explain(thrown));
    if (failure.kind === 'internal' || failure.kind === 'interrupted') throw thrown;
    const { context, options } = session;
    const { message, hint } = withHint(failure, context, options.profile);
    // A message of the service may repeat the key.
    return { status: 'failed', detail: context.redactor.redact(message), hint, failure };
  }
}

/**
 * Writes and syncs a small file in the directory, or in its nearest existing parent, and checks the permissions.
 * @throws PetstoreError `storage`
 */
function checkDirectory({ context }: Session, dir: string, variable: string): CheckResult {
  let existing = dir;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  const file = join(existing, `.petstore-doctor-${randomUUID()}`);
  let paths: readonly string[];
  try {
    writeFileSync(file, 'x'.repeat(4096), { mode: 0o600, flag: 'wx', flush: true });
    paths = existing === dir ? [dir, ...readdirSync(dir).map((name) => join(dir, name))] : [];
  } catch (cause) {
    throw storageError(cause, 'write to', dir, writableHint(variable));
  } finally {
    if (existsSync(file)) rmSync(file);
  }
  const isShared = (path: string): boolean => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0;
  const shared = context.platform === 'win32' ? undefined : paths.find(isShared);
  if (shared === undefined) return ok(dir);
  return warning(`other users can access "${shared}"`, `run \`chmod -R go= ${quoteForShell(dir, context)}\``);
}

/** @throws PetstoreError `usage` or `storage` if the server cannot be used */
async function checkStateServer(session: Session): Promise<CheckResult> {
  const server = await session.stateServer();
  if (!server) return skipped('not configured');
  const { checkServer } = await import('./state-server-check.ts');
  const policy = await checkServer(server, session.context.clock);
  const detail = `${server.name} responded${server.tls ? '' : ' without TLS'}`;
  if (policy === undefined) return ok(detail);
  return warning(`${detail}; it may evict the quota (${policy})`, 'set `maxmemory-policy noeviction` on the server');
}

/** @throws PetstoreError `usage` if there is no profile with that name, `storage` */
async function describeProfile({ context: { env }, options, profiles }: Session): Promise<CheckResult> {
  const request = readCredentialRequest(env, options.profile);
  const { profile } = await selectProfile(request, profiles);
  const source = request.profile === undefined ? 'active' : `from ${request.profileVariable ?? '--profile'}`;
  return ok(`${profile} (${source})`);
}

/** @throws PetstoreError `auth` or `usage` if there is no valid URL */
async function checkUrl({ context, options, profiles }: Session, found: Found): Promise<CheckResult> {
  found.url = findUrl(await selectProfile(readCredentialRequest(context.env, options.profile), profiles));
  const { url, urlSource } = found.url;
  if (url === undefined) return skipped(SANDBOX_NEEDS_NONE);
  return ok(`${url}${urlSource === 'environment' ? ' (from the environment)' : ''}`);
}

/** @throws PetstoreError `usage` if the proxy is invalid */
function checkProxy({ context }: Session, found: Found): CheckResult {
  const url = found.url?.url;
  const proxy = url && proxyFor(new URL(url), context.env);
  return ok(proxy ? `${proxy.protocol}//${proxy.host}` : 'none');
}

/** Sends one request, if the rate limit allows it now. */
async function checkConnection(session: Session, found: Found): Promise<CheckResult> {
  // The next check reports a missing key.
  const target = await session.target().catch(() => undefined);
  if (!target) return skipped('needs an API key');
  const host = target.keySource === 'sandbox' ? 'the sandbox' : new URL(target.baseUrl).host;
  try {
    const response = await (await session.httpClient()).send(LIST_REQUEST);
    found.response = response;
    if (response.status !== 401) categoriesOf(response);
    return ok(`${host} responded in ${Math.round(response.receivedAt - response.sentAt)}ms`);
  } catch (error) {
    if (!(error instanceof PetstoreError)) throw error;
    if (error.kind !== 'rate_limited') throw connectionError(error, target);
    const { retryAt = 0, status } = error;
    const now = session.context.clock.now();
    const limit = retryAt > now ? `rate limited; try again ${formatTime(retryAt, now)}` : 'rate limited; try again';
    return status === 429 ? ok(`${host} responded (429): ${limit}`) : skipped(limit);
  }
}

/** Adds the failed step to the error of a request, and a hint that does not suggest `petstore doctor` again. */
function connectionError(error: PetstoreError, { profile, urlSource }: Credentials): PetstoreError {
  if (error.details.reason?.is === 'wrong_service') {
    const hint = urlSource === 'environment' ? 'correct PETSTORE_BASE_URL' : loginHint(profile, true);
    return rephrase(error, error.message, { hint });
  }
  if (!(error.cause instanceof TransportError)) return error;
  const { code = '', reason, requestSent } = error.cause;
  const at = (step: string, hint: string): PetstoreError => rephrase(error, `${error.message} (${step})`, { hint });
  const offline = isOffline(code) ? CHECK_NETWORK : undefined;
  if (/^(?:ENOTFOUND|EAI_)/.test(code)) return at('DNS', offline ?? 'check the host name in the base URL');
  if (reason === 'connect' || (reason === 'timeout' && !requestSent)) {
    return at('TCP', offline ?? 'check the host and port in the base URL');
  }
  return reason === 'tls' ? at('TLS', tlsHint(code)) : error;
}

function tlsHint(code: string): string {
  if (/EXPIRED|NOT_YET_VALID/.test(code)) return 'synchronize the system clock, or renew the certificate';
  if (/ALTNAME|HOSTNAME/.test(code)) return 'check the host name in the base URL';
  if (certificateProblem(code)) return 'set NODE_EXTRA_CA_CERTS to the certificate file of the authority to trust';
  return 'check that the port in the base URL serves https';
}

/** @throws PetstoreError `auth` if there is no key, or the service rejected it */
async function checkApiKey(session: Session, { response }: Found): Promise<CheckResult> {
  const { key, keySource } = await session.target();
  if (keySource === 'sandbox') return skipped(SANDBOX_NEEDS_NONE);
  if (!response) return skipped('no response');
  categoriesOf(response);
  const sources = { stored: 'saved', command: 'from a key command', environment: 'from the environment' };
  return ok(`${maskKey(key)} accepted (${sources[keySource]})`);
}

/** Compares the system clock with the Date header (RFC 9110, 6.6.1); skew is only a warning, since waits are corrected. */
export function checkClock({ headers, sentAt, receivedAt }: Pick<HttpResponse, 'headers' | 'sentAt' | 'receivedAt'>) {
  const theirs = Date.parse(String(headers['date']));
  if (Number.isNaN(theirs)) return skipped('the response has no Date header');
  // The header is truncated to the second: add the mean error of half a second.
  const skew = (sentAt + receivedAt) / 2 - (theirs + 500);
  if (Math.abs(skew) <= TOLERATED_SKEW_MS) return ok('agrees with the service');
  const side = skew > 0 ? 'ahead of' : 'behind';
  const detail = `the system clock is ${formatDuration(Math.abs(skew))} ${side} the service`;
  return warning(detail, 'synchronize the system clock');
}
