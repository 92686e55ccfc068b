// Imports under the worst: killed again and again with answers lost, under a tight quota, a million rows, a copy by a pipe.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Result } from '../import/kill-round.ts';
import { containerRound, killRound } from '../import/kill-round.ts';
import type { Sandbox } from '../import/processes.ts';
import { petstore, startSandbox } from '../import/processes.ts';

const BIN = process.env['PETSTORE_BIN'] ?? 'bin/petstore.js';

/**
 * `npm run bench -- import [kill ROUNDS | pace | million | copy]`; all of them, with 200 rounds, unless one is named.
 * @param args which part, and its number
 */
export async function run(args: string[]): Promise<void> {
  const [part, number] = args;
  const wanted = (name: string): boolean => part === undefined || part === name;
  if (wanted('kill')) await kills(Number(number ?? 200));
  if (wanted('pace')) await pace();
  if (wanted('million')) million();
  if (wanted('copy')) await copy();
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not met: ${what}`);
}

const FAULTS = ['lost-reply:3', 'truncate:1', 'reset:1', '500:1'];
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
    const sandbox = await startSandbox(BIN, ['--limit', '20/2s', '--json']);
    const at = place(sandbox);
    rows(join(at.dir, 'rows.ndjson'), 100);
    // The sandbox counts from multiples of two seconds.
    await new Promise((resolve) => setTimeout(resolve, 2 * WINDOW_MS + phase - (Date.now() % WINDOW_MS)));
    const since = Date.now();
    const outcome = await petstore(BIN, at, [
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

function place(sandbox: Sandbox): { readonly dir: string; readonly env: Record<string, string> } {
  const dir = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  return {
    dir,
    env: { ...sandbox.env, PETSTORE_STATE_DIR: join(dir, 'state'), PETSTORE_CONFIG_DIR: join(dir, 'config') },
  };
}

function rows(file: string, count: number): void {
  const fd = openSync(file, 'w');
  for (let from = 0; from < count; from += 1000) {
    let text = '';
    for (let at = from; at < Math.min(count, from + 1000); at++) {
      text += `${JSON.stringify({ id: at, name: `category number ${at}`, description: `the description of ${at}, and so on` })}\n`;
    }
    writeSync(fd, text);
  }
}

// The last row is bad: everything is read, nothing is sent.
function million(): void {
  const dir = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  const file = join(dir, 'million.ndjson');
  rows(file, 1_000_000);
  for (const bad of [false, true]) {
    if (bad) writeFileSync(file, '{"name":""}\n', { flag: 'a' });
    const script = `process.on('exit', () => process.stderr.write('\\nRSS ' + Math.round(process.resourceUsage().maxRSS / 1024) + '\\n'));
      process.argv.splice(1, 1, ${JSON.stringify(BIN)}); await import(${JSON.stringify(new URL(`file://${process.cwd()}/${BIN}`).href)});`;
    const since = Date.now();
    const { code, err } = trySync(['--input-type=module', '-e', script, 'x', 'categories', 'import', file], dir);
    const rss = Number(/RSS (\d+)/.exec(err)?.[1]);
    say(`million: 1,000,000 rows checked in ${Date.now() - since} ms, ${rss} MB, exit ${code}`);
    must(rss > 0 && rss < 200, `less than 200 MB: ${err}`);
    must(bad ? code === 2 && err.includes('line 1000001 (row 1000001): name is blank') : code === 3, err);
  }
  rmSync(dir, { recursive: true });
}

function trySync(args: readonly string[], dir: string): { code: number; err: string } {
  const env = { PATH: process.env['PATH'] ?? '', HOME: dir };
  try {
    execFileSync(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    return { code: 0, err: '' };
  } catch (error) {
    const { status, stderr } = error as { status: number; stderr: Buffer };
    return { code: status, err: stderr.toString() };
  }
}

async function copy(): Promise<void> {
  const sandbox = await startSandbox(BIN, ['--limit', '100000/1s', '--json']);
  const other = await startSandbox(BIN, ['--limit', '100000/1s', '--json']);
  const [from, to] = [place(sandbox), place(other)];
  rows(join(from.dir, 'rows.ndjson'), 2000);
  await petstore(BIN, from, ['categories', 'import', 'rows.ndjson', '-q']);
  const listed = await petstore(BIN, from, ['categories', 'list', '--format', 'ndjson']);
  const since = Date.now();
  const copied = await petstore(BIN, to, ['categories', 'import', '-', '--skip-existing', '--json'], listed.out);
  const again = await petstore(
    BIN,
    to,
    ['categories', 'import', '-', '--skip-existing', '--json', '--restart'],
    listed.out,
  );
  const csv = [from, to].map((at) => petstore(BIN, at, ['categories', 'list', '--format', 'csv', '--sort', 'name']));
  const [left, right] = (await Promise.all(csv)).map(({ out }) => out.replace(/^\d+,/gm, ''));
  await Promise.all([sandbox.stop(), other.stop()]);
  const { created } = JSON.parse(copied.out) as { created: unknown[] };
  const { skipped } = JSON.parse(again.out) as { skipped: unknown[] };
  say(
    `copy: ${created.length} categories in ${Date.now() - since} ms; again: ${skipped.length} skipped; lists equal: ${left === right}`,
  );
  must(created.length === 2000 && skipped.length === 2000 && left === right, 'a copy that is equal');
}
