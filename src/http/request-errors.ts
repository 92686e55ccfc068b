// The errors of the HTTP client: kind, message and hint.
import { formatDuration } from '../duration.ts';
import type { ErrorKind } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { decodeServiceError } from './error-body.ts';
import type { HttpRequest, HttpResponse, TransportError } from './types.ts';

/** How to find out whether a create was carried out. */
export const LOOKUP_HINT = 'it may or may not exist; look with `petstore categories list` before you send it again';

/** Why a request is not sent within `--max-wait`, or not again. */
export type LimitReason = 'blocked' | 'window' | 'sibling' | 'attempts';

/**
 * The rate limit needs a longer wait than `--max-wait`, or the last attempt was answered 429 too.
 * @param until when the next request may be sent, epoch milliseconds; undefined where nobody knows
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
    sibling: 'another petstore process has a request in flight, and its response is overdue',
    attempts: 'still rate limited (429) after the last attempt',
  }[reason];
  const hint =
    retryAt === undefined
      ? 'try again, or allow a longer wait with --max-wait'
      : `try again in ${formatDuration(retryAt - now)}, or allow a longer wait with --max-wait`;
  return new PetstoreError('rate_limited', serviceMessage ? `${what}: ${serviceMessage}` : what, {
    retryAt,
    hint,
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

/** No complete response was received, and nothing was changed. */
export function networkError(failure: TransportError): PetstoreError {
  if (failure.reason === 'proxy-auth') {
    const hint = 'set HTTPS_PROXY to http://USER:PASSWORD@HOST:PORT';
    return new PetstoreError('auth', escapeControls(failure.detail), { hint, cause: failure });
  }
  // A response that broke off is a broken one, not a missing one.
  const broken = failure.reason === 'reset' && failure.head !== undefined;
  const kind = broken ? 'service' : (AT_FAULT[failure.reason] ?? 'network');
  const what =
    kind === 'service'
      ? 'the response could not be read'
      : failure.requestSent
        ? 'no response was received'
        : 'the service could not be reached';
  const hint = 'run `petstore doctor` to check the connection';
  return new PetstoreError(kind, `${what}: ${escapeControls(failure.detail)}`, { hint, cause: failure });
}

/** A create was sent, and no valid response was received. */
export function unknownOutcome(request: HttpRequest, failure: TransportError): PetstoreError {
  const message = `${request.method} ${escapeControls(request.path)} was sent, and no valid response was received: ${escapeControls(failure.detail)}`;
  const status = failure.head?.status;
  return new PetstoreError('unknown_outcome', message, { hint: LOOKUP_HINT, status, cause: failure });
}

/** @param reason what the signal was aborted with: it has the exit code */
export function interruptedAfterSending(reason: unknown): PetstoreError {
  const exitCode = reason instanceof PetstoreError ? reason.exitCode : undefined;
  return new PetstoreError('interrupted', 'interrupted before the response was received', {
    hint: LOOKUP_HINT,
    exitCode,
    cause: reason,
  });
}
