// `petstore doctor`: every check in turn; what depends on a failed one is skipped.
import { categoriesOf } from '../../api/categories.ts';
import { PetstoreError } from '../../errors.ts';
import { formatDuration } from '../../format.ts';
import { proxyFor } from '../../http/proxy.ts';
import type { HttpRequest, HttpResponse } from '../../http/types.ts';
import type { Column, Style } from '../../output/view.ts';
import type { Session } from '../../session.ts';
import type { Action } from '../command.ts';
import type { Check } from './check.ts';
import { attempt, ok, skipped, skippedAll } from './check.ts';
import { checkConfig, checkNode, checkProfile, checkProxy, checkTarget } from './config-checks.ts';
import { checkConnectivity } from './connectivity.ts';
import { checkStateServer } from './state-server.ts';

const LIST: HttpRequest = { method: 'GET', path: '/categories', safe: true };
const STEP_TIMEOUT_MS = 10_000;
/** The Date header counts whole seconds and travels: a smaller difference means nothing. */
const TOLERATED_SKEW_MS = 5_000;

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
  exitError,
  view: {
    json: (checks) => ({
      ok: checks.every((check) => check.status !== 'failed'),
      checks: checks.map(({ failure: _, ...facts }) => facts),
    }),
    text: (checks, { table }) => table(COLUMNS, checks),
    tables: true,
  },
};

async function diagnose(session: Session): Promise<readonly Check[]> {
  const own = [checkNode(session.context.nodeVersion), await checkConfig(session), await checkProfile(session)];
  const local = [...own, ...(await checkStateServer(session))];
  const target = await checkTarget(session);
  if (target.status === 'failed') {
    const rest = ['Proxy', 'DNS', 'TCP', 'TLS', 'Key accepted', 'Clock'];
    return [...local, target, ...skippedAll(rest, 'no base URL and key')];
  }
  const connection = await checkConnection(session);
  const failed = connection.find((check) => check.status === 'failed');
  const service = failed ? skippedAll(['Key accepted', 'Clock'], `${failed.name} failed`) : await checkService(session);
  return [...local, target, ...connection, ...service];
}

async function checkConnection(session: Session): Promise<readonly Check[]> {
  const { baseUrl } = await session.target();
  if (baseUrl === '') return skippedAll(['Proxy', 'DNS', 'TCP', 'TLS'], 'not applicable to the sandbox');
  const url = new URL(baseUrl);
  const proxyCheck = await checkProxy(session, url);
  if (proxyCheck.status === 'failed') return [proxyCheck, ...skippedAll(['DNS', 'TCP', 'TLS'], 'Proxy failed')];
  const proxy = proxyFor(url, session.context.env);
  const steps = await checkConnectivity({
    url: proxy ?? url,
    what: proxy ? `proxy ${proxy.hostname}` : url.hostname,
    timeoutMs: Math.min(STEP_TIMEOUT_MS, session.options.timeoutMs),
    signal: session.context.signal,
  });
  return [proxyCheck, ...steps];
}

async function checkService(session: Session): Promise<readonly Check[]> {
  let response: HttpResponse | undefined;
  const accepted = await attempt('Key accepted', async () => {
    response = await (await session.httpClient()).send(LIST);
    await categoriesOf(response);
    return ok('Key accepted', `GET /categories took ${Math.round(response.receivedAt - response.sentAt)} ms`);
  });
  return [accepted, ...(response ? [checkClock(response)] : skippedAll(['Clock'], 'no response'))];
}

/** Compares this machine's clock with the Date header (RFC 9110, 6.6.1); waits are corrected by it, so skew is no failure. */
export function checkClock(response: Pick<HttpResponse, 'headers' | 'sentAt' | 'receivedAt'>): Check {
  const { date } = response.headers;
  const theirs = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(theirs)) return skipped('Clock', 'the response has no Date header');
  // The header is cut to the second: on average the moment it names lies half a second later.
  const skew = (response.sentAt + response.receivedAt) / 2 - (theirs + 500);
  if (Math.abs(skew) <= TOLERATED_SKEW_MS) return ok('Clock', 'agrees with the service');
  const detail = `this machine is ${formatDuration(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} the service`;
  return { name: 'Clock', status: 'warning', detail, remedy: 'set the clock, for example with NTP' };
}

// The table has shown each failure and its remedy: the error counts them.
function exitError(checks: readonly Check[]): PetstoreError | undefined {
  const failed = checks.filter((check) => check.status === 'failed');
  const first = failed[0]?.failure;
  if (!first) return undefined;
  const names = failed.map(({ name }) => name).join(', ');
  const { retryAt, exitCode } = first;
  const message = `${failed.length} of ${checks.length} checks failed: ${names}`;
  return new PetstoreError(first.kind, message, { retryAt, exitCode });
}
