// Rounds on two machines: imports killed on one and resumed on the other, with the state server killed at two of three kills.
import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Place } from '../test/support/processes.ts';
import { ended, place, runProgram, startProgram } from '../test/support/processes.ts';
import { RedisServer } from '../test/support/redis-server.ts';
import { BIN, say } from './report.ts';
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
