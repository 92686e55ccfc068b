// `petstore doctor`: runs its checks in order, and the view of their results.
import { categoriesOf, LIST } from '../../api/categories.ts';
import type { Action } from '../../command.ts';
import { PetstoreError } from '../../errors.ts';
import { proxyFor } from '../../http/proxy.ts';
import type { HttpResponse } from '../../http/types.ts';
import type { Column, Style } from '../../output/view.ts';
import { environmentSuffices, findCredentials } from '../../profiles/credentials.ts';
import { SANDBOX } from '../../profiles/store.ts';
import { maskKey } from '../../redact.ts';
import { completeHint } from '../../report-error.ts';
import type { Session } from '../../session.ts';
import { toPetstoreError } from '../../system-error.ts';
import type { CheckResult } from './checks.ts';
import { checkClock, checkDirectory, checkProfile, checkStateServer, connectionError, ok, skipped } from './checks.ts';

interface Check extends CheckResult {
  readonly id: string;
  readonly label: string;
  /** The error that determines the exit code. */
  readonly failure?: PetstoreError;
}

const PAINTERS: Readonly<Record<Check['status'], (style: Style) => (text: string) => string>> = {
  ok: ({ green }) => green,
  warning: ({ yellow }) => yellow,
  failed: ({ red }) => red,
  skipped: ({ dim }) => dim,
};

const COLUMNS: readonly Column<Check>[] = [
  { header: 'status', value: ({ status }) => status, paint: ({ status }, style) => PAINTERS[status](style) },
  { header: 'check', value: ({ label }) => label },
  { header: 'detail', value: ({ detail, hint }) => `${detail}${hint ? `\nhint: ${hint}` : ''}`, wrap: true },
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

const FROM_ENVIRONMENT = 'API key and base URL come from the environment';
const SANDBOX_NEEDS_NONE = 'not used by the sandbox';

async function diagnose(session: Session): Promise<readonly Check[]> {
  const { context, options } = session;
  const { env, nodeVersion } = context;
  const { profile } = options;
  const isSandbox = (profile ?? env['PETSTORE_PROFILE']) === SANDBOX;
  const isFromEnvironment = profile === undefined && environmentSuffices(env);
  const credentials = () => findCredentials({ env, profile, store: session.profiles });
  let response: HttpResponse | undefined;

  const checks: Check[] = [];
  let broken: string | undefined;
  // A chained check is skipped after another chained check has failed. One cause fails one check.
  const check = async (id: string, label: string, test: Test, isChained = true): Promise<void> => {
    if (isChained && broken !== undefined) return void checks.push({ id, label, ...skipped(`${broken} failed`) });
    try {
      checks.push({ id, label, ...(await test()) });
    } catch (thrown) {
      const failure = toPetstoreError(thrown);
      if (failure.kind === 'internal' || failure.kind === 'interrupted') throw thrown;
      const same = checks.find((one) => one.failure && causeOf(one.failure) === causeOf(failure));
      if (isChained) broken = (same ?? { label }).label;
      if (same) return void checks.push({ id, label, ...skipped(`${same.label} failed`) });
      const { message: detail, hint } = completeHint(failure, context, { profile, target: session.usedTarget });
      checks.push({ id, label, status: 'failed', detail, hint, failure });
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
    const { baseUrl, urlSource, problem } = await credentials();
    if (urlSource === 'sandbox') return skipped(SANDBOX_NEEDS_NONE);
    if (baseUrl === undefined) throw problem;
    return ok(`${baseUrl}${urlSource === 'environment' ? ' (from the environment)' : ''}`);
  });
  await check('proxy', 'Proxy', async () => {
    const { baseUrl } = await credentials();
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

/** Fails by throwing. */
type Test = () => Promise<CheckResult> | CheckResult;

// A full disk that affects two directories is one cause.
function causeOf({ kind, message, cause }: PetstoreError): string {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return kind === 'storage' && code !== undefined ? code : message;
}

// The error only counts the failures: the table has shown each with its hint.
function exitError(checks: readonly Check[]): PetstoreError | undefined {
  const failed = checks.filter(({ failure }) => failure);
  const first = failed[0]?.failure;
  if (!first) return undefined;
  const message = `${failed.length} of ${checks.length} checks failed: ${failed.map(({ label }) => label).join(', ')}`;
  return new PetstoreError(first.kind, message, { retryAt: first.retryAt, exitCode: first.exitCode });
}
