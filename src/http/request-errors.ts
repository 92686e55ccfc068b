// The errors of the HTTP client, and the body of an error response.

import type { ErrorKind, WriteCommand } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { formatDuration } from '../format.ts';
import { parseJson } from '../json.ts';
import { statusTraits } from './retry.ts';
import type { HttpRequest, HttpResponse, TransportError } from './types.ts';

/** What a request that may have been carried out was for, and how to find out: for the message and its hint. */
export function uncertainty({ method, path, creates }: HttpRequest): {
  readonly what: string;
  readonly facts: Pick<PetstoreError, 'hint' | 'commandHint'>;
} {
  const operation = `${method} ${escapeControls(path)}`;
  if (creates === undefined) {
    return {
      what: operation,
      facts: { hint: 'check whether the request was processed before you retry', commandHint: undefined },
    };
  }
  // What a shell or the service may alter is not searched for.
  const search = /^[^\p{Cc}]{1,60}$/u.test(creates) ? ['--search', creates] : [];
  return {
    what: `creating "${escapeControls(creates)}"`,
    facts: {
      hint: 'check whether the category exists before you retry',
      commandHint: (petstore) =>
        `check whether the category exists before you retry: ${petstore('categories', 'list', ...search)}`,
    },
  };
}

/** Why a request is not sent within `--max-wait`, or not again. */
type LimitReason = 'blocked' | 'window' | 'pending' | 'attempts';

/**
 * The rate limit needs a longer wait than `--max-wait`, or the last attempt got a 429 too.
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
  const hint = retryAt === undefined ? 'try again' : `try again in ${formatDuration(retryAt - now)}`;
  return new PetstoreError('rate_limited', serviceMessage ? `${what}: ${serviceMessage}` : what, {
    retryAt,
    hint,
    commandHint: () => `${hint}, or allow a longer wait with --max-wait`,
    code: code && escapeControls(code),
    serviceMessage,
    status: refusal?.status,
  });
}

const AT_FAULT: Partial<Record<TransportError['reason'], ErrorKind>> = {
  protocol: 'service',
  'too-large': 'service',
  encoding: 'service',
};

/** The hint of the command line after a connection failed. */
export const checkConnection = (petstore: WriteCommand): string => `run ${petstore('doctor')} to check the connection`;

/** No complete response was received, and nothing was changed. */
export function networkError(failure: TransportError): PetstoreError {
  const { reason, head } = failure;
  // A response that broke off is a broken one, not a missing one.
  const broken = reason === 'reset' && head !== undefined;
  const kind = reason === 'proxy-auth' ? 'auth' : broken ? 'service' : (AT_FAULT[reason] ?? 'network');
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

/** A create was sent, and no valid response was received. */
export function unknownOutcome(request: HttpRequest, failure: TransportError): PetstoreError {
  const { what, facts } = uncertainty(request);
  const message = `the outcome of ${what} is unknown: ${escapeControls(failure.detail)}`;
  const status = failure.head?.status;
  const processed = failure.reason === 'timeout' || statusTraits(status ?? 0).slow ? 'late' : 'perhaps';
  return new PetstoreError('unknown_outcome', message, { ...facts, processed, status, cause: failure });
}

/** @param reason what the signal was aborted with: it has the exit code */
export function interruptedAfterSending(request: HttpRequest, reason: unknown): PetstoreError {
  const exitCode = reason instanceof PetstoreError ? reason.exitCode : undefined;
  const { what, facts } = uncertainty(request);
  return new PetstoreError('interrupted', `interrupted: the outcome of ${what} is unknown`, {
    ...facts,
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
 * Reads the body of an error response as far as possible: the service's Error object, problem+json, or an HTML page.
 * The message is shortened to 500 characters.
 */
export function decodeServiceError(body: Uint8Array): ServiceError {
  const text = new TextDecoder().decode(body);
  // A page of a proxy or load balancer.
  const title = /^\s*<[\s\S]*?<title[^>]*>([^<]*)/i.exec(text.slice(0, 10_000))?.[1];
  if (title !== undefined) return { code: undefined, message: shortText(title.replace(/\s+/g, ' ').trim()) };
  // RFC 9457 calls the message `detail`, or `title` if there is no more to say.
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
