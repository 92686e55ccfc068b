// Measures imports under a tight quota and, without a limit, against a plain undici loop; fuzzes imports.
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { playRound } from '../test/import/fuzz-round.ts';
import type { Place } from '../test/support/processes.ts';
import { place, runProgram } from '../test/support/processes.ts';
import { BIN, median, must, say } from './report.ts';
import { startSandbox } from './sandbox-process.ts';

/**
 * `npm run bench -- import [pace | throughput [ROWS [RUNS]] | fuzz [ROUNDS [SEED]]]`: by default pace and throughput, 5,000
 * rows, 5 runs; 10,000 rounds. A single round prints what happens.
 */
export async function run([part, count, second]: string[]): Promise<void> {
  if (part === undefined || part === 'pace') await pace();
  if (part === undefined || part === 'throughput') await throughput(Number(count ?? 5000), Number(second ?? 5));
  if (part === 'fuzz') await fuzz(Number(count ?? 10_000), Number(second ?? 1));
}

async function fuzz(rounds: number, first: number): Promise<void> {
  const total = { rounds: 0, runs: 0, altering: 0 };
  const violations: string[] = [];
  for (let seed = first; total.rounds < rounds; seed++) {
    const { runs, alters, violations: found } = await playRound(seed, rounds === 1 ? say : undefined);
    total.rounds++;
    total.runs += runs;
    if (alters) total.altering++;
    violations.push(...found.map((what) => `seed ${seed}: ${what}`));
  }
  say(`fuzz: ${JSON.stringify(total)}: ${violations.length} violations`);
  must(violations.length === 0, violations.join('\n'));
}

const WINDOW_MS = 2000;

async function pace(): Promise<void> {
  for (const [concurrency, phase] of [
    [1, 0],
    [8, 0],
    [8, 500],
    [8, 900],
    [8, 1200],
    [8, 1500],
  ] as const) {
    const sandbox = await startSandbox(BIN, ['--limit', '20/2s']);
    const at = place(sandbox.env);
    const rows = Array.from({ length: 100 }, (_, row) => `{"name":"category number ${row}"}\n`);
    writeFileSync(join(at.dir, 'rows.ndjson'), rows.join(''));
    // Windows of the sandbox begin at multiples of two seconds.
    await new Promise((resolve) => setTimeout(resolve, 2 * WINDOW_MS + phase - (Date.now() % WINDOW_MS)));
    const since = Date.now();
    const outcome = await runProgram(BIN, at, [
      '-v',
      'categories',
      'import',
      'rows.ndjson',
      '--concurrency',
      `${concurrency}`,
    ]);
    const ms = Date.now() - since;
    // A list and 100 rows are 101 requests, which need the rest of a window and five more.
    const optimum = 5 * WINDOW_MS - phase;
    const refused = outcome.err.split('\n').filter((line) => line.startsWith('< 429 ')).length;
    await sandbox.stop();
    say(
      `pace: 100 rows under 20 per 2 s, ${concurrency} at once, ${phase} ms into a window: ${ms} ms (${(ms / optimum).toFixed(2)} of the optimum), ${refused} 429s, exit ${outcome.code}`,
    );
    must(outcome.code === 0 && refused === 0, outcome.err.slice(-2000));
    // The guard and the resolution of Date may cost a whole window of two seconds, twice.
    must(ms <= optimum + 2 * WINDOW_MS, 'makespan at most two windows above the optimum');
  }
}

const CONNECTIONS = 8;

// Interleaves the runs, with the server in its own process, and compares the medians.
async function throughput(rows: number, runs: number): Promise<void> {
  const server = fork('bench/fast-server.mjs');
  const [url] = (await once(server, 'message')) as [string];
  const times = { plain: [] as number[], petstore: [] as number[] };
  try {
    for (let run = 0; run < runs; run++) {
      const names = Array.from({ length: rows }, (_, row) => `run ${run} row ${row}`);
      const at = place({ PETSTORE_BASE_URL: url, PETSTORE_API_KEY: 'key-of-the-benchmark' });
      writeFileSync(join(at.dir, 'rows.ndjson'), names.map((name) => `${JSON.stringify({ name })}\n`).join(''));
      server.send('reset');
      times.plain.push(await timed(() => plainLoop(at, url)));
      server.send('reset');
      times.petstore.push(await timed(() => imported(at)));
    }
  } finally {
    server.kill();
  }
  const [plain, petstore] = [median(times.plain), median(times.petstore)];
  const perSecond = (ms: number): string => `${Math.round((rows / ms) * 1000)} rows/s`;
  say(
    `throughput: ${rows} rows, ${CONNECTIONS} connections, Node ${process.versions.node}: plain undici loop ${perSecond(plain)}, petstore ${perSecond(petstore)}, ratio ${(plain / petstore).toFixed(2)}`,
  );
}

async function timed(work: () => Promise<void>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}

async function imported(at: Place): Promise<void> {
  const args = ['categories', 'import', 'rows.ndjson', '--json', '--concurrency', String(CONNECTIONS)];
  const { code, err } = await runProgram(BIN, at, args);
  must(code === 0, err);
}

// Runs a process that only sends, with as many connections.
async function plainLoop(at: Place, url: string): Promise<void> {
  const child = spawn(
    process.execPath,
    ['bench/plain-loop.mjs', url, join(at.dir, 'rows.ndjson'), String(CONNECTIONS)],
    {
      stdio: 'inherit',
    },
  );
  const [code] = (await once(child, 'close')) as [number];
  must(code === 0, `the plain loop ended with ${code}`);
}
