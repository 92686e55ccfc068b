// A 429 as a block for everybody: at least what the service asked for, twice the one before up to an hour, never shortened.
import type { Observation } from './ledger-record.ts';
import type { LedgerState, Ticket } from './ledger-state.ts';
import { offsetLo } from './ledger-state.ts';
import type { RateWindow } from './window.ts';
import { windowEnd } from './window.ts';

const FLOOR_MS = 1000;
const SLACK_MS = 1000;
// From here on a wait stays as long as the one before.
const DOUBLING_CAP_MS = 3_600_000;
// Refused to the last try: the day's quota is used up or the key is banned, so one request in this time finds out.
const SPENT_MS = 900_000;
// A hostile value must not brick a key for ever.
const BLOCK_CAP_MS = 25 * 3_600_000;

/**
 * Blocks the key after a 429.
 * @param state changed in place
 * @param seen the 429
 * @param ticket the ticket of its request, where it still counted
 * @param window the window it told of
 */
export function applyBlock(
  state: LedgerState,
  seen: Observation,
  ticket: Ticket | undefined,
  window: RateWindow | undefined,
): void {
  const before = state.block;
  // A reset may have been rounded down: where the wait is one, it ends when the window certainly does.
  const end = window && seen.waitFrom === 'reset' ? windowEnd(window, offsetLo(state)) - seen.at : 0;
  const wanted = Math.ceil(Math.max(FLOOR_MS, seen.waitMs ?? 0, end));
  state.verified = false;
  // Requests that were under way together are refused together: that is one refusal, not several in a row.
  if (before && (!ticket || ticket.seq < before.seq)) {
    const least = Math.min(wanted, BLOCK_CAP_MS);
    const waitMs = least + jitterOf(seen, least, before.consecutive429s);
    const until = seen.at + waitMs;
    if (until > before.until)
      state.block = { ...before, until, lifted: state.seq, waitMs: Math.max(before.waitMs, waitMs) };
    return;
  }
  const consecutive429s = (before?.consecutive429s ?? 0) + 1;
  // Twice what was waited in fact, jitter and way included; but not what nobody asked in.
  const waited = before ? Math.max(before.waitMs, Math.min(seen.at - before.since, before.waitMs + SLACK_MS)) : 0;
  const doubled = before ? Math.max(before.waitMs, Math.min(2 * waited, DOUBLING_CAP_MS)) : 0;
  const spent = seen.lastAttempt && consecutive429s >= 3 ? SPENT_MS : 0;
  const least = Math.min(Math.max(wanted, doubled, spent), BLOCK_CAP_MS);
  const waitMs = least + jitterOf(seen, least, consecutive429s);
  const until = Math.max(before?.until ?? 0, seen.at + waitMs);
  const reason = spent > 0 || before?.reason === 'spent' ? 'spent' : seen.waitFrom;
  state.block = { until, reason, since: seen.at, seq: state.seq, lifted: state.seq, waitMs, consecutive429s };
}

// Jitter only lengthens: a twentieth of the wait, and after refusals in a row up to half of it more.
function jitterOf(seen: Observation, waitMs: number, consecutive429s: number): number {
  const spread = Math.min(1000, waitMs / 20) + (consecutive429s >= 2 ? Math.min(60_000, waitMs / 2) : 0);
  return Math.round((seen.jitterDraw / 1000) * spread);
}
