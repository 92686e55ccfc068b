// The second part of the fleet benchmark: imports killed on one machine and resumed on another, and the time of a ticket.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StateServer } from '../src/append-log/state-server.ts';
import { parseStateUrl } from '../src/append-log/state-url.ts';
import { systemClock } from '../src/clock.ts';
import { openSharedLedger } from '../src/rate-limit/shared-ledger.ts';
import type { Place } from '../test/support/processes.ts';
import { ended, place, runProgram, startProgram, startSandbox } from '../test/support/processes.ts';
import { RedisServer } from '../test/support/redis-server.ts';
import { tempDir } from '../test/support/temp-dir.ts';
import { delayingProxy } from './delaying-proxy.ts';
import { BIN, median, say } from './report.ts';

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const ROWS = 300;
const IMPORT = ['categories', 'import', 'rows.csv', '--yes', '--json'];
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];

/** The fate of the state server during an import. */
const MISHAPS = ['nothing', 'killed with the import', 'killed before the import'] as const;

/**
 * Kills an import of 300 rows at random moments on one machine and finishes it on another, round after round.
 * @throws Error if a row is missing or exists twice
 */
export async function resumedElsewhere(rounds: number): Promise<void> {
  const total = { rounds: 0, killed: 0, 'killed with rows left': 0, created: 0, duplicates: 0, missing: 0 };
  for (let round = 0; round < rounds; round++) {
    const mishap = MISHAPS[round % MISHAPS.length] ?? 'nothing';
    const { killed, left, names } = await oneRound(mishap);
    const unique = new Set(names);
    total.rounds++;
    total.killed += killed ? 1 : 0;
    total['killed with rows left'] += left > 0 ? 1 : 0;
    total.created += unique.size;
    total.duplicates += names.length - unique.size;
    total.missing += ROWS - unique.size;
    if (names.length !== ROWS || unique.size !== ROWS)
      throw new Error(`round ${round}, ${mishap}: ${names.length} rows`);
  }
  say(`imports resumed elsewhere: ${JSON.stringify(total)}`);
}

async function oneRound(mishap: (typeof MISHAPS)[number]) {
  const sandbox = await startSandbox(BIN, ['--limit', '1000000/1s', '--fault', 'latency=25ms']);
  const server = await RedisServer.start({ args: DURABLE });
  const machine = (count = ROWS): Place => {
    const at = place({ ...sandbox.env, PETSTORE_STATE_URL: server.url });
    const rows = Array.from({ length: count }, (_, row) => `row ${row}`);
    writeFileSync(join(at.dir, 'rows.csv'), `name\n${rows.join('\n')}\n`);
    return at;
  };
  const list = async (at: Place): Promise<string[]> => {
    const { out } = await runProgram(BIN, at, ['categories', 'list', '--json']);
    return (JSON.parse(out) as { name: string }[]).map(({ name }) => name);
  };
  try {
    // On a new server, an import waits before its first request.
    await runProgram(BIN, machine(1), IMPORT);
    const first = startProgram(BIN, machine(), IMPORT);
    const outcome = ended(first);
    await sleep(400 + Math.random() * 900);
    if (mishap === 'killed before the import') {
      await server.kill();
      await sleep(Math.random() * 300);
      await server.start();
      await sleep(Math.random() * 400);
    }
    const killed = first.kill('SIGKILL');
    if (mishap === 'killed with the import') {
      await server.kill();
      await server.start();
    }
    await outcome;
    const second = machine();
    const left = ROWS - (await list(second)).length;
    for (let run = 0; ; run++) {
      const { code, err } = await runProgram(BIN, second, IMPORT);
      if (code === 0) break;
      if (run > 5 || (code !== 8 && code !== 9)) throw new Error(`exit ${code}: ${err}`);
    }
    return { killed, left, names: await list(second) };
  } finally {
    await server.kill();
    await sandbox.stop();
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
    const own = { identity: 'x', key: 'y', clock, stateDir: tempDir(), tempDir: tempDir() };
    const ledger = openSharedLedger(state, own);
    const acquires: number[] = [];
    const trips: number[] = [];
    for (let count = 0; count < 200; count++) {
      const before = performance.now();
      await state.info();
      trips.push(performance.now() - before);
      const since = performance.now();
      const result = await ledger.acquire(30_000);
      acquires.push(performance.now() - since);
      if (!result.granted) throw new Error(result.reason);
      const at = clock.now();
      const reset = { at: at + 600_000, clock: 'local', resolution: 1 } as const;
      const seen = { status: 201, limit: 1_000_000, remaining: 900_000 - count, reset, refused: false } as const;
      ledger.observe(result.ticket, { at, ...seen, waitFrom: 'backoff' });
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
