// `petstore doctor`: every check in turn, what depends on a failed one skipped.
import { categoriesOf } from '../../api/categories.ts';
import { formatDuration } from '../../duration.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { proxyFor } from '../../http/proxy.ts';
import type { HttpRequest, HttpResponse } from '../../http/types.ts';
import type { TextContext, View } from '../../output/view.ts';
import { hangingIndent } from '../../output/wrap.ts';
import type { Session } from '../../session.ts';
import type { Check } from './check.ts';
import { attempt, ok, skipped } from './check.ts';
import { checkConfig, checkNode, checkProfile, checkProxy, checkTarget } from './config-checks.ts';
import { checkConnectivity } from './connectivity.ts';
import { checkStateServer } from './state-server.ts';

/** What was found. */
export interface Diagnosis {
  readonly checks: readonly Check[];
}

const LIST: HttpRequest = { method: 'GET', path: '/categories', safe: true };
/** One step of the way takes no longer than this, in milliseconds. */
const STEP_MS = 10_000;
/** The Date header counts seconds, and travels: less than this is no skew worth a word, in milliseconds. */
const TOLERABLE_SKEW_MS = 5_000;

/**
 * Checks everything; a failed check is a result, not an exception.
 * @param session the open session
 * @returns the checks in the order they were made
 */
export async function run(session: Session): Promise<Diagnosis> {
  const own = [checkNode(session.context.nodeVersion), await checkConfig(session), await checkProfile(session)];
  const local = [...own, ...(await checkStateServer(session))];
  const target = await checkTarget(session);
  if (target.status === 'failed') {
    const rest = ['Proxy', 'DNS', 'TCP', 'TLS', 'Key accepted', 'Clock'];
    return { checks: [...local, target, ...rest.map((name) => skipped(name, 'no URL and key'))] };
  }
  const way = await checkWay(session);
  const blocked = way.find((check) => check.status === 'failed');
  const answered = blocked
    ? ['Key accepted', 'Clock'].map((name) => skipped(name, `after ${blocked.name}`))
    : await checkAnswer(session);
  return { checks: [...local, target, ...way, ...answered] };
}

async function checkWay(session: Session): Promise<readonly Check[]> {
  const { baseUrl } = await session.target();
  if (baseUrl === '') return ['Proxy', 'DNS', 'TCP', 'TLS'].map((name) => skipped(name, 'the sandbox is in here'));
  const url = new URL(baseUrl);
  const proxied = await checkProxy(session, url);
  if (proxied.status === 'failed') return [proxied, ...['DNS', 'TCP', 'TLS'].map((name) => skipped(name, 'no proxy'))];
  const proxy = proxyFor(url, session.context.env);
  const steps = await checkConnectivity({
    url: proxy ?? url,
    what: proxy ? `the proxy ${proxy.hostname}` : url.hostname,
    timeoutMs: Math.min(STEP_MS, session.options.timeoutMs),
    signal: session.context.signal,
  });
  return [proxied, ...steps];
}

async function checkAnswer(session: Session): Promise<readonly Check[]> {
  let reply: HttpResponse | undefined;
  const accepted = await attempt('Key accepted', async () => {
    reply = await (await session.httpClient()).send(LIST);
    categoriesOf(reply);
    return ok('Key accepted', `GET /categories was answered in ${Math.round(reply.receivedAt - reply.sentAt)} ms`);
  });
  return [accepted, reply ? checkClock(reply) : skipped('Clock', 'no answer')];
}

/**
 * Compares this machine's clock with the service's.
 * @param reply any reply; its Date header is read (RFC 9110, 6.6.1)
 * @returns a warning where they differ; waits are corrected by the Date header, so it is no failure
 */
export function checkClock(reply: Pick<HttpResponse, 'headers' | 'sentAt' | 'receivedAt'>): Check {
  const { date } = reply.headers;
  const theirs = typeof date === 'string' ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(theirs)) return skipped('Clock', 'the answer carries no Date');
  // The header is cut to the second, so the moment it names lies half a second later on average.
  const skew = (reply.sentAt + reply.receivedAt) / 2 - (theirs + 500);
  if (Math.abs(skew) <= TOLERABLE_SKEW_MS) return ok('Clock', 'agrees with the service');
  const detail = `this machine is ${formatDuration(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} the service`;
  return { name: 'Clock', status: 'warning', detail, remedy: 'set the clock, for example by turning on NTP' };
}

/**
 * @param data the checks
 * @returns an error with the exit code of the first failed check; undefined where none failed
 */
export function exitError({ checks }: Diagnosis): PetstoreError | undefined {
  const failed = checks.filter((check) => check.status === 'failed');
  const first = failed[0]?.failure;
  if (!first) return undefined;
  const count = `${failed.length} of ${checks.length} checks failed`;
  const { code, status, retryAt, exitCode } = first;
  return new PetstoreError(first.kind, `${count}, first ${failed[0]?.name}: ${first.message}`, {
    hint: first.hint,
    code,
    status,
    retryAt,
    exitCode,
  });
}

const NAME_CELLS = 14;
const STATUS_CELLS = 9;
/** Narrower than this, the detail stands below the name instead of beside it; in cells. */
const NARROW = 60;

/** A line per check, its remedy below it. */
export const view: View<Diagnosis> = {
  json: ({ checks }) => ({
    ok: checks.every((check) => check.status !== 'failed'),
    checks: checks.map(({ failure: _, ...facts }) => facts),
  }),
  *text({ checks }, look) {
    const narrow = (look.columns ?? NARROW) < NARROW;
    const indent = narrow ? STATUS_CELLS : STATUS_CELLS + NAME_CELLS;
    for (const check of checks) {
      const name = narrow ? `${check.name}\n${' '.repeat(indent)}` : check.name.padEnd(NAME_CELLS);
      yield `${paint(check, look)}${name}${hangingIndent(escapeControls(check.detail), look.columns, indent)}\n`;
      const remedy = hangingIndent(escapeControls(`remedy: ${check.remedy}`), look.columns, STATUS_CELLS);
      if (check.remedy) yield `${' '.repeat(STATUS_CELLS)}${remedy}\n`;
    }
  },
};

function paint(check: Check, { style }: TextContext): string {
  const word = check.status.padEnd(STATUS_CELLS);
  const painters = { ok: style.green, warning: style.yellow, failed: style.red, skipped: style.dim };
  return painters[check.status](word);
}
