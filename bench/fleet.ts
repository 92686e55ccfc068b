// The fleet benchmark: 8 machines x 4 processes on one key, clocks up to 30 s apart, with and without a state server.
import type { ChildProcess } from 'node:child_process';
import { parseArgs } from 'node:util';
import { RedisServer } from '../test/support/redis-server.ts';
import { tempDir } from '../test/support/temp-dir.ts';
import { delayingProxy } from './delaying-proxy.ts';
import type { LimitServerOptions } from './limit-server.ts';
import { duplicatesOf, longestMs, referenceMs, startLimitServer } from './limit-server.ts';
import { must, say } from './report.ts';
import type { StartWorker } from './workers.ts';
import { installClients, runWorkers } from './workers.ts';

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Row {
  readonly name: string;
  /** True if the machines share no state server. */
  readonly separate?: boolean;
  readonly service?: Partial<LimitServerOptions>;
  readonly latencyMs?: number;
  readonly machines?: number;
  readonly perMachine?: number;
  readonly requests?: number;
  /** Called when the processes have started; waits, and then disturbs the run. */
  readonly event?: (server: RedisServer, children: readonly ChildProcess[]) => Promise<void>;
  /** True if 429s cannot be avoided in this row. */
  readonly tolerant?: boolean;
  /** True if the time has a bound, since nothing fails in this row. */
  readonly timed?: boolean;
}

const FIXED: LimitServerOptions = { mode: 'fixed', limit: 20, windowMs: 2000, latencyMs: 10, reset: 'tenths' };
// With sliding windows, the one-second resolution of `Date` adds a second to each window, so these windows are longer.
const SLIDING: LimitServerOptions = { ...FIXED, mode: 'sliding', limit: 60, windowMs: 6000 };
// The limit of the free plan (docs/service.md).
const DOCUMENTED: LimitServerOptions = { ...FIXED, limit: 60, windowMs: 60_000, reset: 'ceil' };
// Processes that wait forever are killed after this time, or after seven windows if that is later.
const PATIENCE_MS = 120_000;

const unavailable = (ms: number) => async (server: RedisServer) => {
  await sleep(8000);
  await server.kill();
  await sleep(ms);
  await server.start();
};

const ROWS: readonly Row[] = [
  { name: 'separate files', separate: true, tolerant: true },
  { name: 'server, +0 ms', timed: true },
  { name: 'server, +20 ms', latencyMs: 20, timed: true },
  { name: 'server, sliding window', service: SLIDING, timed: true },
  { name: 'server, 60 per minute', service: DOCUMENTED, timed: true },
  { name: '160 short processes', machines: 8, perMachine: 20, requests: 160 },
  {
    name: 'kill -9 of 4 processes',
    event: async (_server, children) => {
      await sleep(8000);
      for (const child of children.slice(0, 4)) child.kill('SIGKILL');
    },
  },
  { name: 'killed and restarted, nothing kept', event: unavailable(200) },
  { name: 'unavailable for 3 s', event: unavailable(3000) },
  {
    name: 'FLUSHALL twice',
    event: async (server) => {
      await sleep(8000);
      await server.command('FLUSHALL');
      await sleep(5000);
      await server.command('FLUSHALL');
    },
  },
  { name: 'unavailable for 15 s', event: unavailable(15_000), tolerant: true },
];

/**
 * `npm run bench -- fleet [WORDS] [--requests N]`: all rows, or those whose name contains the words.
 * @throws Error if a row misses its bound
 */
export async function run(args: readonly string[]): Promise<void> {
  const options = { requests: { type: 'string' } } as const;
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  const missed: string[] = [];
  const startWorker = installClients(['petstore']);
  say('| | sent | 429 | in a wait | created | failed | duplicates | seconds | time ÷ reference | warnings |');
  say('| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
  for (const row of ROWS.filter(({ name }) => name.includes(positionals.join(' ')))) {
    // With few requests, connecting takes longer than the rate limit requires, so the time has no bound.
    const sized = values.requests ? { ...row, requests: Number(values.requests), timed: false } : row;
    if (!(await isMet(sized, startWorker))) missed.push(row.name);
  }
  must(missed.length === 0, missed.join(', '));
}

async function isMet(row: Row, startWorker: StartWorker): Promise<boolean> {
  const { machines = 8, perMachine = 4, requests = 300, latencyMs = 0 } = row;
  const options = { ...FIXED, ...row.service };
  const service = await startLimitServer(options);
  const server = await RedisServer.start();
  const proxy = latencyMs > 0 ? await delayingProxy(server.port, latencyMs) : undefined;
  const processes = machines * perMachine;
  const directories = Array.from({ length: machines }, () => tempDir());
  const { limit, windowMs } = options;
  const children = Array.from({ length: processes }, (_, index) => {
    const machine = index % machines;
    return startWorker({
      ...{ client: 'petstore', url: service.baseUrl, limit, windowMs, workers: 2, prefix: `p${index}-` },
      count: Math.floor((requests + index) / processes),
      skewMs: Math.round(-30_000 + (60_000 * machine) / (machines - 1)),
      stateDir: directories[machine] ?? '',
      stateUrl: row.separate ? undefined : `redis://127.0.0.1:${proxy?.port ?? server.port}`,
    });
  });
  let happening: Promise<void> | undefined;
  const reports = await runWorkers(children, options, Math.max(PATIENCE_MS, 7 * windowMs), () => {
    happening = row.event?.(server, children);
  });
  await happening;
  proxy?.close();
  await server.kill();
  service.close();
  const { seen } = service;
  const failed = reports.reduce((sum, report) => sum + (report?.failed ?? 0), 0);
  const warnings = new Set(reports.flatMap((report) => report?.warnings ?? []));
  const ms = seen.lastAnsweredAt - seen.firstAt;
  const reference = referenceMs(options, seen.created.size, seen.firstAt);
  const figures = [seen.sent, seen.refused, seen.inside, seen.created.size, failed, duplicatesOf(seen)];
  const times = [(ms / 1000).toFixed(1), (ms / reference).toFixed(2), warnings.size];
  say(`| ${[row.name, ...figures, ...times].join(' | ')} |`);
  for (const warning of [...warnings].slice(0, 3)) say(`  ${warning}`);
  if (row.tolerant) return true;
  const isInTime = !row.timed || ms <= longestMs(options, requests, reference);
  return isInTime && seen.refused + seen.inside + failed + duplicatesOf(seen) === 0;
}
