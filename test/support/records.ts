// Ledger records for tests: sequences of tickets and responses, reduced to a state.
import { expect } from 'vitest';
import { admit, isStillGranted } from '../../src/rate-limit/admission.ts';
import type { KeyState, RateLimitReading } from '../../src/rate-limit/key-state.ts';
import { initialState, ticketOf } from '../../src/rate-limit/key-state.ts';
import { reduce } from '../../src/rate-limit/policy.ts';

/** The start of every history, in epoch milliseconds. */
export const START = 1_795_262_400_000;
/** The lifetime of a ticket, in milliseconds. */
export const LEASE = 30_000;

/** A response at `at` with 59 of 60 left, in a window that ends at `START` + 1 min. */
const answered = (at: number, more: Partial<RateLimitReading>): RateLimitReading =>
  bare({ limit: 60, remaining: 59, resetInMs: START + 60_000 - at, ...more });

/** A success without rate-limit headers. */
const bare = (more: Partial<RateLimitReading>): RateLimitReading => ({
  status: 200,
  refused: false,
  waitFrom: 'backoff',
  ...more,
});

/** A 429 with a wait of 5 s and no rate-limit headers. */
export const refused = (more: Partial<RateLimitReading> = {}): RateLimitReading =>
  bare({ status: 429, refused: true, waitMs: 5000, waitFrom: 'retry_after', ...more });

/** Reduces a request for a ticket, and returns whether it is granted. */
export function ticket(state: KeyState, at: number, id: string): boolean {
  reduce(state, { kind: 'ticket', id, leaseMs: LEASE }, at);
  return ticketOf(state, id) !== undefined;
}

/** Reduces the response to a ticket. */
export function respond(state: KeyState, at: number, id: string, reading: RateLimitReading, jitterDraw = 0): void {
  reduce(state, { kind: 'response', id, reading, jitterDraw }, at);
}

/**
 * Plays the steps of a history, `TIME WHAT …`, separated by commas; times are milliseconds since START.
 * - `take a b` asks for the tickets a and b.
 * - `ok a` is a response with 59 of 60 left in a window that ends a minute after START, `bare a` one without rate-limit headers,
 *   and `429 a` a refusal that has only a `Retry-After` of 5 s; `name=value` changes a fact (see `factOf`).
 * - `lost a` and `unsent a` close the ticket a; `forget` clears the ledger.
 * - `is probe`, `is plain`, `is pending`, `is blocked 5000` and `is window 5000` check the admission; `grants 5` checks
 *   that exactly five requests are granted; `allows a` and `withdraws a` check whether the ticket a is still granted;
 *   `has block.refusals=1` checks a fact of the state (`none`: it is absent).
 */
export function play(history: string, state = initialState()): KeyState {
  for (const step of history.split(', ')) {
    if (!/^\d+ (?:take|ok|bare|429|lost|unsent|forget|is|has|grants|allows|withdraws)\b/.test(step))
      throw new Error(`no step of a history: "${step}"`);
    const [time, what = '', ...words] = step.split(' ');
    const at = START + Number(time);
    const more = Object.assign(
      {},
      ...words.filter((word) => word.includes('=')).map((word) => factOf(word, at)),
    ) as Partial<RateLimitReading>;
    const response = { ok: answered(at, more), bare: bare(more), 429: refused(more) }[what];
    if (what === 'is') expect(admit(state, at), step).toEqual(admission(words));
    else if (what === 'has')
      for (const word of words) expect(word).toBe(`${word.split('=')[0]}=${factIn(state, word)}`);
    else if (what === 'grants') expect(grants(state, at), step).toBe(Number(words[0]));
    else if (what === 'forget') reduce(state, { kind: 'forget' }, at);
    for (const id of words.filter((word) => /^[a-z]/.test(word) && !word.includes('='))) {
      if (what === 'take') ticket(state, at, id);
      else if (/allows|withdraws/.test(what)) expect(isStillGranted(state, id, at), step).toBe(what === 'allows');
      else if (response) respond(state, at, id, response);
      else if (/lost|unsent/.test(what)) reduce(state, { kind: what as 'unsent' | 'lost', id }, at);
    }
  }
  return state;
}

// The fact that a path such as `window.limit=60` names.
function factIn(state: KeyState, word: string): unknown {
  const path = word.split('=')[0]?.split('.') ?? [];
  return path.reduce<unknown>((from, name) => (from as Record<string, unknown>)[name], state) ?? 'none';
}

// A reset is given in milliseconds since START.
function factOf(word: string, at: number): Partial<RateLimitReading> {
  const [name, value = ''] = word.split('=');
  const number = value === 'none' ? undefined : Number(value);
  if (name === 'left') return { remaining: number };
  if (name === 'limit') return { limit: number };
  if (name === 'reset') return { resetInMs: number === undefined ? undefined : START + number - at };
  if (name === 'wait') return { waitMs: number };
  if (name === 'from') return { waitFrom: value as RateLimitReading['waitFrom'] };
  return { status: Number(value) };
}

function admission([what, until]: readonly string[]): object {
  if (what === 'probe' || what === 'plain') return { granted: true, probe: what === 'probe' };
  if (what === 'pending') return { granted: false, reason: 'pending' };
  const wait = { granted: false, reason: what, until: START + Number(until) };
  return what === 'blocked' ? { ...wait, status: 429 } : wait;
}

/** Takes tickets at `at` until one is not granted, and returns how many were. */
export function grants(state: KeyState, at: number): number {
  for (let id = 0; ; id++) if (!ticket(state, at, `n${at - START}-${id}`)) return id;
}
