// A rate-limited HTTP service that counts the violations of its clients, independent of the sandbox.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LimiterOptions, Verdict } from '../test/support/limiter.ts';
import { Limiter } from '../test/support/limiter.ts';

export interface LimitServerOptions extends LimiterOptions {
  readonly latencyMs?: number;
  /** The number of requests inside a wait that cause a ban, and its duration. */
  readonly ban?: { readonly after: number; readonly forMs: number };
  /** Its clock minus ours, in milliseconds. */
  readonly skewMs?: number;
  /** Its clock in epoch milliseconds; by default the system clock. */
  readonly now?: () => number;
  /** The fault after the first POST of each name is committed. */
  readonly fault?: 'rst' | 'fin' | '502' | '408' | 'truncate';
}

/** Counts of the service, without requests marked `x-foreign`. */
export interface Seen {
  sent: number;
  refused: number;
  /** Arrivals during the wait of a 429; `insideLate` omits the first 50 ms, when requests are in flight. */
  inside: number;
  insideLate: number;
  readonly created: Map<string, number>;
  firstAt: number;
  lastAnsweredAt: number;
  bans: number;
  readonly arrivals: Arrival[];
}

interface Arrival {
  readonly at: number;
  readonly refused: boolean;
  name: string;
}

export interface LimitServer {
  readonly baseUrl: string;
  readonly seen: Seen;
  close(): Promise<void>;
}

class BanningLimiter extends Limiter {
  bans = 0;
  #offenses = 0;
  #bannedAt = 0;
  readonly #ban: NonNullable<LimitServerOptions['ban']>;

  constructor(options: LimiterOptions, ban: NonNullable<LimitServerOptions['ban']>) {
    super(options);
    this.#ban = ban;
  }

  override take(now: number): Verdict {
    if (this.bans > 0 && now < this.#bannedAt + this.#ban.forMs) return this.#refusal(now);
    const verdict = super.take(now);
    this.#offenses = verdict.insideWait === undefined ? 0 : this.#offenses + 1;
    if (this.#offenses < this.#ban.after) return verdict;
    this.#offenses = 0;
    this.bans++;
    this.#bannedAt = now;
    return this.#refusal(now);
  }

  #refusal(now: number): Verdict {
    const seconds = Math.ceil((this.#bannedAt + this.#ban.forMs - now) / 1000);
    return { allowed: false, insideWait: now - this.#bannedAt, headers: { 'retry-after': String(seconds) } };
  }
}

/** Starts the service on a free port of 127.0.0.1. All keys share one limit. */
export async function startLimitServer(options: LimitServerOptions): Promise<LimitServer> {
  const limiter = options.ban ? new BanningLimiter(options, options.ban) : new Limiter(options);
  const seen: Seen = {
    sent: 0,
    refused: 0,
    inside: 0,
    insideLate: 0,
    created: new Map(),
    firstAt: 0,
    lastAnsweredAt: 0,
    bans: 0,
    arrivals: [],
  };
  const server = createServer((request, response) => {
    const at = (options.now ?? Date.now)();
    const verdict = limiter.take(at + (options.skewMs ?? 0));
    const arrival: Arrival = { at, refused: !verdict.allowed, name: '' };
    if (limiter instanceof BanningLimiter) seen.bans = limiter.bans;
    if (!request.headers['x-foreign']) {
      seen.sent++;
      seen.arrivals.push(arrival);
      seen.firstAt ||= at;
      if (!verdict.allowed) seen.refused++;
      if (verdict.insideWait !== undefined) seen.inside++;
      if (verdict.insideWait !== undefined && verdict.insideWait > 50) seen.insideLate++;
    }
    void serve(request, response, verdict.headers, options, seen, arrival);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  headers: Record<string, string>,
  options: LimitServerOptions,
  seen: Seen,
  arrival: Arrival,
): Promise<void> {
  let body = '';
  try {
    for await (const chunk of request) body += chunk;
  } catch {
    // The client closed the connection during its request.
    return;
  }
  const { name = '' } = JSON.parse(body || '{}') as { name?: string };
  arrival.name = name;
  if (options.latencyMs) await new Promise((resolve) => setTimeout(resolve, options.latencyMs));
  const all = { ...headers, 'content-type': 'application/json' };
  if (arrival.refused)
    return void respond(response, 429, all, { code: 'rate_limited', message: 'too many', status: 429 });
  if (request.method === 'GET') return void respond(response, 200, all, []);
  const times = (seen.created.get(name) ?? 0) + 1;
  seen.created.set(name, times);
  if (options.fault && times === 1) return fail(options.fault, response, all);
  respond(response, 201, all, { id: seen.created.size, name });
  seen.lastAnsweredAt = Date.now();
}

function respond(response: ServerResponse, status: number, headers: Record<string, string>, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

function fail(
  fault: NonNullable<LimitServerOptions['fault']>,
  response: ServerResponse,
  headers: Record<string, string>,
): void {
  if (fault === 'rst') response.socket?.resetAndDestroy();
  else if (fault === 'fin') response.socket?.end();
  else if (fault === '502') respond(response, 502, headers, {});
  else if (fault === '408') respond(response, 408, headers, {});
  else {
    response.writeHead(201, { ...headers, 'content-length': '500' });
    response.write('{"id":1,');
    setTimeout(() => response.destroy(), 20);
  }
}

/**
 * The reference of a run: when the last of its creates can arrive at the earliest, in milliseconds after the first request at
 * `firstAt`, if each window serves all that it allows as soon as it begins. Latency and start-up are not part of it, so nothing
 * is faster.
 */
export function referenceMs(service: LimitServerOptions, wanted: number, firstAt: number): number {
  const { mode, limit, windowMs, skewMs = 0, daily } = service;
  const requests = Math.min(wanted, daily?.limit ?? wanted);
  if (requests <= limit) return 0;
  if (mode === 'bucket') return ((requests - limit) * windowMs) / limit;
  const laterWindows = Math.ceil(requests / limit) - 1;
  // A fixed window began before the first request; the others begin with it.
  return laterWindows * windowMs - (mode === 'fixed' ? (firstAt + skewMs) % windowMs : 0);
}

/** petstore's bound in milliseconds: the guard and the resolution of `Date` cost up to two seconds in each window. */
export function longestMs({ limit }: LimitServerOptions, requests: number, reference: number): number {
  return reference * 1.03 + 2000 * Math.ceil(requests / limit);
}
