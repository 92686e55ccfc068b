// The checks of `petstore doctor` that need more than a line. Each returns its result, or throws if it fails.
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PetstoreError, rephrase } from '../../errors.ts';
import { formatDuration } from '../../format.ts';
import type { HttpResponse } from '../../http/types.ts';
import { TransportError } from '../../http/types.ts';
import { checkExists, namedProfile } from '../../profiles/credentials.ts';
import { SANDBOX } from '../../profiles/store.ts';
import type { Session } from '../../session.ts';
import { quoteForShell } from '../../shell-quote.ts';
import { storageError } from '../../system-error.ts';

export interface CheckResult {
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  readonly hint?: string | undefined;
}

export const ok = (detail: string): CheckResult => ({ status: 'ok', detail });
export const skipped = (detail: string): CheckResult => ({ status: 'skipped', detail });
const warning = (detail: string, hint: string): CheckResult => ({ status: 'warning', detail, hint });

/** The Date header has one-second resolution and network delay. */
const TOLERATED_SKEW_MS = 5_000;

/**
 * Writes and syncs a small file in the directory, or in its nearest existing parent, and checks the permissions.
 * @throws PetstoreError `storage`
 */
export function checkDirectory({ context }: Session, dir: string, variable: string): CheckResult {
  let existing = dir;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  const file = join(existing, `.petstore-doctor-${process.pid}`);
  let paths: readonly string[];
  try {
    writeFileSync(file, 'x'.repeat(4096), { mode: 0o600, flag: 'wx', flush: true });
    paths = existing === dir ? [dir, ...readdirSync(dir).map((name) => join(dir, name))] : [];
  } catch (cause) {
    throw storageError(cause, 'write to', dir, variable);
  } finally {
    if (existsSync(file)) rmSync(file);
  }
  const isShared = (path: string): boolean => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0;
  const shared = context.platform === 'win32' ? undefined : paths.find(isShared);
  if (shared === undefined) return ok(dir);
  return warning(`other users can access ${shared}`, `run \`chmod -R go= ${quoteForShell(dir, context)}\``);
}

/** @throws PetstoreError `usage` or `storage` if the server cannot be used */
export async function checkStateServer(session: Session): Promise<CheckResult> {
  const server = await session.stateServer();
  if (!server) return skipped('not configured');
  try {
    await server.info();
    await (await import('../../append-log/permissions.ts')).checkPermissions(server, session.context.clock);
    const policy = await server.evictionPolicy();
    const detail = `${server.name} responded${server.tls ? '' : ' without TLS'}`;
    if (policy === undefined) return ok(detail);
    return warning(`${detail}; it may delete the quota (${policy})`, 'set `maxmemory-policy noeviction` on the server');
  } catch (error) {
    if (!(error instanceof PetstoreError) || error.kind !== 'storage') throw error;
    throw rephrase(error, error.message, 'start the state server, or correct PETSTORE_STATE_URL');
  }
}

/** @throws PetstoreError `usage` if there is no profile of that name, `storage` */
export async function checkProfile(session: Session): Promise<CheckResult> {
  const named = namedProfile({ env: session.context.env, profile: session.options.profile });
  if (named?.name === SANDBOX) return ok(`${SANDBOX} (built in)`);
  const store = await session.profiles();
  const name = named?.name ?? store.active();
  checkExists(store, name, named?.from);
  store.get(name);
  return ok(`${name} (${named === undefined ? 'active' : `from ${named.from ?? '--profile'}`})`);
}

/** Adds the failed step to the error of a request, and a hint that does not suggest `petstore doctor` again. */
export function connectionError(error: unknown): unknown {
  if (!(error instanceof PetstoreError) || !(error.cause instanceof TransportError)) return error;
  const { code = '', reason, requestSent } = error.cause;
  const at = (step: string, hint: string): PetstoreError => rephrase(error, `${error.message} (${step})`, hint);
  if (/^(?:ENOTFOUND|EAI_)/.test(code)) return at('DNS', 'check the host name in the base URL');
  if (reason === 'connect' || (reason === 'timeout' && !requestSent)) {
    return at('TCP', 'check the host and port in the base URL');
  }
  if (reason !== 'tls') return error;
  if (/EXPIRED|NOT_YET_VALID/.test(code)) return at('TLS', 'synchronize the system clock, or renew the certificate');
  if (/ALTNAME|HOSTNAME/.test(code)) return at('TLS', 'check the host name in the base URL');
  if (/^(?:CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/.test(code)) {
    return at('TLS', 'set NODE_EXTRA_CA_CERTS to the certificate file of the authority to trust');
  }
  return at('TLS', 'check that the port in the base URL serves https');
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
