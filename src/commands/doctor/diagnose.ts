// `petstore doctor`: every check in turn; what depends on a failed one is skipped.
import { categoriesOf } from '../../api/categories.ts';
import { PetstoreError } from '../../errors.ts';
import { formatDuration } from '../../format.ts';
import type { HttpRequest, HttpResponse } from '../../http/types.ts';
import type { Column, Style } from '../../output/view.ts';
import type { Session } from '../../session.ts';
import type { Action } from '../command.ts';
import type { Check, CheckResult } from './check.ts';
import { check, checkInTurn, ok, skipped, warning } from './check.ts';
import { checkConfig, checkNode, checkProfile, checkTarget } from './config-checks.ts';
import { connectionTests, stateServerTests } from './network-checks.ts';

const LIST: HttpRequest = { method: 'GET', path: '/categories', safe: true };
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
