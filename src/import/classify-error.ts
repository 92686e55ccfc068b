// What a failed create means for its row and for the rows after it. Pure.
import { PetstoreError } from '../errors.ts';
import { TransportError } from '../http/types.ts';

/** The row's fate, and whether the run ends here. */
export interface ErrorClass {
  /** `rejected` by the service; certainly `unsent` or not carried out; `lost`: it may exist or not. */
  readonly row: 'rejected' | 'unsent' | 'lost';
  readonly stop: boolean;
  /** Lost because it took too long, by our clock or a gateway's: it may be carried out yet. */
  readonly slow?: boolean;
}

/** Rejections that speak of one row's values; any other 4xx will meet every row alike. */
const ABOUT_THE_ROW: ReadonlySet<number> = new Set([400, 409, 413, 422]);

/**
 * Judges a failed create (contract, section 7).
 * @param error whatever `create` threw
 * @param interruption what the run's signal was aborted with, if it was: thrown as it is, nothing was sent
 * @returns the row's fate; `stop` where the next row would fare no better
 */
export function classifyError(error: unknown, interruption?: unknown): ErrorClass {
  if (!(error instanceof PetstoreError)) return { row: 'lost', stop: true };
  const { kind, status } = error;
  if (kind === 'rejected') return { row: 'rejected', stop: !ABOUT_THE_ROW.has(status ?? 0) };
  if (kind === 'unknown_outcome') return { row: 'lost', stop: false, slow: tookTooLong(error) };
  // Nothing was carried out: the key was refused, the quota is gone, no connection came about.
  if (kind === 'auth' || kind === 'rate_limited' || kind === 'network') return { row: 'unsent', stop: true };
  const unsent = kind === 'interrupted' ? error === interruption : kind === 'service' && status === undefined;
  return { row: unsent ? 'unsent' : 'lost', stop: true };
}

function tookTooLong({ status, cause }: PetstoreError): boolean {
  return status === 408 || status === 504 || (cause instanceof TransportError && cause.reason === 'timeout');
}
