// A 429 as a block for everybody: at least what the service asked for, twice the one before up to an hour, never shortened.
import type { Observation } from './ledger-record.ts';
import type { State, Ticket } from './ledger-state.ts';
import { offsetLo } from './ledger-state.ts';
import type { Window } from './window.ts';
import { endOf } from './window.ts';

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
export function raiseBlock(
  state: State,
  seen: Observation,
  ticket: Ticket | undefined,
  window: Window | undefined,
): void {
  const before = state.block;
  // A reset may have been rounded down: where the wait is one, it ends when the window certainly does.
  const end = window && seen.waitFrom === 'reset' ? endOf(window, offsetLo(state)) - seen.at : 0;
  const wanted = Math.ceil(Math.max(FLOOR_MS, seen.waitMs ?? 0, end));
  state.verified = false;
  // Requests that were under way together are refused together: that is one refusal, not several in a row.
  if (before && (!ticket || ticket.seq < before.seq)) {
    const least = Math.min(wanted, BLOCK_CAP_MS);
    const waitMs = least + jitterOf(seen, least, before.strikes);
    const until = seen.at + waitMs;
    if (until > before.until)
      state.block = { ...before, until, lifted: state.seq, waitMs: Math.max(before.waitMs, waitMs) };
    return;
  }
  const strikes = (before?.strikes ?? 0) + 1;
  // Twice what was waited in fact, jitter and way included; but not what nobody asked in.
  const waited = before ? Math.max(before.waitMs, Math.min(seen.at - before.since, before.waitMs + SLACK_MS)) : 0;
  const doubled = before ? Math.max(before.waitMs, Math.min(2 * waited, DOUBLING_CAP_MS)) : 0;
  const spent = seen.last && strikes >= 3 ? SPENT_MS : 0;
  const least = Math.min(Math.max(wanted, doubled, spent), BLOCK_CAP_MS);
  const waitMs = least + jitterOf(seen, least, strikes);
  const until = Math.max(before?.until ?? 0, seen.at + waitMs);
  const reason = spent > 0 || before?.reason === 'spent' ? 'spent' : seen.waitFrom;
  state.block = { until, reason, since: seen.at, seq: state.seq, lifted: state.seq, waitMs, strikes };
}

// Jitter only lengthens: a twentieth of the wait, and after refusals in a row up to half of it more.
function jitterOf(seen: Observation, waitMs: number, strikes: number): number {
  const spread = Math.min(1000, waitMs / 20) + (strikes >= 2 ? Math.min(60_000, waitMs / 2) : 0);
  return Math.round((seen.chance / 1000) * spread);
}
