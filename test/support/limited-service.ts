// A rate-limited service on loopback.
import { setTimeout as sleep } from 'node:timers/promises';
import { errorResponse, startHttpFake } from './http-fake.ts';
import type { LimiterOptions } from './limiter.ts';
import { Limiter } from './limiter.ts';

export interface LimitedOptions extends LimiterOptions {
  readonly latencyMs?: number;
  /** Its clock in epoch milliseconds; by default the system clock. */
  readonly now?: () => number;
}

/** Starts the service; all keys share one limit. */
export async function startLimited({ latencyMs = 0, now = Date.now, ...limit }: LimitedOptions) {
  const limiter = new Limiter(limit);
  // `inside`: requests inside a wait that a 429 stated.
  const seen = { sent: 0, refused: 0, inside: 0 };
  const fake = await startHttpFake(async ({ method, body }) => {
    const { allowed, insideWait, headers } = limiter.take(now());
    seen.sent++;
    if (!allowed) seen.refused++;
    if (insideWait !== undefined) seen.inside++;
    if (latencyMs > 0) await sleep(latencyMs);
    if (!allowed) return errorResponse(429, 'rate_limited', 'too many', headers);
    if (method === 'GET') return { body: [], headers };
    return { status: 201, headers, body: { id: seen.sent, name: (JSON.parse(body) as { name: string }).name } };
  });
  return { ...fake, seen };
}
