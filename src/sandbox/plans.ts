// The plans of docs/service.md as limits, the notation of limits, and the default key.
import { invalidValue } from '../check-options.ts';
import { parseDuration } from '../format.ts';

/** Not a secret: the sandbox listens on loopback only and rejects web pages. */
export const SANDBOX_KEY = 'sandbox_0123456789abcdef';

export interface Limit {
  readonly count: number;
  readonly windowMs: number;
}

export type PlanName = 'free' | 'pro' | 'business' | 'enterprise';

const perMinuteAndDay = (minute: number, day: number): readonly Limit[] => [
  { count: minute, windowMs: 60_000 },
  { count: day, windowMs: 86_400_000 },
];

/** The service's enterprise plan has custom limits (docs/service.md); here it is unlimited. */
export const PLANS: Readonly<Record<PlanName, readonly Limit[]>> = {
  free: perMinuteAndDay(60, 1_000),
  pro: perMinuteAndDay(300, 10_000),
  business: perMinuteAndDay(1_000, 100_000),
  enterprise: [],
};

/**
 * Parses a limit such as `60/6s` or `5/10` (seconds).
 * @param option for messages
 * @throws PetstoreError `usage` if it is none, or allows nothing
 */
export function parseLimit(text: string, option: string): Limit {
  const [, count = '', duration = ''] = /^(\d{1,9})\/(.+)$/.exec(text.trim()) ?? [];
  const windowMs = parseDuration(duration) ?? 0;
  if (Number(count) > 0 && windowMs > 0) return { count: Number(count), windowMs };
  throw invalidValue(text, option, 'use REQUESTS/DURATION, for example 60/1m, 1000/1d or 60/6s');
}
