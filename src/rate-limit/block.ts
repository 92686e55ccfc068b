// The block after a refusal, which lasts as long as the refusal states and at least as long as a backoff. Pure.
import type { BlockReason, RecordOf } from './ledger-record.ts';
import { RULES } from './rules.ts';

/** Before `until` no request is sent. */
export interface Block {
  readonly until: number;
  readonly reason: BlockReason;
  readonly since: number;
  /** Consecutive ones: refusals of requests in flight together count as one. */
  readonly refusals: number;
  /** The number of the record that began or last extended it. */
  readonly seq: number;
}

type Refusal = RecordOf<'response'>;

/** @param sentSeq the number of the request's ticket; undefined if the ticket had expired */
export function isSentAfter(block: Block, sentSeq: number | undefined): boolean {
  return sentSeq !== undefined && sentSeq > block.seq;
}

/** Whether a refused request was in flight with those of the block; without its ticket, it counts as one until the block ends. */
export function isConcurrentRefusal(block: Block, { at }: Refusal, sentSeq: number | undefined): boolean {
  return sentSeq === undefined ? at < block.until : !isSentAfter(block, sentSeq);
}

/** @param before the block of the refusal before, unless a request has succeeded since */
export function beginBlock(before: Block | undefined, refusal: Refusal, seq: number): Block {
  const refusals = (before?.refusals ?? 0) + 1;
  return { ...blockEnd(refusal, refusals), since: refusal.at, refusals, seq };
}

/** A refusal together with others can make the wait longer, but does not double the backoff. */
export function extendBlock(block: Block, refusal: Refusal, seq: number): Block {
  const end = blockEnd(refusal, 1);
  return end.until > block.until ? { ...block, ...end, seq } : block;
}

/** The block that another log has. */
export function copiedBlock(known: Block | undefined, { at, ms, reason }: RecordOf<'block'>, seq: number): Block {
  const until = at + Math.min(ms, RULES.longestWaitMs);
  return { until, reason, since: at, refusals: known?.refusals ?? 1, seq };
}

function blockEnd({ at, reading, jitterDraw }: Refusal, refusals: number): Pick<Block, 'until' | 'reason'> {
  const { waitMs, waitFrom } = reading;
  const stated = waitMs === undefined ? 0 : waitMs + (waitFrom === 'reset' ? RULES.guardMs : 0);
  const mostBackoff = stated > 0 ? Math.max(RULES.backoffMs, RULES.backoffFactor * stated) : RULES.backoffCapMs;
  const backoff = Math.min(RULES.backoffMs * 2 ** (refusals - 1), RULES.backoffCapMs, mostBackoff);
  const ms = Math.ceil(Math.min(Math.max(stated, backoff), RULES.longestWaitMs));
  const jitter = Math.round((jitterDraw / 1000) * Math.min(RULES.jitterCapMs, ms * RULES.jitterShare));
  return { until: at + ms + jitter, reason: stated >= backoff ? waitFrom : 'backoff' };
}
