// A reverse proxy that counts the requests of one client to one rate-limited service, and changes nothing.
import { once } from 'node:events';
import { Agent, createServer, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The observed traffic; times are epoch milliseconds. */
export class Observed {
  requests = 0;
  refused429 = 0;
  refused503 = 0;
  /** Requests during the Retry-After of an earlier response, except those in flight when it was sent. */
  insideWait = 0;
  /** The number of creates by category name. */
  readonly created = new Map<string, number>();
  readonly servedAt: number[] = [];
  firstAt = 0;
  lastCreatedAt = 0;
}

export interface Observer {
  readonly baseUrl: string;
  readonly observed: Observed;
  close(): void;
}

// A request that arrives this soon after a refusal, in milliseconds, was sent before the client received it.
const IN_FLIGHT_MS = 50;

/** Starts an observer in front of the service on `port` of loopback. */
export async function startObserver(port: number): Promise<Observer> {
  const observed = new Observed();
  // Do not reuse connections: the service may close one just as a create is written to it.
  const agent = new Agent({ keepAlive: false });
  const waits: { readonly from: number; readonly until: number }[] = [];
  const server = createServer(async (request, response) => {
    const at = Date.now();
    observed.requests++;
    observed.firstAt ||= at;
    if (waits.some(({ from, until }) => at > from + IN_FLIGHT_MS && at < until)) observed.insideWait++;
    let body = '';
    for await (const chunk of request) body += chunk;
    const { method = 'GET', url: path = '/', headers } = request;
    const upstream = sendRequest({ agent, port, host: '127.0.0.1', method, path, headers }, (reply) => {
      const { statusCode: status = 502 } = reply;
      const now = Date.now();
      if (status === 429) observed.refused429++;
      else if (status === 503) observed.refused503++;
      else observed.servedAt.push(now);
      if (status === 201) {
        const { name } = JSON.parse(body) as { name: string };
        observed.created.set(name, (observed.created.get(name) ?? 0) + 1);
        observed.lastCreatedAt = now;
      }
      const waitMs = status === 429 || status === 503 ? statedWait(reply.headers['retry-after'], now) : 0;
      if (waitMs > 0) waits.push({ from: now, until: now + waitMs });
      response.writeHead(status, reply.rawHeaders);
      reply.pipe(response);
    });
    upstream.on('error', () => response.destroy());
    upstream.end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = (): void => {
    server.close();
    server.closeAllConnections();
    agent.destroy();
  };
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, observed, close };
}

function statedWait(text: string | undefined, now: number): number {
  if (text === undefined) return 0;
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now || 0;
}
