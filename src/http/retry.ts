// The retry rules: pure. A create is sent again only if it was certainly not processed.
import type { HttpRequest, HttpResponse, TransportErrorReason } from './types.ts';
import { TransportError } from './types.ts';

/** Traits of a status code. */
interface StatusTraits {
  /** A read is sent again. */
  readonly retry?: true;
  /** A create may have been processed. */
  readonly ambiguous?: true;
  /** A create may still be processed after the response. */
  readonly slow?: true;
  /** The values of this request were rejected; others may be accepted. */
  readonly rowSpecific?: true;
}

// The one table of statuses (docs/service.md, "Statuses"; RFC 9110, 9.2.2).
const STATUSES: Readonly<Record<number, StatusTraits>> = {
  202: { ambiguous: true, slow: true },
  400: { rowSpecific: true },
  408: { retry: true, ambiguous: true, slow: true },
  409: { rowSpecific: true },
  413: { rowSpecific: true },
  422: { rowSpecific: true },
  429: { retry: true },
  500: { retry: true, ambiguous: true },
  502: { retry: true, ambiguous: true },
  503: { retry: true, ambiguous: true },
  504: { retry: true, ambiguous: true, slow: true },
};

/** Returns the traits of a status; one that is not in the table is ambiguous unless it is a redirect or a rejection. */
export function statusTraits(status: number): StatusTraits {
  return STATUSES[status] ?? (status >= 500 || status < 300 ? { ambiguous: true } : {});
}

/** Whether the service wants fewer requests: a 429, or a 503 to a create, which is not retried at once. */
export function isRefusal(request: Pick<HttpRequest, 'safe'>, status: number): boolean {
  return status === 429 || (status === 503 && !request.safe);
}

/** How an attempt ended; `retryAfterMs` is the wait that a 503 states. */
export interface Attempt {
  readonly result: HttpResponse | TransportError;
  readonly retryAfterMs: number | undefined;
}

/**
 * `response`: it is final, whatever its status; `retry`: the same request again, not before the pause and not before the
 * ledger allows; `limited`: a 429, and no attempt left; `failed`: nothing was changed; `unknown`: it was sent, and no valid
 * response was received.
 */
type RetryDecision =
  | { readonly next: 'retry'; readonly pauseMs: number }
  | { readonly next: 'response' | 'limited' | 'failed' | 'unknown' };

// The next attempt would fail in the same way.
const FINAL_REASONS = new Set<TransportErrorReason>([
  'tls',
  'proxy-auth',
  'proxy-refused',
  'too-large',
  'encoding',
  'aborted',
]);
const BACKOFF_MS = 150;
const BACKOFF_CAP_MS = 10_000;

/**
 * Decides what follows an attempt (RFC 9110, 9.2.2).
 * @param attempts `made` so far, this one included; `allowed`: one more than `--max-retries`; `maxWaitMs`: the longest pause
 * @param random in [0, 1), for the jitter
 */
export function decideRetry(
  request: Pick<HttpRequest, 'safe'>,
  { result, retryAfterMs }: Attempt,
  attempts: { readonly made: number; readonly allowed: number; readonly maxWaitMs: number },
  random: number,
): RetryDecision {
  const left = attempts.made < attempts.allowed;
  const status = statusOf(result);
  // A 429 was not processed; the ledger knows when to retry reads and creates.
  if (status === 429) return left ? { next: 'retry', pauseMs: 0 } : { next: 'limited' };
  if (!(result instanceof TransportError)) {
    if (!request.safe || !left || !statusTraits(result.status).retry) return { next: 'response' };
    const pauseMs = pauseAfter(attempts.made, random, retryAfterMs);
    return pauseMs > attempts.maxWaitMs ? { next: 'response' } : { next: 'retry', pauseMs };
  }
  // The body was lost, but the status alone shows that nothing was created.
  if (!request.safe && status !== undefined && status >= 400 && !statusTraits(status).ambiguous)
    return { next: 'response' };
  if (!request.safe && result.requestSent) return { next: 'unknown' };
  if (!left || FINAL_REASONS.has(result.reason)) return { next: 'failed' };
  return { next: 'retry', pauseMs: Math.min(attempts.maxWaitMs, pauseAfter(attempts.made, random, undefined)) };
}

// Jitter only lengthens: a stated wait by a tenth at most, a backoff of our own by a quarter.
function pauseAfter(made: number, random: number, retryAfterMs: number | undefined): number {
  const backoff = (1 + random / 4) * Math.min(BACKOFF_CAP_MS, BACKOFF_MS * 2 ** made);
  if (retryAfterMs === undefined) return Math.ceil(backoff);
  return Math.ceil(Math.max(backoff, retryAfterMs + random * Math.min(1000, retryAfterMs / 10)));
}

/** @returns undefined if the attempt ended before a status arrived */
export function statusOf(result: HttpResponse | TransportError): number | undefined {
  return result instanceof TransportError ? result.head?.status : result.status;
}
