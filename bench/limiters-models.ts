// Services of the benchmark that no package provides: shared quotas, random refusals, changing limits.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { MakeService } from '../test/support/services.ts';
import {
  atOnce,
  changing,
  everyOther,
  free,
  leastTime,
  random,
  usedByOthers,
  waitingTime,
} from '../test/support/services.ts';
import type { RateLimiter, RunningLimiter } from './limiters-list.ts';

/** A round trip on loopback, milliseconds. */
const LATENCY_MS = 5;
const SEED = 2;
const FOREVER = Number.POSITIVE_INFINITY;

type Model = Pick<RateLimiter, 'name' | 'title' | 'tasks' | 'bound'> & {
  readonly make: MakeService;
  /** The makespan in milliseconds to compare with; by default that of a client that waits only the stated times. */
  readonly optimumMs?: (requests: number) => number;
};

const least = (make: MakeService) => (requests: number) => leastTime(make, 0, SEED, requests);

const MODELS: readonly Model[] = [
  {
    name: 'others',
    title: 'quota used by others for 15 s',
    tasks: ['import-30', 'xargs-30', 'commands'],
    bound: 1.2,
    make: usedByOthers(15_000),
  },
  { name: 'every-other', title: '429 of 1 s to every other', tasks: ['import-30'], bound: 2, make: everyOther(1) },
  {
    name: 'random-20',
    title: '20% at random, 1 s',
    tasks: ['import-60', 'xargs-30'],
    bound: 2,
    make: random(0.2, FOREVER, 1),
  },
  { name: 'random-50', title: '50% at random, 1 s', tasks: ['import-30'], bound: 2, make: random(0.5, FOREVER, 1) },
  {
    name: 'random-then-none',
    title: '30% at random for 20 s, then none',
    tasks: ['import-120'],
    bound: 2,
    make: random(0.3, 20_000, 1),
  },
  ...(['nothing', 'headers'] as const).map((states): Model => {
    const isStated = states === 'headers';
    const make = changing([20, 4, 200], 2, isStated ? { describes: 'limit', reset: 'ms' } : { retryAfter: 'none' });
    const title = `20, 4, 200 per 5 s, ${isStated ? 'with' : 'without'} headers`;
    return { name: `changing-${states}`, title, tasks: ['import-240'], bound: 2, make, optimumMs: least(make) };
  }),
  {
    name: 'four-in-flight',
    title: 'four in flight, 200 ms each',
    tasks: ['import-120'],
    bound: 2,
    make: atOnce(4),
    optimumMs: (requests) => (requests / 4) * 200,
  },
];

const toLimiter = ({ make, optimumMs, ...model }: Model): RateLimiter => ({
  ...model,
  announced: false,
  window: 0,
  optimumMs: optimumMs ?? ((requests) => waitingTime(make, 0, SEED, requests, LATENCY_MS)),
  start: () => startModel(make),
});

export const MODEL_LIMITERS: readonly RateLimiter[] = MODELS.map(toLimiter);
/** Measures the time of a task without a limit, which is added to the optimum. */
export const NO_LIMIT = toLimiter({
  ...{ name: 'free', title: 'no limit', tasks: ['commands'], bound: FOREVER, make: free },
});

// Starts a service that creates categories and sends a 429 if the model refuses the request.
async function startModel(make: MakeService): Promise<RunningLimiter> {
  let service: ReturnType<MakeService> | undefined;
  let inFlight = 0;
  const categories: object[] = [];
  const server = createServer(async (request, response) => {
    const now = Date.now();
    service ??= make(now, SEED);
    const { allowed, headers, delayMs = 0 } = service.take(now, ++inFlight);
    let body = '';
    for await (const chunk of request) body += chunk;
    await new Promise((resolve) => setTimeout(resolve, allowed ? delayMs : 0));
    inFlight--;
    response.writeHead(allowed ? (request.method === 'POST' ? 201 : 200) : 429, {
      ...headers,
      'content-type': 'application/json',
    });
    if (!allowed) response.end('{"code":"rate_limited","message":"too many requests","status":429}');
    else if (request.method === 'GET') response.end(JSON.stringify(categories));
    else {
      const category = { id: categories.length + 1, ...(JSON.parse(body) as object) };
      categories.push(category);
      response.end(JSON.stringify(category));
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
