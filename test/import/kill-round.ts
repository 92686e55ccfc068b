// One round: an import that is killed at random moments while answers get lost, run again until it is done, then counted.
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FileLog } from '../../src/append-log/file-log.ts';
import { journalFormat } from '../../src/import/journal-state.ts';
import { tempDir } from '../support/temp-dir.ts';
import type { Place } from './processes.ts';
import { outcomeOf, petstore, start, startSandbox } from './processes.ts';

/** How a round is played. */
export interface Round {
  readonly bin: string;
  readonly rows: number;
  readonly kills: number;
  /** Faults of the sandbox, as `--fault` takes them. */
  readonly faults: readonly string[];
  readonly seed: number;
}

/** What the service holds at the end, and how it got there. */
export interface Result {
  readonly kills: number;
  readonly runs: number;
  readonly duplicates: number;
  readonly missing: number;
  /** Rows without an answer right after a kill, lost answers apart: at most one for each worker. */
  readonly mostUndecided: number;
}

const MOST_RUNS = 12;

/** @returns what came of the round */
export async function killRound(round: Round): Promise<Result> {
  const faults = round.faults.flatMap((fault) => ['--fault', fault]);
  const sandbox = await startSandbox(round.bin, [
    '--limit',
    '1000000/1s',
    '--json',
    '--seed',
    `${round.seed}`,
    ...faults,
  ]);
  const dir = tempDir();
  const stateDir = join(dir, 'state');
  mkdirSync(stateDir);
  const at = { dir, env: { ...sandbox.env, PETSTORE_STATE_DIR: stateDir, PETSTORE_CONFIG_DIR: dir } };
  const names = Array.from({ length: round.rows }, (_, row) => `row ${row}`);
  writeFileSync(join(dir, 'rows.ndjson'), names.map((name) => `${JSON.stringify({ name })}\n`).join(''));
  try {
    let mostUndecided = 0;
    let kills = 0;
    for (let kill = 0; kill < round.kills; kill++) {
      if (await killed(round.bin, at, stateDir)) kills++;
      mostUndecided = Math.max(mostUndecided, inFlight(stateDir));
    }
    let runs = 0;
    for (let code: number | null = -1; code !== 0; runs++) {
      if (runs === MOST_RUNS) throw new Error(`still exit ${code} after ${runs} runs`);
      const last = await petstore(round.bin, at, ['categories', 'import', 'rows.ndjson', '--json']);
      code = last.code;
      if (code !== 0 && code !== 8 && code !== 7) throw new Error(`exit ${code}: ${last.err}`);
    }
    return { kills, runs: runs + round.kills, mostUndecided, ...(await count(round.bin, at, names)) };
  } finally {
    await sandbox.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function killed(bin: string, at: Place, stateDir: string): Promise<boolean> {
  const child = start(bin, at, ['categories', 'import', 'rows.ndjson', '--json']);
  const ended = outcomeOf(child);
  const size = sizeOf(stateDir);
  // One in ten dies while it starts, the others once they have begun to write their journal.
  const early = Math.random() < 0.1;
  while (!early && child.exitCode === null && sizeOf(stateDir) === size) await pause(5);
  // A thousand rows take about a second.
  await pause(Math.random() * 600);
  const alive = child.kill('SIGKILL');
  await ended;
  return alive;
}

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

function journals(stateDir: string): { readonly dir: string; readonly name: string; readonly path: string }[] {
  return readdirSync(stateDir, { recursive: true, encoding: 'utf8' }).flatMap((file) => {
    const [, dir, name] = /^(imports.*)[\\/]([0-9a-f]{32})\.\d+\.log$/.exec(file) ?? [];
    return dir === undefined || name === undefined
      ? []
      : [{ dir: join(stateDir, dir), name, path: join(stateDir, file) }];
  });
}

function sizeOf(stateDir: string): number {
  return journals(stateDir).reduce((sum, { path }) => sum + statSync(path).size, 0);
}

function inFlight(stateDir: string): number {
  let count = 0;
  for (const { dir, name } of journals(stateDir)) {
    const log = new FileLog(journalFormat, { dir, name, rotateAtBytes: Number.MAX_SAFE_INTEGER });
    for (const { state } of log.refresh().rows.values()) if (state === 'sending') count++;
    log.close();
  }
  return count;
}

async function count(
  bin: string,
  at: Place,
  names: readonly string[],
): Promise<{ duplicates: number; missing: number }> {
  const listed = await petstore(bin, at, ['categories', 'list', '--json', '--max-retries', '30']);
  const found = (JSON.parse(listed.out) as { name: string }[]).map(({ name }) => name);
  const distinct = new Set(found);
  return { duplicates: found.length - distinct.size, missing: names.filter((name) => !distinct.has(name)).length };
}
