// Creates the errors of the HTTP client and decodes the bodies of error responses.
import type { Hint } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { formatDuration, formatTime } from '../format.ts';
import { parseJson } from '../json.ts';
import { statusTraits } from './retry.ts';
import type { HttpRequest, HttpResponse, Limits, TransportError } from './types.ts';

/** Describes a request that may have been processed, and how to check, for an error message and its hint. */
export function describeUncertain({ method, path, creates }: HttpRequest): Hint & { readonly what: string } {
  if (creates === undefined) {
    const hint = 'check whether the request was processed before you retry';
    return { what: `${method} ${escapeControls(path)}`, hint };
  }
  // Search only for a name that neither a shell nor the service is likely to alter.
  const search = /^[^\p{Cc}]{1,60}$/u.test(creates) ? ['--search', creates] : [];
  return {
    what: `creating "${escapeControls(creates)}"`,
    hint: 'check whether the category exists before you retry',
    command: ['categories', 'list', ...search],
  };
}

/** Why a request is not sent within `--max-wait`, or not retried. */
type LimitReason = 'blocked' | 'window' | 'pending' | 'attempts';

/**
 * The error of a request that would have to wait longer than `--max-wait`, or whose last attempt received a 429.
 * @param until when the next request may be sent, epoch milliseconds; undefined if unknown
 */
export function rateLimited(
  reason: LimitReason,
  until: number | undefined,
  now: number,
  { maxWaitMs, names }: Pick<Limits, 'maxWaitMs' | 'names'>,
  refusal: HttpResponse | undefined,
): PetstoreError {
  const retryAt = until === undefined ? undefined : Math.max(until, now);
  const { code, serviceMessage } = refusal ? decodeServiceError(refusal.body) : {};
  const wait = formatDuration((retryAt ?? now) - now);
  const longest = `${names.maxWait} ${formatDuration(maxWaitMs)}`;
  const what = {
    blocked: `rate limited ${refusal ? '(429)' : 'by an earlier 429'} for ${wait}, which exceeds ${longest}`,
    window: `quota exhausted: the wait of ${wait} exceeds ${longest}`,
    pending: 'timed out waiting for another petstore process',
    attempts: 'still rate limited (429) after the last attempt',
  }[reason];
  return new PetstoreError('rate_limited', serviceMessage ? `${what}: ${serviceMessage}` : what, {
    retryAt,
    hint: retryAt === undefined ? 'try again' : `try again ${formatTime(retryAt, now)}`,
    code,
    serviceMessage,
    status: refusal?.status,
  });
}

/** The hint after a failed connection. */
export const CHECK_CONNECTION: Hint = { hint: 'check the connection', command: ['doctor'] };

/**
 * The error of a request that received no complete response and changed nothing.
 * @param timeout the option that sets the timeout
 */
export function networkError(failure: TransportError, timeout: string): PetstoreError {
  const { reason, head } = failure;
  // An incomplete or invalid response is an error of the service, not of the network.
  const isService = reason === 'reset' ? head !== undefined : /^(?:protocol|too-large|encoding)$/.test(reason);
  const kind = reason === 'proxy-auth' ? 'auth' : isService ? 'service' : 'network';
  return new PetstoreError(kind, escapeControls(failure.detail), { ...networkHint(failure, timeout), cause: failure });
}

function networkHint({ reason }: TransportError, timeout: string): Hint | undefined {
  if (reason === 'too-large') return undefined;
  if (reason === 'timeout') return { hint: `try again with a longer ${timeout}` };
  if (reason === 'proxy-auth') return { hint: 'set HTTPS_PROXY to http://USER:PASSWORD@HOST:PORT' };
  if (reason === 'proxy' || reason === 'proxy-refused') return { hint: 'correct HTTPS_PROXY' };
  return CHECK_CONNECTION;
}

/** The error of a create that was sent but received no valid response. */
export function unknownOutcome(request: HttpRequest, failure: TransportError): PetstoreError {
  const { what, ...hint } = describeUncertain(request);
  const message = `the outcome of ${what} is unknown: ${escapeControls(failure.detail)}`;
  const status = failure.head?.status;
  const processed = failure.reason === 'timeout' || statusTraits(status ?? 0).slow ? 'late' : 'perhaps';
  return new PetstoreError('unknown_outcome', message, { ...hint, processed, status, cause: failure });
}

/** @param reason the abort reason of the signal, which has the exit code */
export function interruptedAfterSending(request: HttpRequest, reason: unknown): PetstoreError {
  const exitCode = reason instanceof PetstoreError ? reason.exitCode : undefined;
  const { what, ...hint } = describeUncertain(request);
  return new PetstoreError('interrupted', `interrupted: the outcome of ${what} is unknown`, {
    ...hint,
    processed: 'perhaps',
    exitCode,
    cause: reason,
  });
}

const MAX_CHARACTERS = 500;

/**
 * Reads an Error object of the service, problem+json or the title of an HTML page.
 * Code and message are cut to 500 characters and safe to print.
 */
export function decodeServiceError(body: Uint8Array): Partial<Pick<PetstoreError, 'code' | 'serviceMessage'>> {
  const text = new TextDecoder().decode(body);
  // Proxies and load balancers respond with HTML pages.
  const page = /^\s*<[\s\S]*?<title[^>]*>([^<]*)/i.exec(text.slice(0, 10_000))?.[1];
  if (page !== undefined) return { serviceMessage: shortText(page.replace(/\s+/g, ' ').trim()) };
  try {
    // The message of problem+json is `detail`, or `title` if there is no detail (RFC 9457).
    const { code, message, detail, title } = Object(parseJson(text)) as Readonly<Record<string, unknown>>;
    return { code: shortText(code), serviceMessage: shortText(message) ?? shortText(detail) ?? shortText(title) };
  } catch {
    return {};
  }
}

function shortText(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  return escapeControls(value.length > MAX_CHARACTERS ? `${value.slice(0, MAX_CHARACTERS)}…` : value);
}
