// One round: kills an import at random moments while responses are lost, runs it again until it is done, and counts the rows.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Place } from '../test/support/processes.ts';
import { ended, place, runProgram, startProgram } from '../test/support/processes.ts';
import { BIN } from './report.ts';
import { startSandbox, untilCreated } from './sandbox-process.ts';

export interface Result {
  readonly kills: number;
  readonly runs: number;
  readonly duplicates: number;
  readonly missing: number;
}

const MOST_RUNS = 12;
const ROWS = 300;
const FAULTS = ['lost-response:3', 'truncate:1', 'reset:1', '500:1'].flatMap((fault) => ['--fault', fault]);
const KEYS = ['sandbox_of_the_import_1', 'sandbox_of_the_import_2'] as const;
const IMPORT = ['categories', 'import', 'rows.ndjson', '--json'];

interface Scene {
  readonly at: Place;
  names: readonly string[];
}

/** Kills an import two to four times, then runs it to its end. */
export async function killRound(seed: number): Promise<Result> {
  const options = ['--limit', '1000000/1s', '--seed', `${seed}`, '--key', KEYS[0], '--key', KEYS[1], ...FAULTS];
  const sandbox = await startSandbox(BIN, options);
  const at = place({ ...sandbox.env, PETSTORE_API_KEY: KEYS[0] });
  const names = [...Array.from({ length: ROWS }, (_, row) => `row ${row}`), 'row 1', 'row 2', 'row 2'];
  const scene = { at, names };
  write(scene);
  try {
    const attempts = 2 + (seed % 3);
    let kills = 0;
    for (let kill = 0; kill < attempts; kill++) {
      if (await killed(scene)) kills++;
      change(scene, kill);
    }
    return { kills, runs: attempts + (await finish(scene)), ...(await count(scene)) };
  } finally {
    await sandbox.stop();
    rmSync(at.dir, { recursive: true, force: true });
  }
}

function write({ at, names }: Scene): void {
  writeFileSync(join(at.dir, 'rows.ndjson'), names.map((name) => `${JSON.stringify({ name })}\n`).join(''));
}

// Does what a user may do between two runs: edits the file or renews the key.
function change(scene: Scene, kill: number): void {
  if (Math.random() < 0.4) {
    scene.names = [...scene.names, `extra ${kill}`].sort(() => Math.random() - 0.5);
    write(scene);
  }
  if (Math.random() < 0.3) scene.at.env['PETSTORE_API_KEY'] = KEYS[kill % 2] as string;
}

// Returns the number of runs.
async function finish({ at }: Scene): Promise<number> {
  for (let runs = 1; runs <= MOST_RUNS; runs++) {
    const { code, err } = await runProgram(BIN, at, IMPORT);
    if (code === 0) return runs;
    if (code !== 8 && code !== 7) throw new Error(`exit ${code}: ${err}`);
  }
  throw new Error(`not complete after ${MOST_RUNS} runs`);
}

async function killed({ at }: Scene): Promise<boolean> {
  const child = startProgram(BIN, at, IMPORT);
  const outcome = ended(child);
  // Kill one in ten during start-up or while it waits for the requests of the last one, the others once they create.
  if (Math.random() >= 0.1) await Promise.race([untilCreated(at), outcome]);
  // A thousand rows take about a second.
  await pause(Math.random() * 600);
  const alive = child.kill('SIGKILL');
  await outcome;
  return alive;
}

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

async function count({ at, names }: Scene): Promise<{ duplicates: number; missing: number }> {
  const listed = await runProgram(BIN, at, ['categories', 'list', '--json', '--max-retries', '30']);
  const surplus = new Map<string, number>();
  const add = (name: string, by: number): unknown => surplus.set(name, (surplus.get(name) ?? 0) + by);
  for (const { name } of JSON.parse(listed.out) as { name: string }[]) add(name, 1);
  // Rows that repeat a name are skipped.
  for (const name of new Set(names)) add(name, -1);
  const counts = [...surplus.values()];
  const sum = (some: readonly number[]): number => some.reduce((total, each) => total + each, 0);
  return { duplicates: sum(counts.filter((each) => each > 0)), missing: -sum(counts.filter((each) => each < 0)) };
}
