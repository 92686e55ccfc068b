// The block after a refusal, which lasts as long as the refusal states and at least as long as a backoff. Pure.
import type { Block, KeyState } from './key-state.ts';
import type { RecordOf } from './ledger-record.ts';
import { RULES } from './rules.ts';

type Refusal = RecordOf<'response'>;

/** @param before the block of the previous refusal, unless a request has succeeded since */
export function beginBlock(before: Block | undefined, refusal: Refusal, { time, seq }: KeyState): Block {
  const refusals = (before?.refusals ?? 0) + 1;
  return { ...blockEnd(refusal, refusals, time), since: time, refusals, seq };
}

/** A refusal together with others can lengthen the wait, but does not double the backoff. */
export function extendBlock(block: Block, refusal: Refusal, { time, seq }: KeyState): Block {
  const end = blockEnd(refusal, 1, time);
  return end.until > block.until ? { ...block, ...end, seq } : block;
}

function blockEnd({ reading, jitterDraw }: Refusal, refusals: number, at: number): Pick<Block, 'until' | 'reason'> {
  const { waitMs, waitFrom } = reading;
  const stated = waitMs === undefined ? 0 : waitMs + (waitFrom === 'reset' ? RULES.guardMs : 0);
  const mostBackoff = stated > 0 ? Math.max(RULES.backoffMs, RULES.backoffFactor * stated) : RULES.backoffCapMs;
  const backoff = Math.min(RULES.backoffMs * 2 ** (refusals - 1), RULES.backoffCapMs, mostBackoff);
  const ms = Math.ceil(Math.min(Math.max(stated, backoff), RULES.longestWaitMs));
  const jitter = Math.round((jitterDraw / 1000) * Math.min(RULES.jitterCapMs, ms * RULES.jitterShare));
  return { until: at + ms + jitter, reason: stated >= backoff ? waitFrom : 'backoff' };
}
