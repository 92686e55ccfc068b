// The retry rules: pure. A create is sent again only if it was certainly not processed.
import { retryAfterMs } from './rate-limit-headers.ts';
import type { HttpRequest, HttpResponse, RequestLimits, TransportErrorReason } from './types.ts';
import { TransportError } from './types.ts';

interface StatusTraits {
  /** A read may be sent again. */
  readonly isRetryable?: true;
  /** A create may have been processed. */
  readonly isAmbiguous?: true;
  /** A create may still be processed after the response. */
  readonly isSlow?: true;
  /** The values of this request were rejected; others may be accepted. */
  readonly isRowSpecific?: true;
}

// Follows docs/service.md and RFC 9110, 9.2.2.
const STATUSES: Readonly<Record<number, StatusTraits>> = {
  202: { isAmbiguous: true, isSlow: true },
  400: { isRowSpecific: true },
  408: { isRetryable: true, isAmbiguous: true, isSlow: true },
  409: { isRowSpecific: true },
  413: { isRowSpecific: true },
  422: { isRowSpecific: true },
  500: { isRetryable: true, isAmbiguous: true },
  502: { isRetryable: true, isAmbiguous: true },
  503: { isRetryable: true, isAmbiguous: true },
  504: { isRetryable: true, isAmbiguous: true, isSlow: true },
};

/** Returns the traits of a status; an unknown one is ambiguous unless it is a redirect or a rejection. */
export function statusTraits(status: number): StatusTraits {
  return STATUSES[status] ?? (status >= 500 || status < 300 ? { isAmbiguous: true } : {});
}

/** Whether a method changes nothing on the service, so that it may be sent again (RFC 9110, 9.2.1). */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

/** Whether a response is a refusal (docs/rate-limits.md). */
export function isRefusal({ method }: HttpRequest, status: number): boolean {
  return status === 429 || (status === 503 && !isSafe(method));
}

// A retry would fail in the same way.
const NOT_RETRIED: ReadonlySet<TransportErrorReason> = new Set([
  'tls',
  'proxy-auth',
  'proxy-refused',
  'too-large',
  'aborted',
]);
const BACKOFF_MS = 150;
const BACKOFF_CAP_MS = 10_000;

/**
 * The pause before the next attempt, in milliseconds (RFC 9110, 9.2.2).
 * @param limits `made`: the number of attempts that count; `maxWaitMs`: the longest pause
 * @param random in [0, 1), for the jitter
 * @returns undefined if the result is final
 */
export function retryDelayMs(
  { method }: Pick<HttpRequest, 'method'>,
  result: HttpResponse | TransportError,
  { made, maxRetries, maxWaitMs }: { readonly made: number } & Pick<RequestLimits, 'maxRetries' | 'maxWaitMs'>,
  random: number,
): number | undefined {
  if (made > maxRetries) return undefined;
  if (result instanceof TransportError) {
    if ((!isSafe(method) && result.requestSent) || NOT_RETRIED.has(result.reason)) return undefined;
    return Math.min(maxWaitMs, pauseAfter(made, random));
  }
  // The service did not process the request; the ledger decides when to retry it.
  if (result.status === 429) return 0;
  if (!isSafe(method) || !statusTraits(result.status).isRetryable) return undefined;
  const pauseMs = pauseAfter(made, random, result.status === 503 ? retryAfterMs(result) : undefined);
  return pauseMs > maxWaitMs ? undefined : pauseMs;
}

// Jitter only lengthens a pause: a stated pause by at most a tenth, a backoff by at most a quarter.
function pauseAfter(made: number, random: number, statedMs = 0): number {
  const backoff = (1 + random / 4) * Math.min(BACKOFF_CAP_MS, BACKOFF_MS * 2 ** made);
  return Math.ceil(Math.max(backoff, statedMs + random * Math.min(1000, statedMs / 10)));
}
