// `petstore doctor`: runs its checks in order; the exit code is that of the first failed one.
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { categoriesOf, LIST } from '../api/categories.ts';
import type { Action } from '../command.ts';
import { actionHandler, PetstoreCommand, rootOf } from '../command.ts';
import { PetstoreError, rephrase, storageError, toPetstoreError } from '../errors.ts';
import { formatDuration } from '../format.ts';
import { proxyFor } from '../http/proxy.ts';
import { CHECK_NETWORK } from '../http/request-errors.ts';
import type { HttpResponse } from '../http/types.ts';
import { TransportError } from '../http/types.ts';
import type { Column } from '../output/view.ts';
import { environmentSuffices, findUrl, requestedProfile, selectProfile } from '../profiles/credentials.ts';
import { checkExists, SANDBOX } from '../profiles/store.ts';
import { maskKey } from '../redact.ts';
import { READ_ERRORS } from '../reference.ts';
import { completeHint } from '../report-error.ts';
import type { Session } from '../session.ts';
import { quoteForShell } from '../shell-quote.ts';

interface CheckResult {
  readonly status: keyof typeof COLORS;
  readonly detail: string;
  readonly hint?: string | undefined;
}

interface Check extends CheckResult {
  readonly id: string;
  readonly label: string;
  /** The error that determines the exit code. */
  readonly failure?: PetstoreError;
}

const COLORS = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const;

const COLUMNS: readonly Column<Check>[] = [
  { header: 'status', value: ({ status }) => status, paint: ({ status }, style) => style[COLORS[status]] },
  { header: 'check', value: ({ label }) => label },
  { header: 'detail', value: ({ detail, hint }) => `${detail}${hint ? `\nhint: ${hint}` : ''}`, wrap: true },
];

const doctorAction: Action<object, readonly Check[]> = {
  run: diagnose,
  view: {
    // The error only counts the failures: the table has shown each with its hint.
    failure(checks) {
      const failed = checks.filter(({ failure }) => failure);
      const first = failed[0]?.failure;
      const names = failed.map(({ label }) => label).join(', ');
      const message = `${failed.length} of ${checks.length} checks failed: ${names}`;
      return first && new PetstoreError(first.kind, message, { retryAt: first.retryAt, exitCode: first.exitCode });
    },
    json: (checks) => checks.map(({ failure: _, ...facts }) => facts),
    text: (checks, { table }) => table(COLUMNS, checks),
    tables: true,
  },
};

const FROM_ENVIRONMENT = 'API key and base URL come from the environment';
const SANDBOX_NEEDS_NONE = 'not used by the sandbox';
/** The Date header has one-second resolution and network delay. */
const TOLERATED_SKEW_MS = 5_000;

const ok = (detail: string): CheckResult => ({ status: 'ok', detail });
const skipped = (detail: string): CheckResult => ({ status: 'skipped', detail });
const warning = (detail: string, hint: string): CheckResult => ({ status: 'warning', detail, hint });

async function diagnose(session: Session): Promise<readonly Check[]> {
  const { context, options } = session;
  const { env, nodeVersion } = context;
  const { profile } = options;
  const isSandbox = (profile ?? env['PETSTORE_PROFILE']) === SANDBOX;
  const isFromEnvironment = profile === undefined && environmentSuffices(env);
  let baseUrl: string | undefined;
  let response: HttpResponse | undefined;

  const checks: Check[] = [];
  let broken: string | undefined;
  // A chained check is skipped after another chained check has failed; a check fails by throwing.
  type Test = () => Promise<CheckResult> | CheckResult;
  const check = async (id: string, label: string, test: Test, isChained = true): Promise<void> => {
    if (isChained && broken !== undefined) return void checks.push({ id, label, ...skipped(`${broken} failed`) });
    try {
      checks.push({ id, label, ...(await test()) });
    } catch (thrown) {
      const failure = toPetstoreError(await session.explain(thrown));
      if (failure.kind === 'internal' || failure.kind === 'interrupted') throw thrown;
      const { message: detail, hint } = completeHint(failure, context, profile);
      const cause = checks.find((one) => one.failure && hint && one.hint === hint);
      if (isChained) broken = cause?.label ?? label;
      const result =
        isChained && cause ? skipped(`${cause.label} failed`) : { status: 'failed' as const, detail, hint, failure };
      checks.push({ id, label, ...result });
    }
  };

  await check('node', 'Node', () => ok(nodeVersion), false);
  const config = (): CheckResult => checkDirectory(session, session.configDir(), 'PETSTORE_CONFIG_DIR');
  const unused = isSandbox ? SANDBOX_NEEDS_NONE : isFromEnvironment ? FROM_ENVIRONMENT : undefined;
  await check('config', 'Config', () => (unused ? skipped(unused) : config()), false);
  // Chained for the sandbox, whose data is in the state directory.
  await check('state', 'State', () => checkDirectory(session, session.stateDir(), 'PETSTORE_STATE_DIR'), isSandbox);
  if (env['PETSTORE_STATE_URL']) await check('state_server', 'State server', () => checkStateServer(session), false);
  await check('profile', 'Profile', () => (isFromEnvironment ? skipped(FROM_ENVIRONMENT) : checkProfile(session)));
  await check('base_url', 'Base URL', async () => {
    const { urlSource, url } = findUrl(await selectProfile(env, profile, session.profiles));
    baseUrl = url;
    if (urlSource === 'sandbox') return skipped(SANDBOX_NEEDS_NONE);
    return ok(`${baseUrl}${urlSource === 'environment' ? ' (from the environment)' : ''}`);
  });
  await check('proxy', 'Proxy', () => {
    const proxy = baseUrl && proxyFor(new URL(baseUrl), env);
    return ok(proxy ? `${proxy.protocol}//${proxy.host}` : 'none');
  });
  await check('connection', 'Connection', async () => {
    // The next check reports a missing key.
    const target = await session.target().catch(() => undefined);
    if (!target) return skipped('needs an API key');
    try {
      response = await (await session.httpClient()).send(LIST);
      if (response.status !== 401) categoriesOf(response);
    } catch (error) {
      throw connectionError(error);
    }
    const host = target.keySource === 'sandbox' ? 'the sandbox' : new URL(target.baseUrl).host;
    return ok(`${host} responded in ${Math.round(response.receivedAt - response.sentAt)} ms`);
  });
  await check('api_key', 'API key', async () => {
    const { key, keySource } = await session.target();
    if (response) categoriesOf(response);
    if (keySource === 'sandbox') return skipped(SANDBOX_NEEDS_NONE);
    const from = { stored: 'saved', command: 'from a key command', environment: 'from the environment' }[keySource];
    return ok(`${maskKey(key)} accepted (${from})`);
  });
  await check('clock', 'Clock', () => (response ? checkClock(response) : skipped('no response')), false);
  return checks;
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
async function checkStateServer(session: Session): Promise<CheckResult> {
  const server = await session.stateServer();
  if (!server) return skipped('not configured');
  try {
    const { checkServer } = await import('../append-log/stream-log.ts');
    const policy = await checkServer(server, session.context.clock);
    const detail = `${server.name} responded${server.tls ? '' : ' without TLS'}`;
    if (policy === undefined) return ok(detail);
    return warning(`${detail}; it may delete the quota (${policy})`, 'set `maxmemory-policy noeviction` on the server');
  } catch (error) {
    if (!(error instanceof PetstoreError) || error.kind !== 'storage') throw error;
    throw rephrase(error, error.message, 'start the state server, or correct PETSTORE_STATE_URL');
  }
}

/** @throws PetstoreError `usage` if there is no profile of that name, `storage` */
async function checkProfile(session: Session): Promise<CheckResult> {
  const named = requestedProfile(session.context.env, session.options.profile);
  if (named?.name === SANDBOX) return ok(`${SANDBOX} (built in)`);
  const store = await session.profiles();
  const name = named?.name ?? store.active();
  checkExists(name, store.names(), named?.source);
  store.get(name);
  return ok(`${name} (${named === undefined ? 'active' : `from ${named.source ?? '--profile'}`})`);
}

/** Adds the failed step to the error of a request, and a hint that does not suggest `petstore doctor` again. */
function connectionError(error: unknown): unknown {
  if (!(error instanceof PetstoreError) || !(error.cause instanceof TransportError)) return error;
  const { code = '', reason, requestSent } = error.cause;
  const at = (step: string, hint: string): PetstoreError => rephrase(error, `${error.message} (${step})`, hint);
  const offline = error.hint === CHECK_NETWORK ? CHECK_NETWORK : undefined;
  if (/^(?:ENOTFOUND|EAI_)/.test(code)) return at('DNS', offline ?? 'check the host name in the base URL');
  if (reason === 'connect' || (reason === 'timeout' && !requestSent)) {
    return at('TCP', offline ?? 'check the host and port in the base URL');
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

export const doctor = (): PetstoreCommand =>
  new PetstoreCommand('doctor')
    .description('diagnose problems and suggest fixes')
    .sections({
      notes: `Checks the Node version, the config and state directories (readable, private, writable), the profile, its base
URL, the proxy, the connection (its error says whether DNS, TCP or TLS failed), the API key (one GET /categories), the
clock, and the state server if one is configured. A check that depends on a failed one is skipped.
The exit code is that of the first failed check.`,
      output: `one row per check; with --json an array of {"id", "label", "status", "detail", "hint"}. Status is ok, warning,
failed or skipped; ids are node, config, state, state_server, profile, base_url, proxy, connection, api_key and clock.`,
      exitCodes: READ_ERRORS,
      examples: [
        'petstore doctor',
        'petstore doctor -p staging',
        `petstore doctor --json | jq -r '.[] | select(.status == "failed") | .hint'`,
      ],
    })
    // A check is a single attempt.
    .hook('preAction', (_doctor, command) => void rootOf(command).setOptionValue('maxRetries', 0))
    .action(actionHandler(async () => doctorAction));
