// A rate-limited HTTP service that counts the violations of its clients, independent of the sandbox.
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { LimiterOptions } from '../test/support/limiter.ts';
import { Limiter } from '../test/support/limiter.ts';

export const FAULTS = ['reset', 'closed', '502', '408', 'truncated'] as const;

export interface LimitServerOptions extends LimiterOptions {
  readonly latencyMs: number;
  /** The way in which the response to the first create of each name is lost, after the category was created. */
  readonly fault?: (typeof FAULTS)[number];
}

/** Counts of the service. */
export interface Seen {
  sent: number;
  refused: number;
  /** Requests that arrived during a wait that a 429 had stated. */
  inside: number;
  /** The number of creates of each name. */
  readonly created: Map<string, number>;
  firstAt: number;
  lastAnsweredAt: number;
}

/** Starts the service on a free port of 127.0.0.1. All keys share one limit. */
export async function startLimitServer(options: LimitServerOptions) {
  const limiter = new Limiter(options);
  const counts = { sent: 0, refused: 0, inside: 0, firstAt: 0, lastAnsweredAt: 0 };
  const seen: Seen = { ...counts, created: new Map() };
  const server = createServer(async (request, response) => {
    const at = Date.now();
    const { allowed, insideWait, headers } = limiter.take(at);
    seen.sent++;
    seen.firstAt ||= at;
    if (!allowed) seen.refused++;
    if (insideWait !== undefined) seen.inside++;
    // A client may close the connection during its request.
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return;
    await new Promise((resolve) => setTimeout(resolve, options.latencyMs));
    if (!allowed) return respond(response, 429, headers, { code: 'rate_limited', message: 'too many', status: 429 });
    if (request.method === 'GET') return respond(response, 200, headers, []);
    const { name } = JSON.parse(body) as { name: string };
    const times = (seen.created.get(name) ?? 0) + 1;
    seen.created.set(name, times);
    if (options.fault && times === 1) return lose(options.fault, response, headers);
    respond(response, 201, headers, { id: seen.created.size, name });
    seen.lastAnsweredAt = Date.now();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { baseUrl: `http://127.0.0.1:${port}/v1`, seen, close };
}

function respond(response: ServerResponse, status: number, headers: Record<string, string>, body: unknown): void {
  const bytes = Buffer.from(JSON.stringify(body));
  response.writeHead(status, { ...headers, 'content-type': 'application/json', 'content-length': bytes.length });
  response.end(bytes);
}

function lose(
  fault: (typeof FAULTS)[number],
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
): void {
  if (fault === 'reset') response.socket?.resetAndDestroy();
  else if (fault === 'closed') response.socket?.end();
  else if (fault === 'truncated') {
    response.writeHead(201, { ...headers, 'content-length': '500' });
    response.write('{"id":1,');
    setTimeout(() => response.destroy(), 20);
  } else respond(response, Number(fault), headers, {});
}

/** The number of creates beyond one for each name. */
export function duplicatesOf({ created }: Seen): number {
  return [...created.values()].reduce((sum, times) => sum + times - 1, 0);
}

/** Waits until a fixed window begins, so that the first burst of every client is in one window. */
export async function untilWindowBegins({ windowMs }: LimitServerOptions): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, windowMs - (Date.now() % windowMs) + 50));
}

/**
 * The earliest time at which the last create can arrive, in milliseconds after `firstAt`, if each window is used up as soon as
 * it begins. It excludes latency and start-up, so no run can be faster.
 */
export function referenceMs({ mode, limit, windowMs }: LimitServerOptions, requests: number, firstAt: number): number {
  if (requests <= limit) return 0;
  if (mode === 'bucket') return ((requests - limit) * windowMs) / limit;
  const laterWindows = Math.ceil(requests / limit) - 1;
  // A fixed window began before the first request; the others begin with it.
  return laterWindows * windowMs - (mode === 'fixed' ? firstAt % windowMs : 0);
}

/** petstore's bound in milliseconds: the guard and the resolution of `Date` cost up to two seconds a window; 3% is tolerance. */
export function longestMs({ limit }: LimitServerOptions, requests: number, reference: number): number {
  return reference * 1.03 + 2000 * Math.ceil(requests / limit);
}
