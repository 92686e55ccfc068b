// The checks of `petstore doctor` that share one request: the connection, the service, the API key and the clock.
import { categoriesOf, LIST_REQUEST } from '../../api/categories.ts';
import { certificateProblem, PetstoreError, rephrase } from '../../errors.ts';
import { CHECK_NETWORK, isOffline } from '../../http/request-errors.ts';
import type { HttpResponse } from '../../http/types.ts';
import { TransportError } from '../../http/types.ts';
import { formatCount, formatDuration, formatTime } from '../../text/format.ts';
import { maskKey } from '../../text/redact.ts';
import type { Credentials, FoundUrl } from '../profiles/credentials.ts';
import { loginHint } from '../profiles/credentials.ts';
import type { Session } from '../session.ts';

export interface CheckResult {
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly detail: string;
  readonly hint?: string | undefined;
  /** The error that determines the exit code. */
  readonly failure?: PetstoreError;
}

export const SANDBOX_NEEDS_NONE = 'not used by the sandbox';
/** The Date header has a resolution of one second, and arrives with network delay. */
const TOLERATED_SKEW_MS = 5_000;

export const ok = (detail: string): CheckResult => ({ status: 'ok', detail });
export const skipped = (detail: string): CheckResult => ({ status: 'skipped', detail });
export const notChecked = (why: string): CheckResult => skipped(`not checked: ${why}`);
export const warning = (detail: string, hint: string): CheckResult => ({ status: 'warning', detail, hint });

/** The results that later checks use. */
export interface Found {
  url?: FoundUrl;
  response?: HttpResponse;
  /** The error of a response that could not be read. */
  failure?: PetstoreError;
  /** The reason for a missing response. */
  notSentReason?: string;
}

/** Sends one request, if the rate limit allows it now. Any response means that the connection works. */
export async function checkConnection(session: Session, found: Found): Promise<CheckResult> {
  // A later check reports the missing or invalid key.
  const target = await session.target().catch(() => undefined);
  if (!target) {
    found.notSentReason = 'no valid API key';
    return noResponse(found);
  }
  const host = target.keySource === 'sandbox' ? 'the sandbox' : new URL(target.baseUrl).host;
  try {
    found.response = await (await session.httpClient()).send(LIST_REQUEST);
    return ok(`${host} responded in ${Math.round(found.response.receivedAt - found.response.sentAt)}ms`);
  } catch (error) {
    if (!(error instanceof PetstoreError)) throw error;
    if (error.kind === 'rate_limited') {
      found.notSentReason = limitText(error.retryAt, session.context.clock.now());
      return error.status === 429 ? ok(`${host} responded (429)`) : noResponse(found);
    }
    const { cause } = error;
    if (!(cause instanceof TransportError) || !cause.head) throw connectionError(error, target);
    found.failure = error;
    return ok(`${host} responded`);
  }
}

function limitText(retryAt = 0, now: number): string {
  return retryAt > now ? `rate limited; try again ${formatTime(retryAt, now)}` : 'rate limited; try again';
}

export function noResponse({ notSentReason = 'no response' }: Found): CheckResult {
  return notChecked(notSentReason);
}

/** Adds the failed step to the error of a request, and a hint that does not suggest `petstore doctor` again. */
export function connectionError(
  error: PetstoreError,
  target: Pick<Credentials, 'urlSource' | 'profile'>,
): PetstoreError {
  if (!(error.cause instanceof TransportError)) return error;
  const { code = '', reason, requestSent } = error.cause;
  const at = (step: string, hint: string): PetstoreError => {
    const message = error.message.includes(step) ? error.message : `${error.message} (${step})`;
    return rephrase(error, message, { hint });
  };
  const offline = isOffline(code) ? CHECK_NETWORK : undefined;
  const url = urlName(target);
  if (/^(?:ENOTFOUND|EAI_)/.test(code)) return at('DNS', offline ?? `check the host name in ${url}`);
  if (reason === 'connect' || (reason === 'timeout' && !requestSent)) {
    return at('TCP', offline ?? `check the host and port in ${url}`);
  }
  return reason === 'tls' ? at('TLS', tlsHint(code, url)) : error;
}

function urlName({ urlSource, profile }: Pick<Credentials, 'urlSource' | 'profile'>): string {
  return urlSource === 'environment' ? 'PETSTORE_BASE_URL' : `the base URL of profile "${profile}"`;
}

function tlsHint(code: string, url: string): string {
  if (/EXPIRED|NOT_YET_VALID/.test(code)) return 'synchronize the system clock, or renew the certificate';
  if (/ALTNAME|HOSTNAME/.test(code)) return `check the host name in ${url}`;
  if (certificateProblem(code)) return 'set NODE_EXTRA_CA_CERTS to the certificate file of a trusted authority';
  return `check that the port in ${url} serves https`;
}

/** @throws PetstoreError if the service did not list the categories; the next check reports a rejected key */
export async function checkService(session: Session, found: Found): Promise<CheckResult> {
  if (found.failure) throw found.failure;
  if (!found.response) return noResponse(found);
  if (found.response.status === 401) return ok('responded with status 401');
  try {
    return ok(`listed ${formatCount(categoriesOf(found.response).length, 'category', 'categories')}`);
  } catch (error) {
    if (!(error instanceof PetstoreError) || error.details.reason?.is !== 'wrong_service') throw error;
    const { urlSource, profile } = await session.target();
    const hint = urlSource === 'environment' ? 'correct PETSTORE_BASE_URL' : loginHint(profile, true);
    throw rephrase(error, error.message, { hint });
  }
}

/** @throws PetstoreError `auth` if there is no valid key, or the service rejected it */
export async function checkApiKey(session: Session, found: Found): Promise<CheckResult> {
  const { key, keySource } = await session.target();
  if (keySource === 'sandbox') return skipped(SANDBOX_NEEDS_NONE);
  if (!found.response) return noResponse(found);
  categoriesOf(found.response);
  const sources = { stored: 'saved', command: 'from a key command', environment: 'from the environment' };
  return ok(`${maskKey(key)} accepted (${sources[keySource]})`);
}

/** Compares the system clock with the Date header (RFC 9110, 6.6.1); skew is only a warning, since waits are corrected. */
export function checkClock({ headers, sentAt, receivedAt }: Pick<HttpResponse, 'headers' | 'sentAt' | 'receivedAt'>) {
  const serviceTime = Date.parse(String(headers['date']));
  if (Number.isNaN(serviceTime)) return skipped('the response has no Date header');
  // The header is truncated to the second: add the mean error of half a second.
  const skew = (sentAt + receivedAt) / 2 - (serviceTime + 500);
  if (Math.abs(skew) <= TOLERATED_SKEW_MS) return ok('agrees with the service');
  const side = skew > 0 ? 'ahead of' : 'behind';
  const detail = `the system clock is ${formatDuration(Math.abs(skew))} ${side} the service`;
  return warning(detail, 'synchronize the system clock');
}
