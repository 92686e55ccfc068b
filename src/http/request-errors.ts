// The errors of requests that received no complete response, or whose outcome is unknown (docs/cli.md, exit codes).
import type { ErrorDetails, Hint } from '../errors.ts';
import { PetstoreError, toPetstoreError } from '../errors.ts';
import { escapeControls } from '../text/escape.ts';
import { tryParseJson } from '../text/json.ts';
import { isSafe, statusTraits } from './retry.ts';
import type { HttpRequest, TransportError } from './types.ts';

// Names the request, and how to check whether it was processed.
function describeUncertain(request: HttpRequest): Hint & { readonly what: string } {
  const category = nameToCreate(request);
  if (category === undefined) {
    const hint = 'check whether the request was processed before you retry';
    return { what: `${request.method} ${escapeControls(request.path)}`, hint };
  }
  return {
    what: `creating "${escapeControls(category)}"`,
    hint: 'check whether the category exists before you retry',
    reason: { is: 'unknown_create', category },
  };
}

/** The name of the category that a request creates. */
export function nameToCreate({ method, path, body = '' }: HttpRequest): string | undefined {
  if (method !== 'POST' || path !== '/categories') return undefined;
  const { name } = Object(tryParseJson(body)) as { readonly name?: unknown };
  return typeof name === 'string' ? name : undefined;
}

/**
 * The error of the last attempt if it received no complete response.
 * @param signal its reason is the error of an aborted request, or the source of that error's cause and exit code
 */
export function attemptError(request: HttpRequest, failure: TransportError, signal: AbortSignal): unknown {
  const isUnknown = !isSafe(request.method) && failure.requestSent;
  if (failure.reason === 'aborted') return isUnknown ? interruptedError(request, signal.reason) : signal.reason;
  const { reason, head } = failure;
  const message = escapeControls(failure.message);
  if (isUnknown) {
    const status = head?.status;
    const processed = reason === 'timeout' || statusTraits(status ?? 0).isSlow ? 'late' : 'perhaps';
    return unknownOutcomeError(request, message, { processed, status, cause: failure });
  }
  const isInvalid = reason === 'protocol' || reason === 'too-large';
  const kind = reason === 'proxy-auth' ? 'auth' : isInvalid ? 'service' : 'network';
  return new PetstoreError(kind, message, { ...networkHint(failure), cause: failure });
}

export const CHECK_NETWORK = "check this machine's network connection";

/** Whether the code of an error shows that this machine has no network connection. */
export function isOffline(code = ''): boolean {
  return /^(?:EAI_AGAIN|ENETUNREACH|ENETDOWN)$/.test(code);
}

function networkHint({ reason, code, hint }: TransportError): Hint | undefined {
  if (hint !== undefined) return { hint };
  if (reason === 'too-large') return undefined;
  if (reason === 'timeout') return { hint: 'try again with a longer timeoutMs', reason: { is: 'timed_out' } };
  if (reason === 'reset') return { hint: 'try again later' };
  if (reason === 'protocol') return CHECK_URL;
  if (isOffline(code)) return { hint: CHECK_NETWORK };
  if (code === 'ENOTFOUND') return { hint: 'check the host name in the base URL', reason: { is: 'unknown_host' } };
  return { hint: 'check the connection', reason: { is: 'no_connection' } };
}

/** The error of a request that may have been processed; its hint says how to check. */
export function unknownOutcomeError(request: HttpRequest, problem: string, details: ErrorDetails): PetstoreError {
  const { what, ...hint } = describeUncertain(request);
  const message = `the outcome of ${what} is unknown: ${problem}`;
  return new PetstoreError('unknown_outcome', message, { ...details, ...hint, problem });
}

// The reason of an abort says what ended the request; it carries the exit code, or the reason of the program that uses the library.
function interruptedError(request: HttpRequest, reason: unknown): PetstoreError {
  const { message, cause, details } = toPetstoreError(reason);
  const { what, ...hint } = describeUncertain(request);
  return new PetstoreError('interrupted', `${message}: the outcome of ${what} is unknown`, {
    ...hint,
    processed: 'perhaps',
    exitCode: details.exitCode,
    cause,
  });
}

/** The hint after a response that another service seems to have sent. */
export const CHECK_URL: Hint = { hint: 'check the base URL', reason: { is: 'wrong_service' } };
