// Injected faults: their kinds, their notation, and the draw for each request.
import { invalidValueError } from '../settings/check-options.ts';
import { formatChoices, parseDuration } from '../text/format.ts';

/** 500, 503 and reset happen before the operation runs, the others after it. */
export const FAULT_KINDS = ['latency', '500', '503', 'reset', 'lost-response', 'truncate', 'garbage'] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

export interface FaultRule {
  readonly kind: FaultKind;
  /** Percentage of all requests, reads included. */
  readonly percent: number;
  /** Milliseconds; 0 except for `latency`. */
  readonly delayMs: number;
}

/**
 * Parses `KIND[:PERCENT]`, or `latency=DURATION[:PERCENT]`.
 * @param option for messages
 * @throws PetstoreError `usage`
 */
export function parseFault(text: string, option: string): FaultRule {
  const [, name, duration, percentage = '100'] = /^([^=:]+)(?:=([^:]*))?(?::(.*))?$/.exec(text.trim()) ?? [];
  const kind = FAULT_KINDS.find((each) => each === name);
  if (!kind) {
    throw invalidValueError(text, option, `use ${formatChoices(FAULT_KINDS)}, for example 500:10`);
  }
  if (kind !== 'latency' && duration !== undefined) {
    throw invalidValueError(text, option, 'use a duration with latency only');
  }
  const percent = /^\d{1,3}(?:\.\d+)?$/.test(percentage) ? Number(percentage) : Number.NaN;
  if (!(percent <= 100)) {
    throw invalidValueError(percentage, option, 'use a number from 0 to 100, for example 500:10', 'percentage');
  }
  const delayMs = kind === 'latency' ? parseDuration(duration ?? '1s') : 0;
  if (delayMs !== undefined) return { kind, percent, delayMs };
  throw invalidValueError(duration, option, 'use a duration such as latency=300ms', 'duration');
}

/** Delays add up; the first other fault applies. Each rule draws a random number, so a seed always gives the same sequence. */
export function drawFaultPlan(rules: readonly FaultRule[], random: () => number) {
  const drawn = rules.filter((rule) => random() * 100 < rule.percent);
  const delayMs = drawn.reduce((sum, rule) => sum + rule.delayMs, 0);
  const first = drawn.find(({ kind }) => kind !== 'latency') ?? drawn[0];
  return { delayMs, fault: first?.kind };
}

/** The generator mulberry32: repeatable numbers in [0, 1), not for secrets. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
