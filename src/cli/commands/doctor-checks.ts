// The checks of `petstore doctor`. A check fails by throwing.
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { arch } from 'node:os';
import { dirname, join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { storageError, toPetstoreError } from '../../errors.ts';
import { proxyFor } from '../../http/proxy.ts';
import { configDir, stateDir } from '../../settings/paths.ts';
import type { StateServer } from '../../shared-log/state-server.ts';
import { withHint, writableHint } from '../hints.ts';
import { findUrl, overridesAll, selectProfile } from '../profiles/credentials.ts';
import { SANDBOX } from '../profiles/store.ts';
import type { Session } from '../session.ts';
import { quoteForShell } from '../shell-quote.ts';
import type { CheckResult, Found } from './doctor-request.ts';
import {
  checkApiKey,
  checkClock,
  checkConnection,
  checkService,
  noResponse,
  ok,
  SANDBOX_NEEDS_NONE,
  skipped,
  warning,
} from './doctor-request.ts';

interface CheckDefinition {
  readonly label: string;
  readonly test: () => CheckResult | Promise<CheckResult>;
  /** The labels of earlier checks; if one of them failed, this one would fail for the same reason. */
  readonly needs?: readonly string[];
}

const FROM_ENVIRONMENT = 'API key and base URL come from the environment';

/** In the order in which they run. */
export function checkDefinitions(session: Session): readonly CheckDefinition[] {
  const { request, context } = session;
  const { env, nodeVersion, platform, version } = context;
  const isFromEnvironment = overridesAll(request);
  const isSandbox = request.profile === SANDBOX;
  const skipReason = isFromEnvironment ? FROM_ENVIRONMENT : isSandbox ? SANDBOX_NEEDS_NONE : undefined;
  const checkConfig = () => checkDirectory(session, configDir(context), 'PETSTORE_CONFIG_DIR');
  const checkState = () => checkDirectory(session, stateDir(context), 'PETSTORE_STATE_DIR');
  const checkProfile = () => (isFromEnvironment ? skipped(FROM_ENVIRONMENT) : describeProfile(session));
  const stateServer = { label: 'State server', test: () => checkStateServer(session) };
  const found: Found = {};
  // The sandbox's data is in the state directory.
  const places = [isSandbox ? 'State' : 'State server'];
  return [
    { label: 'petstore', test: () => ok(`${version} on ${platform} ${arch()}`) },
    { label: 'Node', test: () => ok(nodeVersion) },
    { label: 'Config', test: () => (skipReason ? skipped(skipReason) : checkConfig()) },
    { label: 'State', test: checkState },
    ...(env['PETSTORE_STATE_URL'] ? [stateServer] : []),
    { label: 'Profile', test: checkProfile },
    { label: 'Base URL', test: () => checkUrl(session, found), needs: ['Profile'] },
    { label: 'Proxy', test: () => checkProxy(session, found), needs: ['Base URL'] },
    { label: 'Connection', test: () => checkConnection(session, found), needs: ['Proxy', ...places] },
    { label: 'Service', test: () => checkService(session, found), needs: ['Connection'] },
    { label: 'API key', test: () => checkApiKey(session, found), needs: ['Service'] },
    { label: 'Clock', test: () => (found.response ? checkClock(found.response) : noResponse(found)) },
  ];
}

/** Runs a check. Throws only bugs and interruptions; any other error is a failed check. */
export async function runCheck(test: CheckDefinition['test'], session: Session): Promise<CheckResult> {
  try {
    return await test();
  } catch (thrown) {
    const failure = toPetstoreError(session.explain(thrown));
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
export function checkDirectory({ context }: Pick<Session, 'context'>, dir: string, variable: string): CheckResult {
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
  const options = await session.stateServer();
  if (!options) return skipped('not configured');
  const { StateServer } = await import('../../shared-log/state-server.ts');
  const server = new StateServer(options);
  const policy = await checkServer(server, session.context.clock).finally(() => server.close());
  const detail = `${server.name} responded${server.tls ? '' : ' without TLS'}`;
  if (policy === undefined) return ok(detail);
  return warning(
    `${detail}; it may evict rate limits and import locks (${policy})`,
    'set `maxmemory-policy noeviction` on the server',
  );
}

/**
 * Runs every command that petstore needs on a server.
 * @returns the policy by which the server may delete keys; undefined if it deletes none
 * @throws PetstoreError `usage` or `storage` if a command fails
 */
export async function checkServer(server: StateServer, clock: Clock): Promise<string | undefined> {
  const { StreamLog } = await import('../../shared-log/stream-log.ts');
  const format = { initial: () => undefined, apply: () => undefined, snapshot: () => [] };
  const key = `petstore:{doctor}:${randomUUID()}`;
  const log = new StreamLog(format, { server, clock, key, ttlMs: 1000, freshMs: 0, rotateAt: 1 });
  try {
    const policy = await server.evictionPolicy();
    // The first append creates the log and rotates it; the second reads the rotated log.
    for (const record of ['1', '2']) await log.append(record);
    return policy;
  } catch (error) {
    throw server.toPetstoreError(error, 'start the state server, or correct PETSTORE_STATE_URL');
  }
}

/** @throws PetstoreError `usage` if there is no profile with that name, `storage` */
async function describeProfile({ request, profiles }: Session): Promise<CheckResult> {
  const { profile } = await selectProfile(request, profiles);
  const source = request.profile === undefined ? 'active' : `from ${request.profileVariable ?? '--profile'}`;
  return ok(`${profile} (${source})`);
}

/** @throws PetstoreError `auth` or `usage` if there is no valid URL */
async function checkUrl({ request, profiles }: Session, found: Found): Promise<CheckResult> {
  found.url = findUrl(await selectProfile(request, profiles));
  const { url, urlSource } = found.url;
  if (url === undefined) return skipped(SANDBOX_NEEDS_NONE);
  return ok(`${url}${urlSource === 'environment' ? ' (from the environment)' : ''}`);
}

/** @throws PetstoreError `usage` if the proxy is invalid */
function checkProxy({ context }: Session, found: Found): CheckResult {
  const url = found.url?.url;
  const proxy = url && proxyFor(new URL(url), context.env)?.url;
  return ok(proxy ? `${proxy.protocol}//${proxy.host}` : 'none');
}
