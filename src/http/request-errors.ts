// Creates the errors of the HTTP client and decodes the bodies of error responses.
import type { ErrorKind, WriteCommand } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { formatTime } from '../format.ts';
import { parseJson } from '../json.ts';
import { statusTraits } from './retry.ts';
import type { HttpRequest, HttpResponse, TransportError } from './types.ts';

/** Describes a request that may have been processed, and how to check, for an error message and its hint. */
export function describeUncertain({ method, path, creates }: HttpRequest): {
  readonly what: string;
  readonly hints: Pick<PetstoreError, 'hint' | 'commandHint'>;
} {
  const operation = `${method} ${escapeControls(path)}`;
  if (creates === undefined) {
    return {
      what: operation,
      hints: { hint: 'check whether the request was processed before you retry', commandHint: undefined },
    };
  }
  // Search only for a name that neither a shell nor the service is likely to alter.
  const search = /^[^\p{Cc}]{1,60}$/u.test(creates) ? ['--search', creates] : [];
  return {
    what: `creating "${escapeControls(creates)}"`,
    hints: {
      hint: 'check whether the category exists before you retry',
      commandHint: (petstore) =>
        `check whether the category exists before you retry: ${petstore('categories', 'list', ...search)}`,
    },
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
  refusal: HttpResponse | undefined,
): PetstoreError {
  const retryAt = until === undefined ? undefined : Math.max(until, now);
  const { message, code } = refusal ? decodeServiceError(refusal.body) : {};
  const serviceMessage = message && escapeControls(message);
  const what = {
    blocked: refusal ? 'rate limited (429)' : 'rate limited by an earlier 429',
    window: 'rate limit exhausted',
    pending: 'timed out waiting for another petstore process',
    attempts: 'still rate limited (429) after the last attempt',
  }[reason];
  const hint = retryAt === undefined ? 'try again' : `try again ${formatTime(retryAt, now)}`;
  const option =
    reason === 'attempts' ? 'allow more retries with --max-retries' : 'allow a longer wait with --max-wait';
  return new PetstoreError('rate_limited', serviceMessage ? `${what}: ${serviceMessage}` : what, {
    retryAt,
    hint,
    commandHint: () => `${hint}, or ${option}`,
    code: code && escapeControls(code),
    serviceMessage,
    status: refusal?.status,
  });
}

const KIND_BY_REASON: Partial<Record<TransportError['reason'], ErrorKind>> = {
  protocol: 'service',
  'too-large': 'service',
  encoding: 'service',
};

/** The command-line hint after a failed connection. */
export const checkConnection = (petstore: WriteCommand): string => `run ${petstore('doctor')} to check the connection`;

/** The error of a request that received no complete response and changed nothing. */
export function networkError(failure: TransportError): PetstoreError {
  const { reason, head } = failure;
  // An incomplete response is an error of the service, not of the network.
  const incomplete = reason === 'reset' && head !== undefined;
  const kind = reason === 'proxy-auth' ? 'auth' : incomplete ? 'service' : (KIND_BY_REASON[reason] ?? 'network');
  return new PetstoreError(kind, escapeControls(failure.detail), { ...networkHint(failure), cause: failure });
}

function networkHint({ reason }: TransportError): Partial<Pick<PetstoreError, 'hint' | 'commandHint'>> {
  switch (reason) {
    case 'proxy-auth':
      return { hint: 'set HTTPS_PROXY to http://USER:PASSWORD@HOST:PORT' };
    case 'proxy':
    case 'proxy-refused':
      return { hint: 'check HTTPS_PROXY' };
    case 'timeout':
      return { hint: 'allow a longer timeout', commandHint: () => 'try again with a longer --timeout' };
    default:
      return { hint: 'check the base URL and the network connection', commandHint: checkConnection };
  }
}

/** The error of a create that was sent but received no valid response. */
export function unknownOutcome(request: HttpRequest, failure: TransportError): PetstoreError {
  const { what, hints } = describeUncertain(request);
  const message = `the outcome of ${what} is unknown: ${escapeControls(failure.detail)}`;
  const status = failure.head?.status;
  const processed = failure.reason === 'timeout' || statusTraits(status ?? 0).slow ? 'late' : 'perhaps';
  return new PetstoreError('unknown_outcome', message, { ...hints, processed, status, cause: failure });
}

/** @param reason the abort reason of the signal, which has the exit code */
export function interruptedAfterSending(request: HttpRequest, reason: unknown): PetstoreError {
  const exitCode = reason instanceof PetstoreError ? reason.exitCode : undefined;
  const { what, hints } = describeUncertain(request);
  return new PetstoreError('interrupted', `interrupted: the outcome of ${what} is unknown`, {
    ...hints,
    processed: 'perhaps',
    exitCode,
    cause: reason,
  });
}

interface ServiceError {
  readonly code: string | undefined;
  readonly message: string | undefined;
}

const MAX_CHARACTERS = 500;

/**
 * Reads an Error object of the service, problem+json or the title of an HTML page.
 * Code and message are cut to 500 characters.
 */
export function decodeServiceError(body: Uint8Array): ServiceError {
  const text = new TextDecoder().decode(body);
  // Proxies and load balancers respond with HTML pages.
  const title = /^\s*<[\s\S]*?<title[^>]*>([^<]*)/i.exec(text.slice(0, 10_000))?.[1];
  if (title !== undefined) return { code: undefined, message: shortText(title.replace(/\s+/g, ' ').trim()) };
  // The message of problem+json is `detail`, or `title` if there is no detail (RFC 9457).
  const { code, message, detail, title: summary } = parseObject(text);
  return { code: shortText(code), message: shortText(message) ?? shortText(detail) ?? shortText(summary) };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = parseJson(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function shortText(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  return value.length > MAX_CHARACTERS ? `${value.slice(0, MAX_CHARACTERS)}…` : value;
}
