// The rate limit benchmark: compares petstore with other clients by refusals, requests during a wait, duplicates and time.
import { parseArgs } from 'node:util';
import { RedisServer } from '../test/support/redis-server.ts';
import { tempDir } from '../test/support/temp-dir.ts';
import type { LimitServerOptions } from './limit-server.ts';
import { duplicatesOf, FAULTS, longestMs, referenceMs, startLimitServer } from './limit-server.ts';
import { must, say } from './report.ts';
import type { Client, StartWorker } from './workers.ts';
import { CLIENTS, installClients, runWorkers } from './workers.ts';

// The limit of the free plan (docs/service.md), and the same limit with a tenth of the window.
const REAL: LimitServerOptions = { mode: 'fixed', limit: 60, windowMs: 60_000, latencyMs: 40, reset: 'ceil' };
const FAST: LimitServerOptions = { ...REAL, windowMs: 6000, latencyMs: 10 };
const PATIENCE_MS = 600_000;

interface Shape {
  readonly processes: number;
  /** Concurrent creates in each process. */
  readonly workers: number;
  readonly requests: number;
}

/**
 * `npm run bench -- limits [CLIENT]… [--real] [--mode MODE] [--requests N]`: all clients, 300 creates at 60 requests per 6 s
 * with one process and with eight, and lost responses; with `--real`, with eight processes at 60 per minute, about five minutes
 * each. MODE is fixed (the default), anchored, sliding or bucket.
 * @throws Error if petstore misses a bound
 */
export async function run(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const;
  const options = { real: { type: 'boolean' }, mode: text, requests: text } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const named = CLIENTS.filter((client) => positionals.includes(client));
  const clients = named.length > 0 ? named : CLIENTS;
  const requests = Number(values.requests ?? 300);
  const mode = (values.mode ?? 'fixed') as LimitServerOptions['mode'];
  const service = { ...(values.real ? REAL : FAST), mode };
  const eight = { processes: 8, workers: 1, requests };
  const shapes = values.real ? [eight] : [{ processes: 1, workers: 8, requests }, eight];
  const start = installClients(clients);
  say('| client | processes | sent | 429 | in a wait | created | failed | duplicates | seconds | extra time |');
  say('| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
  for (const shape of shapes) for (const client of clients) await race(client, shape, service, start);
  if (!values.real) await loseResponses(clients, start);
}

async function race(client: Client, shape: Shape, options: LimitServerOptions, start: StartWorker): Promise<void> {
  const { seen, failed } = await play(client, shape, options, start);
  const { sent, refused, inside, created } = seen;
  const ms = seen.lastAnsweredAt - seen.firstAt;
  const reference = referenceMs(options, shape.requests, seen.firstAt);
  const isComplete = created.size === shape.requests;
  const extra = isComplete ? `+${((ms - reference) / 1000).toFixed(1)} s` : '–';
  const counts = [sent, refused, inside, created.size, failed, duplicatesOf(seen)];
  say(`| ${[client, shape.processes, ...counts, (ms / 1000).toFixed(1), extra].join(' | ')} |`);
  if (client !== 'petstore') return;
  must(refused + inside + failed + duplicatesOf(seen) === 0 && isComplete, 'no 429, every category once');
  must(ms <= longestMs(options, shape.requests, reference), `${ms} ms, reference ${reference} ms`);
}

/** Every create is processed, and its first response is lost in one of five ways. */
async function loseResponses(clients: readonly Client[], start: StartWorker): Promise<void> {
  say('\nDuplicates of 5 creates that were processed and whose response was then lost:');
  say(`\n| client | ${FAULTS.join(' | ')} |\n| --- | ${FAULTS.map(() => '---:').join(' | ')} |`);
  for (const client of clients) {
    const counts: number[] = [];
    for (const fault of FAULTS) {
      const service = { ...FAST, windowMs: 1000, fault };
      const { seen } = await play(client, { processes: 1, workers: 1, requests: 5 }, service, start);
      counts.push(duplicatesOf(seen));
    }
    say(`| ${client} | ${counts.join(' | ')} |`);
    must(client !== 'petstore' || counts.every((count) => count === 0), 'no duplicates');
  }
}

async function play(client: Client, shape: Shape, options: LimitServerOptions, start: StartWorker) {
  const { processes, workers, requests } = shape;
  const { limit, windowMs } = options;
  const service = await startLimitServer(options);
  // Only bottleneck needs a server to share its limit between processes.
  const server = client === 'bottleneck' ? await RedisServer.start() : undefined;
  const shared = { client, url: service.baseUrl, workers, limit, windowMs, stateDir: tempDir(), stateUrl: server?.url };
  const children = Array.from({ length: processes }, (_, index) =>
    start({ ...shared, prefix: `p${index}-`, count: Math.floor((requests + index) / processes) }),
  );
  const reports = await runWorkers(children, options, PATIENCE_MS);
  await server?.kill();
  service.close();
  return { seen: service.seen, failed: reports.reduce((sum, report) => sum + (report?.failed ?? 0), 0) };
}
