// The errors of final responses that are not a success, and of the rate limit (docs/cli.md, exit codes).
import type { Hint } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../text/escape.ts';
import { formatChosenDuration, formatDuration, formatTime, formatUntil } from '../text/format.ts';
import { tryParseJson } from '../text/json.ts';
import { retryAfterMs } from './rate-limit-headers.ts';
import { CHECK_URL, nameToCreate, unknownOutcomeError } from './request-errors.ts';
import { isSafe, statusTraits } from './retry.ts';
import type { HttpRequest, HttpResponse, RequestLimits } from './types.ts';

/** Why a request is not sent within the maximum wait, or not retried. */
interface Limit {
  readonly reason: 'blocked' | 'window' | 'pending' | 'attempts';
  /** When the next request may be sent, epoch milliseconds. */
  readonly until?: number;
  /** The status of the refusal, if the reason is `blocked`. */
  readonly status?: number;
}

/**
 * The error of a request that would have to wait longer than allowed, or whose last attempt received a 429. A wait is stated once,
 * in the message or in the hint.
 */
export function rateLimitedError(
  { reason, until, status }: Limit,
  now: number,
  { maxWaitMs }: Pick<RequestLimits, 'maxWaitMs'>,
  refusal: HttpResponse | undefined,
): PetstoreError {
  const retryAt = until === undefined ? undefined : Math.max(until, now);
  const { code, serviceMessage } = refusal ? decodeServiceError(refusal.body) : {};
  const excess = `which exceeds the maximum wait of ${formatChosenDuration(maxWaitMs)}`;
  const end = retryAt ?? now;
  const wait = `${formatDuration(end - now)}${formatUntil(end, now)}`;
  const what = {
    blocked: `rate limited for another ${wait} after a ${status}, ${excess}`,
    window: `quota exhausted for another ${wait}, ${excess}`,
    pending: 'timed out waiting for another petstore process',
    attempts: 'still rate limited (429) after the last attempt',
  }[reason];
  return new PetstoreError('rate_limited', serviceMessage ? `${what}: ${serviceMessage}` : what, {
    retryAt,
    ...limitHint(reason, retryAt, now),
    code,
    serviceMessage,
    status: refusal?.status,
  });
}

function limitHint(reason: Limit['reason'], retryAt: number | undefined, now: number): Hint {
  if (reason === 'blocked' || reason === 'window')
    return { hint: 'use a longer maxWaitMs', reason: { is: 'long_wait' } };
  return { hint: retryAt === undefined ? 'try again' : `try again ${formatTime(retryAt, now)}` };
}

/** The error of a final response that is not a success; a 429 has `rateLimitedError`. */
export function responseError(request: HttpRequest, response: HttpResponse): PetstoreError {
  const { status } = response;
  const details = { status, ...decodeServiceError(response.body) };
  const detail = details.serviceMessage ? `: ${details.serviceMessage}` : '';
  if (status === 401) {
    const message = `the service rejected the API key (401)${detail}`;
    return new PetstoreError('auth', message, { ...details, hint: 'use a valid API key' });
  }
  if (status >= 300 && status < 400) return redirectError(request, response);
  const { isAmbiguous, isSlow } = statusTraits(status);
  // The service may have processed the request before the error, and an unexpected 2xx does not confirm success.
  if (!isSafe(request.method) && isAmbiguous) {
    const processed = isSlow ? 'late' : 'perhaps';
    return unknownOutcomeError(request, `the service returned ${status}${detail}`, { ...details, processed });
  }
  if (status >= 400 && status < 500) {
    const who = isFromFirewall(response) ? 'a firewall or proxy' : 'the service';
    const message = `${who} ${status === 408 ? 'timed out' : 'rejected the request'} (${status})${detail}`;
    return new PetstoreError('rejected', message, { ...details, ...rejectionHint(request, response) });
  }
  if (status === 501)
    return new PetstoreError('service', `the service does not implement this operation (501)${detail}`, details);
  if (status < 500)
    return new PetstoreError('service', `invalid response: unexpected status ${status}${detail}`, {
      ...details,
      ...CHECK_URL,
    });
  const hint = `try again ${statedWait(response) ?? 'later'}`;
  return new PetstoreError('service', `server error (${status})${detail}`, { ...details, hint });
}

function rejectionHint(request: HttpRequest, response: HttpResponse): Hint | undefined {
  const { method, path } = request;
  const { status, headers, body } = response;
  if (status === 404 || status === 405) {
    // Only a raw request uses another method with this path.
    if (path === '/categories' && /^(?:GET|POST)$/.test(method)) return CHECK_URL;
    const allowed: readonly string[] = status === 405 ? (headers['allow']?.match(/\b[A-Z]{1,20}\b/g) ?? []) : [];
    if (allowed.length > 0 && !allowed.includes(method))
      return { hint: `use ${allowed.slice(0, 10).join(' or ')} instead of ${method}` };
    return { hint: 'check the path, which is relative to the base URL' };
  }
  if (nameToCreate(request) !== undefined) {
    if (status === 409) return { hint: 'use another name' };
    if (status === 413) return { hint: 'shorten the name or description' };
    if (statusTraits(status).isRowSpecific) return { hint: 'correct the values and try again' };
  }
  // A 403 may be a rate limit, too.
  const wait = statedWait(response);
  if (wait) return { hint: `try again ${wait}` };
  if (status === 408) return { hint: 'try again later' };
  if (status === 403) {
    const passes = isFromFirewall(response) || /rate.?limit|too many requests/i.test(Buffer.from(body).toString());
    return { hint: passes ? 'try again in a few minutes' : "check the API key's plan and permissions" };
  }
  return undefined;
}

// Firewalls such as mod_evasive respond with an HTML page.
function isFromFirewall({ status, headers, body }: HttpResponse): boolean {
  return status === 403 && (/html/.test(headers['content-type'] ?? '') || body[0] === 0x3c);
}

function statedWait(response: HttpResponse): string | undefined {
  const ms = retryAfterMs(response) ?? 0;
  return ms > 0 ? `in ${formatDuration(ms)}` : undefined;
}

function redirectError({ method }: HttpRequest, { status, headers }: HttpResponse): PetstoreError {
  const location = headers['location'];
  // A 303 may follow a create that was processed.
  const processed = isSafe(method) ? 'no' : 'perhaps';
  if (location === undefined)
    return new PetstoreError('service', `invalid response: unexpected status ${status}`, { status, processed });
  const target = escapeControls(location).slice(0, 300);
  const message = `the service redirected (${status}) to ${target}; petstore does not follow redirects`;
  return new PetstoreError('service', message, { status, processed, ...CHECK_URL });
}

const MAX_CHARACTERS = 500;

/** Reads an Error object of the service: code and message, cut to 500 characters and safe to print. */
export function decodeServiceError(body: Uint8Array): Partial<Pick<PetstoreError, 'code' | 'serviceMessage'>> {
  const { code, message } = Object(tryParseJson(body)) as Readonly<Record<string, unknown>>;
  return { code: shortText(code), serviceMessage: shortText(message) };
}

function shortText(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  return escapeControls(value.length > MAX_CHARACTERS ? `${value.slice(0, MAX_CHARACTERS)}…` : value);
}
