// How the send loop's failures are told: kind, message, and what to do.
import { formatDuration } from '../duration.ts';
import type { ErrorKind } from '../errors.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import { decodeServiceError } from './error-body.ts';
import type { HttpRequest, HttpResponse, TransportError } from './types.ts';

/** How to find out what became of a create whose answer is not known. */
export const LOOKUP_HINT = 'it may or may not exist: look with `petstore categories list` before you send it again';

/**
 * The rate limit asks for a longer pause than `--max-wait`, or the last try met a 429 too.
 * @param until when the next request may go, epoch milliseconds
 * @param now epoch milliseconds
 * @param why what to say of the reason
 * @param refusal the 429 that this request met last, where it met one
 * @returns an error of kind `rate_limited` with `retryAt`, and what the service said of it
 */
export function rateLimited(
  until: number,
  now: number,
  why: 'blocked' | 'window' | 'refused',
  refusal?: HttpResponse,
): PetstoreError {
  const wait = formatDuration(until - now);
  const said = refusal && decodeServiceError(refusal.body);
  // Others may have been refused since, and each refusal at least doubles the pause: it need not be what the service gave.
  const happened = {
    blocked: `rate limited ${refusal ? '(429)' : 'by an earlier 429'}, for ${wait} more`,
    window: `nothing is left of the rate limit; it resets in ${wait}`,
    refused: `still rate limited after the last try (429), for ${wait} more`,
  }[why];
  const told = said?.message ? `${happened}: ${escapeControls(said.message)}` : happened;
  const hint = `come back at ${new Date(until).toISOString()}, or allow a longer pause with --max-wait; \`petstore quota\` tells more`;
  return new PetstoreError('rate_limited', told, {
    retryAt: until,
    hint,
    code: said?.code && escapeControls(said.code),
    serviceMessage: said?.message && escapeControls(said.message),
    status: refusal?.status,
  });
}

const AT_FAULT: Partial<Record<TransportError['reason'], ErrorKind>> = {
  protocol: 'service',
  'too-large': 'service',
  encoding: 'service',
};

/**
 * No whole reply came, and nothing was changed.
 * @param failure why the last try failed
 * @returns an error of kind `network`, or `service` where what came breaks HTTP or the contract
 */
export function networkError(failure: TransportError): PetstoreError {
  if (failure.reason === 'proxy-auth') {
    const hint = 'set HTTPS_PROXY to http://USER:PASSWORD@HOST:PORT';
    return new PetstoreError('auth', escapeControls(failure.detail), { hint, cause: failure });
  }
  // An answer that began and broke off is a broken answer, not a missing one.
  const broken = failure.reason === 'reset' && failure.head !== undefined;
  const kind = broken ? 'service' : (AT_FAULT[failure.reason] ?? 'network');
  const what =
    kind === 'service'
      ? 'the reply could not be read'
      : failure.requestSent
        ? 'no answer came'
        : 'the service could not be reached';
  const hint = '`petstore doctor` checks the way to the service';
  return new PetstoreError(kind, `${what}: ${escapeControls(failure.detail)}`, { hint, cause: failure });
}

/**
 * A request that changes something was sent, and no trustworthy answer came.
 * @param request what was sent
 * @param failure why there is no answer
 * @returns an error of kind `unknown_outcome` that says how to find out
 */
export function unknownOutcome(request: HttpRequest, failure: TransportError): PetstoreError {
  const message = `${request.method} ${escapeControls(request.path)} was sent, and no trustworthy answer came: ${escapeControls(failure.detail)}`;
  const status = failure.head?.status;
  return new PetstoreError('unknown_outcome', message, { hint: LOOKUP_HINT, status, cause: failure });
}

/**
 * Interrupted while a request that changes something was under way.
 * @param reason what the signal was aborted with
 * @returns an error of kind `interrupted` with the signal's own exit code
 */
export function interruptedAfterSending(reason: unknown): PetstoreError {
  const exitCode = reason instanceof PetstoreError ? reason.exitCode : undefined;
  return new PetstoreError('interrupted', 'interrupted before the answer came', {
    hint: LOOKUP_HINT,
    exitCode,
    cause: reason,
  });
}
