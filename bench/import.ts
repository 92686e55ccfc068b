// Measures imports under a tight quota and, without a limit, against a plain undici loop.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Place } from '../test/support/processes.ts';
import { ended, place, runProgram } from '../test/support/processes.ts';
import { BIN, median, must, say } from './report.ts';
import { startSandbox } from './sandbox-process.ts';

/** `npm run bench -- import [pace [ROWS] | throughput [ROWS [RUNS]]]`: by default `pace 100` and `throughput 5000 5`. */
export async function run([part, rows, runs]: string[]): Promise<void> {
  if (part !== 'throughput') for (const startMs of [0, 500, 900, 1200, 1500]) await pace(Number(rows ?? 100), startMs);
  if (part !== 'pace') await throughput(Number(rows ?? 5000), Number(runs ?? 5));
}

const LIMIT = 20;
const WINDOW_MS = 2000;
const IMPORT = ['categories', 'import', 'rows.ndjson', '--json', '--concurrency', '8'];

function writeRows({ dir }: Place, count: number, title: string): void {
  const rows = Array.from({ length: count }, (_, row) => `${JSON.stringify({ name: `${title} ${row}` })}\n`);
  writeFileSync(join(dir, 'rows.ndjson'), rows.join(''));
}

// Measures an import that starts `startMs` after the start of a window.
async function pace(rows: number, startMs: number): Promise<void> {
  const sandbox = await startSandbox(BIN, ['--limit', `${LIMIT}/2s`]);
  const at = place(sandbox.env);
  writeRows(at, rows, 'category number');
  // The windows of this sandbox begin at multiples of two seconds.
  await new Promise((resolve) => setTimeout(resolve, WINDOW_MS + startMs - (Date.now() % WINDOW_MS)));
  const since = Date.now();
  const { code, err } = await runProgram(BIN, at, [...IMPORT, '-v']);
  const ms = Date.now() - since;
  await sandbox.stop();
  // The start of the last window that the list and the rows need.
  const optimum = Math.max(0, Math.floor(rows / LIMIT) * WINDOW_MS - startMs);
  const refused = err.split('\n').filter((line) => line.startsWith('< 429 ')).length;
  say(
    `pace: ${rows} rows under ${LIMIT} per 2 s, ${startMs} ms into a window: ${ms} ms, optimum ${optimum} ms, ${refused} × 429`,
  );
  must(code === 0 && refused === 0, err.slice(-2000));
  // The guard and the resolution of `Date` may each cost a window of two seconds.
  must(ms <= optimum + 2 * WINDOW_MS, 'at most two windows above the optimum');
}

// Interleaves the runs, with the server in its own process, and compares the medians.
async function throughput(rows: number, runs: number): Promise<void> {
  const server = fork('bench/fast-server.mjs');
  const [origin] = (await once(server, 'message')) as [string];
  const times = { plain: [] as number[], petstore: [] as number[] };
  // All runs use one place, so that the first fills the cache of compiled code.
  const at = place({ PETSTORE_BASE_URL: `${origin}/v1`, PETSTORE_API_KEY: 'key-of-the-benchmark' });
  for (let run = 0; run < runs; run++) {
    writeRows(at, rows, `run ${run} row`);
    server.send('reset');
    times.plain.push(await timed(() => plainLoop(at)));
    server.send('reset');
    times.petstore.push(await timed(() => runProgram(BIN, at, IMPORT)));
  }
  server.kill();
  const [plain, petstore] = [median(times.plain), median(times.petstore)];
  const perSecond = (ms: number): string => `${Math.round((rows / ms) * 1000)} rows/s`;
  say(
    `throughput: ${rows} rows, 8 connections, Node ${process.versions.node}: plain undici loop ${perSecond(plain)}, petstore ${perSecond(petstore)}, ratio ${(plain / petstore).toFixed(2)}`,
  );
}

async function timed(work: () => Promise<{ readonly code: number; readonly err: string }>): Promise<number> {
  const since = performance.now();
  const { code, err } = await work();
  must(code === 0, err);
  return performance.now() - since;
}

// A process that only sends the creates, with as many connections as the import.
function plainLoop({ env, dir }: Place) {
  const args = ['bench/plain-loop.mjs', env['PETSTORE_BASE_URL'] ?? '', join(dir, 'rows.ndjson'), '8'];
  return ended(spawn(process.execPath, args, { env }));
}
