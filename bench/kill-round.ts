// One round: kills an import at random moments while responses are lost, runs it again until it is done, and counts the rows.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Place } from '../test/support/processes.ts';
import { ended, place, runProgram, startProgram, until } from '../test/support/processes.ts';
import { startSandbox, untilCreated } from './sandbox-process.ts';

export interface Round {
  readonly bin: string;
  readonly rows: number;
  readonly kills: number;
  /** Faults of the sandbox, as `--fault` takes them. */
  readonly faults: readonly string[];
  readonly seed: number;
}

export interface Result {
  readonly kills: number;
  readonly runs: number;
  readonly duplicates: number;
  readonly missing: number;
}

const MOST_RUNS = 12;
const IMPORT = ['categories', 'import', 'rows.ndjson', '--json'];

interface Scene {
  readonly bin: string;
  readonly at: Place;
  readonly stateDir: string;
  names: readonly string[];
}

/** Kills an import several times, then runs it to its end. */
export function killRound(round: Round): Promise<Result> {
  return withScene(round, async (scene) => {
    let kills = 0;
    for (let kill = 0; kill < round.kills; kill++) {
      if (await killed(scene)) kills++;
      change(scene, kill);
    }
    return { kills, runs: round.kills + (await finish(scene)), ...(await count(scene)) };
  });
}

/** The fate of a run in one container before a run in another one takes over. */
export type Mishap = 'killed' | 'stopped' | 'none';

/**
 * Runs a round in two containers with separate pid namespaces and clocks 140 s apart. The second run must wait for the
 * first; if the first was killed or stopped, it must take over within 70 s.
 */
export function containerRound(round: Round, mishap: Mishap): Promise<Result & { readonly waitedMs: number }> {
  return withScene(round, async (scene) => {
    const [ahead, behind] = round.seed % 2 === 0 ? ['+70s', '-70s'] : ['-70s', '+70s'];
    const first = startContained(scene, ahead as string);
    const firstEnded = ended(first);
    await untilCreated(scene.at);
    await pause(Math.random() * 500);
    const pid = pidInside(first);
    if (mishap === 'killed') first.kill('SIGKILL');
    if (mishap === 'stopped') process.kill(pid, 'SIGSTOP');
    const since = performance.now();
    const secondEnded = ended(startContained(scene, behind as string));
    const stopped = mishap === 'stopped' ? pause(65_000) : undefined;
    await Promise.race([untilTakenOver(scene.at), secondEnded]);
    const waitedMs = performance.now() - since;
    await stopped;
    if (mishap === 'stopped') process.kill(pid, 'SIGCONT');
    const second = await secondEnded;
    const { code, err } = await firstEnded;
    const expected: Record<Mishap, readonly [number[], number[]]> = {
      // On a busy machine the first run may end before it is killed or stopped.
      killed: [
        [137, 0, 7, 8],
        [0, 7, 8],
      ],
      stopped: [
        [9, 0, 7, 8],
        [0, 7, 8],
      ],
      none: [
        [0, 7, 8],
        [0, 7, 8],
      ],
    };
    const [ofFirst, ofSecond] = expected[mishap];
    if (!ofFirst.includes(code)) throw new Error(`${mishap}: the first run ended with ${code}: ${err}`);
    if (!ofSecond.includes(second.code)) throw new Error(`${mishap}: the second with ${second.code}: ${second.err}`);
    if (code === 9 && !err.includes('taken over')) throw new Error(`the first run says: ${err}`);
    const kills = code === 137 || code === 9 ? 1 : 0;
    return { kills, waitedMs, runs: 2 + (await finish(scene)), ...(await count(scene)) };
  });
}

async function withScene<T>(round: Round, play: (scene: Scene) => Promise<T>): Promise<T> {
  const faults = round.faults.flatMap((fault) => ['--fault', fault]);
  const options = ['--limit', '1000000/1s', '--seed', `${round.seed}`, '--key', KEYS[0], '--key', KEYS[1], ...faults];
  const sandbox = await startSandbox(round.bin, options);
  const at = place({ ...sandbox.env, PETSTORE_API_KEY: KEYS[0] });
  const { dir } = at;
  const stateDir = join(dir, 'state');
  mkdirSync(stateDir);
  const names = [...Array.from({ length: round.rows }, (_, row) => `row ${row}`), 'row 1', 'row 2', 'row 2'];
  const scene = { bin: round.bin, at, stateDir, names };
  write(scene);
  try {
    return await play(scene);
  } finally {
    await sandbox.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

const KEYS = ['sandbox_of_the_import_1', 'sandbox_of_the_import_2'] as const;

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
async function finish({ bin, at }: Scene): Promise<number> {
  for (let runs = 1; runs <= MOST_RUNS; runs++) {
    const { code, err } = await runProgram(bin, at, IMPORT);
    if (code === 0) return runs;
    if (code !== 8 && code !== 7) throw new Error(`exit ${code}: ${err}`);
  }
  throw new Error(`not complete after ${MOST_RUNS} runs`);
}

const LIBFAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1';

function startContained({ bin, at }: Scene, clock: string): ChildProcess {
  const env = { ...at.env, LD_PRELOAD: LIBFAKETIME, FAKETIME: clock, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  const isolate = ['--pid', '--fork', '--kill-child=SIGKILL', ...(clock.startsWith('+') ? ['--mount-proc'] : [])];
  return spawn('unshare', [...isolate, process.execPath, resolve(bin), ...IMPORT], { cwd: at.dir, env });
}

function pidInside({ pid }: ChildProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0]);
}

async function killed({ bin, at }: Scene): Promise<boolean> {
  const child = startProgram(bin, at, IMPORT);
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

async function count({ bin, at, names }: Scene): Promise<{ duplicates: number; missing: number }> {
  const listed = await runProgram(bin, at, ['categories', 'list', '--json', '--max-retries', '30']);
  const surplus = new Map<string, number>();
  const add = (name: string, by: number): unknown => surplus.set(name, (surplus.get(name) ?? 0) + by);
  for (const { name } of JSON.parse(listed.out) as { name: string }[]) add(name, 1);
  // Rows that repeat a name are skipped.
  for (const name of new Set(names)) add(name, -1);
  const counts = [...surplus.values()];
  const sum = (some: readonly number[]): number => some.reduce((total, each) => total + each, 0);
  return { duplicates: sum(counts.filter((each) => each > 0)), missing: -sum(counts.filter((each) => each < 0)) };
}

/** Waits until a run has taken the lock of a dead one: only then its record names that run. */
async function untilTakenOver(at: Place): Promise<void> {
  const dir = join(at.env['PETSTORE_STATE_DIR'] ?? '', 'imports');
  await until(() => {
    const files = existsSync(dir) ? readdirSync(dir, { recursive: true, encoding: 'utf8' }) : [];
    return files.some(
      (file) => file.endsWith('.log') && /"revision":"[^"]/.test(readFileSync(join(dir, file), 'utf8')),
    );
  });
}
