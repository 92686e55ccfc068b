// The plans of service.md, section 8, as limits; and limits as people write them.
import { parseDuration } from '../duration.ts';

/** So many requests in so long. */
export interface Limit {
  readonly count: number;
  /** Length of the window, milliseconds. */
  readonly ms: number;
}

/** The plans by name. */
export type PlanName = 'free' | 'pro' | 'business' | 'enterprise';

const MINUTE = 60_000;
const DAY = 86_400_000;

const perMinuteAndDay = (minute: number, day: number): readonly Limit[] => [
  { count: minute, ms: MINUTE },
  { count: day, ms: DAY },
];

/** The limits of each plan (service.md, section 8). Enterprise is custom: without limits of its own it has none. */
export const PLANS: Readonly<Record<PlanName, readonly Limit[]>> = {
  free: perMinuteAndDay(60, 1_000),
  pro: perMinuteAndDay(300, 10_000),
  business: perMinuteAndDay(1_000, 100_000),
  enterprise: [],
};

/**
 * Reads a limit as `--limit` takes it.
 * @param text for example `60/6s`, `1000/1d`, `5/10` (a bare number counts seconds)
 * @returns the limit; undefined where the text is none, or allows nothing
 */
export function parseLimit(text: string): Limit | undefined {
  const match = /^(\d{1,9})\/(.+)$/.exec(text.trim());
  const ms = match?.[2] === undefined ? undefined : parseDuration(match[2]);
  const count = Number(match?.[1]);
  return ms === undefined || ms < 1 || count < 1 ? undefined : { count, ms };
}
