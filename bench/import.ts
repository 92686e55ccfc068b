// Imports under the worst: killed again and again with answers lost, and under a tight quota.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Result } from '../test/import/kill-round.ts';
import { containerRound, killRound } from '../test/import/kill-round.ts';
import { place, runProgram, startSandbox } from '../test/support/processes.ts';
import { must, say } from './report.ts';

const BIN = process.env['PETSTORE_BIN'] ?? 'bin/petstore.js';

/**
 * `npm run bench -- import [kill ROUNDS | pace]`; both, with 200 rounds, unless one is named.
 * @param args which part, and its number
 */
export async function run(args: string[]): Promise<void> {
  const [part, number] = args;
  const wanted = (name: string): boolean => part === undefined || part === name;
  if (wanted('kill')) await kills(Number(number ?? 200));
  if (wanted('pace')) await pace();
}

const FAULTS = ['lost-response:3', 'truncate:1', 'reset:1', '500:1'];
// A round in containers mostly waits for a minute of silence.
const CONTAINERS_AT_ONCE = 16;

// Two rounds of three are killed on one machine; the third plays in two containers with clocks 140 s apart.
async function kills(rounds: number): Promise<void> {
  const total = { rounds: 0, kills: 0, stops: 0, refused: 0, runs: 0, mostUndecided: 0, longestWaitMs: 0 };
  const since = Date.now();
  const add = (round: number, result: Result): void => {
    must(result.duplicates === 0 && result.missing === 0, `round ${round}: ${JSON.stringify(result)}`);
    must(result.mostUndecided <= 8, `round ${round}: ${result.mostUndecided} rows in flight at a kill`);
    total.runs += result.runs;
    total.mostUndecided = Math.max(total.mostUndecided, result.mostUndecided);
    if (++total.rounds % 10 === 0) say(`  ${JSON.stringify(total)}, ${Math.round((Date.now() - since) / 1000)} s`);
  };
  const contained = Array.from({ length: rounds }, (_, at) => at + 1).filter((round) => round % 3 === 0);
  const container = async (): Promise<void> => {
    for (let round = contained.shift(); round !== undefined; round = contained.shift()) {
      const mishap = (['killed', 'stopped', 'none'] as const)[(round / 3) % 3] ?? 'none';
      const faults = [...FAULTS, 'latency=30ms'];
      const result = await containerRound({ bin: BIN, rows: 1500, kills: 1, faults, seed: round }, mishap);
      must(result.waitedMs < 70_000, `round ${round}: ${result.waitedMs} ms`);
      total.longestWaitMs = Math.max(total.longestWaitMs, Math.round(result.waitedMs));
      if (mishap === 'killed') total.kills += result.kills;
      else if (mishap === 'stopped') total.stops += result.kills;
      else total.refused++;
      add(round, result);
    }
  };
  const one = async (): Promise<void> => {
    for (let round = 1; round <= rounds; round++) {
      if (round % 3 === 0) continue;
      const result = await killRound({ bin: BIN, rows: 1000, kills: 3 + (round % 4), faults: FAULTS, seed: round });
      total.kills += result.kills;
      add(round, result);
    }
  };
  await Promise.all([one(), ...Array.from({ length: CONTAINERS_AT_ONCE }, container)]);
  say(`kill: ${JSON.stringify(total)}: 0 duplicates, 0 lost`);
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
    // The sandbox counts from multiples of two seconds.
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
    // A list and 100 rows: 101 requests take what is left of a window and five resets.
    const optimum = 5 * WINDOW_MS - phase;
    const refused = outcome.err.split('\n').filter((line) => /\b429\b/.test(line)).length;
    await sandbox.stop();
    say(
      `pace: 100 rows under 20 per 2 s, ${concurrency} at once, ${phase} ms into a window: ${ms} ms (${(ms / optimum).toFixed(2)} of the optimum), ${refused} 429s, exit ${outcome.code}`,
    );
    must(outcome.code === 0 && refused === 0, outcome.err.slice(-2000));
    must(ms <= optimum * 1.1, 'makespan at most 1.1 of the optimum');
  }
}
