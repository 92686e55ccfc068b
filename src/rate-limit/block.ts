// What a 429 means for everybody: nobody sends before its wait is over, or before a floor of our own that doubles in a row.
import type { BlockReason, Observation } from './ledger-record.ts';
import { RULES } from './rules.ts';
import { certainEnd } from './window.ts';

/** Nobody sends before `until`. Times are epoch milliseconds. */
export interface Block {
  readonly until: number;
  readonly reason: BlockReason;
  readonly since: number;
  /** The record of the 429 that began it. Requests granted before were refused together with it. */
  readonly seq: number;
  /** The record that last extended it: only the success of a later request lifts it. */
  readonly liftedBy: number;
  readonly consecutive429s: number;
}

/** A row of 429s that a success ended. */
export interface EndedRow {
  readonly consecutive429s: number;
  /** When its block ended. */
  readonly until: number;
}

/**
 * Blocks the key after a refusal. Where nothing is stated, the floor begins one step below the end of the last row.
 * @param ticketSeq the number of its request's ticket; undefined where the ticket expired
 * @param offsetLo the service's clock minus ours, milliseconds
 * @returns the block, and whether the refusal is a new one and no companion of the last
 */
export function nextBlock(
  before: Block | undefined,
  lastRow: EndedRow | undefined,
  seen: Observation,
  seq: number,
  ticketSeq: number | undefined,
  offsetLo: number,
): { readonly block: Block; readonly isNew: boolean } {
  const isNew = !before || (ticketSeq !== undefined && ticketSeq > before.seq);
  const inRow = before !== undefined && seen.at - before.until <= RULES.rowEndsAfterMs;
  const consecutive429s = isNew ? (inRow ? before.consecutive429s + 1 : 1) : before.consecutive429s;
  const stated = statedWait(seen, offsetLo);
  const remembered = stated === 0 && lastRow && seen.at - lastRow.until <= RULES.rowEndsAfterMs;
  const steps = Math.max(consecutive429s, remembered ? lastRow.consecutive429s - 1 : 1);
  // Concurrent 429s count as one, and so does their floor.
  const floor = isNew ? Math.min(RULES.floorCapMs, RULES.floorMs * 2 ** (steps - 1)) : RULES.floorMs;
  const wait = Math.min(Math.max(stated, floor), RULES.blockCapMs);
  const until = seen.at + wait + jitter(seen, wait);
  const reason = stated >= floor ? seen.waitFrom : 'backoff';
  if (isNew) return { block: { until, reason, since: seen.at, seq, liftedBy: seq, consecutive429s }, isNew };
  if (until <= before.until) return { block: before, isNew };
  return { block: { ...before, until, reason, liftedBy: seq }, isNew };
}

// A reset may have been rounded down: a wait until then ends when it has certainly passed.
function statedWait(seen: Observation, offsetLo: number): number {
  const end = seen.reset && seen.waitFrom === 'reset' ? certainEnd(seen.reset, offsetLo) - seen.at : 0;
  return Math.ceil(Math.max(0, seen.waitMs ?? 0, end));
}

function jitter(seen: Observation, waitMs: number): number {
  return Math.round((seen.jitterDraw / 1000) * Math.min(RULES.jitterCapMs, waitMs * RULES.jitterShare));
}
