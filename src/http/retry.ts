// What may be tried again, and when: pure. A create is never sent twice unless the service said or proved it was not done.
import type { HttpRequest, HttpResponse, TransportError, TransportErrorReason } from './types.ts';

/** How one try ended. */
export type AttemptResult =
  | { readonly kind: 'reply'; readonly status: number; readonly retryAfterMs: number | undefined }
  | {
      readonly kind: 'failure';
      readonly reason: TransportErrorReason;
      readonly requestSent: boolean;
      readonly status: number | undefined;
    };

/** What to do next. */
export type RetryDecision =
  /** The reply is the answer, whatever its status. */
  | { readonly next: 'answer' }
  /** The same request again, not before the pause and not before the ledger allows. */
  | { readonly next: 'retry'; readonly pauseMs: number }
  /** A 429 and no try left. */
  | { readonly next: 'limited' }
  /** It failed; nothing was changed. */
  | { readonly next: 'failed' }
  /** It was sent, and no trustworthy answer came. */
  | { readonly next: 'unknown' };

const RETRIED_STATUS = new Set([408, 500, 502, 503, 504]);
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
 * Decides what follows a try (contract, section 6; RFC 9110, 9.2.2).
 * @param request what was sent; `safe` is what matters
 * @param outcome how the try ended
 * @param tries.made tries made so far, this one included
 * @param tries.allowed tries allowed: one more than `--max-retries`
 * @param tries.maxWaitMs the longest single pause, milliseconds
 * @param random a draw in [0, 1) for the jitter
 * @returns what to do next
 */
export function decideRetry(
  request: Pick<HttpRequest, 'safe'>,
  outcome: AttemptResult,
  tries: { readonly made: number; readonly allowed: number; readonly maxWaitMs: number },
  random: number,
): RetryDecision {
  const left = tries.made < tries.allowed;
  const status = outcome.status;
  // Refused before it was processed (service.md, section 8): the ledger says when, for reads and creates alike.
  if (status === 429) return left ? { next: 'retry', pauseMs: 0 } : { next: 'limited' };
  if (outcome.kind === 'reply') {
    if (!request.safe || !left || !RETRIED_STATUS.has(outcome.status)) return { next: 'answer' };
    const pauseMs = pauseAfter(tries.made, random, outcome.retryAfterMs);
    return pauseMs > tries.maxWaitMs ? { next: 'answer' } : { next: 'retry', pauseMs };
  }
  // Its body was lost, but a refusal is a refusal: the status alone says that nothing was created.
  if (!request.safe && status !== undefined && status >= 400 && status < 500 && status !== 408)
    return { next: 'answer' };
  if (!request.safe && outcome.requestSent) return { next: 'unknown' };
  if (!left || FINAL_REASONS.has(outcome.reason)) return { next: 'failed' };
  return { next: 'retry', pauseMs: Math.min(tries.maxWaitMs, pauseAfter(tries.made, random, undefined)) };
}

// Jitter only ever lengthens (contract, section 6), a backoff of our own by a quarter.
function pauseAfter(made: number, random: number, retryAfterMs: number | undefined): number {
  const backoff = (1 + random / 4) * Math.min(BACKOFF_CAP_MS, BACKOFF_MS * 2 ** made);
  if (retryAfterMs === undefined) return Math.ceil(backoff);
  return Math.ceil(Math.max(backoff, retryAfterMs + random * Math.min(1000, retryAfterMs / 20)));
}

/**
 * @param result a whole reply or why there is none
 * @param retryAfterMs what a 503 asked for, milliseconds
 * @returns the try's outcome as `decide` looks at it
 */
export function attemptResult(result: HttpResponse | TransportError, retryAfterMs: number | undefined): AttemptResult {
  if (!(result instanceof Error)) return { kind: 'reply', status: result.status, retryAfterMs };
  return { kind: 'failure', reason: result.reason, requestSent: result.requestSent, status: result.head?.status };
}
