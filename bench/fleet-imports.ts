// The second part of the fleet benchmark: imports killed on one machine and resumed on another, and the time of a ticket.
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StateServer } from '../src/append-log/state-server.ts';
import { parseStateUrl } from '../src/append-log/state-url.ts';
import { systemClock } from '../src/clock.ts';
import { openSharedLedger } from '../src/rate-limit/shared-ledger.ts';
import type { Place } from '../test/support/processes.ts';
import { ended, place, runProgram, startProgram } from '../test/support/processes.ts';
import { RedisServer } from '../test/support/redis-server.ts';
import { tempDir } from '../test/support/temp-dir.ts';
import { delayingProxy } from './delaying-proxy.ts';
import { BIN, median, say } from './report.ts';
import { startSandbox } from './sandbox-process.ts';

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const ROWS = 300;
const KILLS = 4;
const IMPORT = ['categories', 'import', 'rows.csv', '--yes', '--json'];
const FAULTS = ['latency=25ms', 'lost-response:3', 'truncate:1', 'reset:1', '500:1'].flatMap((one) => ['--fault', one]);

/** The fate of the state server, which keeps its data, at a kill. */
const MISHAPS = ['nothing', 'killed with the import', 'killed before the import'] as const;

/**
 * Kills imports at random moments on two machines in turn while responses are lost, and finishes them, round after round.
 * @throws Error if a row is missing or exists twice
 */
export async function resumedElsewhere(rounds: number, parallel: number): Promise<void> {
  const total = { rounds: 0, kills: 0, runs: 0, duplicates: 0, missing: 0 };
  let next = 0;
  const player = async (): Promise<void> => {
    while (next < rounds) {
      const round = next++;
      const { kills, runs, names } = await oneRound(round);
      const unique = new Set(names);
      total.rounds++;
      total.kills += kills;
      total.runs += runs;
      total.duplicates += names.length - unique.size;
      total.missing += ROWS - unique.size;
      if (names.length !== ROWS || unique.size !== ROWS) throw new Error(`round ${round}: ${names.length} rows`);
      if (total.rounds % 10 === 0) say(`  ${JSON.stringify(total)}`);
    }
  };
  await Promise.all(Array.from({ length: parallel }, player));
  say(`imports resumed elsewhere: ${JSON.stringify(total)}`);
}

async function oneRound(round: number) {
  const sandbox = await startSandbox(BIN, ['--limit', '1000000/1s', '--seed', `${round + 1}`, ...FAULTS]);
  const server = await RedisServer.start({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  const machines = [0, 1].map((): Place => {
    const at = place({ ...sandbox.env, PETSTORE_STATE_URL: server.url });
    const rows = Array.from({ length: ROWS }, (_, row) => `row ${row}`);
    writeFileSync(join(at.dir, 'rows.csv'), `name\n${rows.join('\n')}\n`);
    return at;
  });
  let kills = 0;
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const child = startProgram(BIN, machines[kill % 2] as Place, IMPORT);
      const outcome = ended(child);
      // The first import waits for a forgotten lock, and the others for creates that may have been sent.
      await sleep((kill === 0 ? 4400 : 20_500) + Math.random() * 1500);
      if (await killWith(MISHAPS[(round + kill) % MISHAPS.length], server, child)) kills++;
      await outcome;
    }
    const last = machines[KILLS % 2] as Place;
    const runs = KILLS + (await finish(last));
    const { out } = await runProgram(BIN, last, ['categories', 'list', '--json', '--max-retries', '30']);
    return { kills, runs, names: (JSON.parse(out) as { name: string }[]).map(({ name }) => name) };
  } finally {
    await server.kill();
    await sandbox.stop();
  }
}

async function killWith(mishap: string | undefined, server: RedisServer, child: ChildProcess): Promise<boolean> {
  if (mishap === 'killed before the import') {
    await server.kill();
    await sleep(Math.random() * 300);
    await server.start();
    await sleep(Math.random() * 400);
  }
  const killed = child.kill('SIGKILL');
  if (mishap === 'killed with the import') await server.kill().then(() => server.start());
  return killed;
}

// Returns the number of runs.
async function finish(at: Place): Promise<number> {
  for (let runs = 1; ; runs++) {
    const { code, err } = await runProgram(BIN, at, IMPORT);
    if (code === 0) return runs;
    if (runs > 8 || ![7, 8, 9].includes(code ?? 0)) throw new Error(`exit ${code}: ${err}`);
  }
}

/** Measures tickets against the round trip; returns the latencies whose median is more than a millisecond above it. */
export async function ticketTimes(): Promise<readonly string[]> {
  const misses: string[] = [];
  for (const latencyMs of [0, 1, 20]) {
    const server = await RedisServer.start();
    const proxy = await delayingProxy(server.port, latencyMs);
    const clock = systemClock;
    const address = parseStateUrl(`redis://127.0.0.1:${proxy.port}`, undefined, 'X');
    const state = new StateServer({ address, clock });
    const own = { baseUrl: 'x', key: 'y', clock, stateDir: tempDir() };
    const ledger = openSharedLedger(state, own);
    const acquires: number[] = [];
    const trips: number[] = [];
    for (let count = 0; count < 200; count++) {
      const before = performance.now();
      await state.evictionPolicy();
      trips.push(performance.now() - before);
      const since = performance.now();
      const result = await ledger.acquire(30_000);
      acquires.push(performance.now() - since);
      if (!result.granted) throw new Error(result.reason);
      const at = clock.now();
      const window = { limit: 1_000_000, remaining: 900_000 - count, resetInMs: 600_000 };
      const seen = { at, tookMs: 0, status: 201, refused: false, ...window, waitFrom: 'backoff' } as const;
      ledger.observe(result.ticket, seen);
      await ledger.refresh();
    }
    await ledger.close();
    state.close();
    proxy.close();
    await server.kill();
    const [acquire, trip] = [median(acquires), median(trips)];
    say(`ticket, +${latencyMs} ms: acquire p50 ${acquire.toFixed(2)} ms, round trip ${trip.toFixed(2)} ms`);
    if (acquire > trip + 1) misses.push(`ticket at +${latencyMs} ms`);
  }
  return misses;
}
