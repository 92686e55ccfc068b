// Simulated worlds (docs/simulation.md): `--seed N [--steps M]` repeats one, `--worlds N` runs many, `--mutations` looks
// for mutations of the program that the worlds of `npm test` do not detect, `--findings` verifies the seeds of findings.ts,
// `--choose` chooses those of seeds.ts.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FINDINGS } from '../test/simulation/findings.ts';
import { MUTATIONS } from '../test/simulation/mutations.ts';
import { NOTICING, SEEDS } from '../test/simulation/seeds.ts';
import type { Findings } from '../test/simulation/simulator.ts';
import { Simulator } from '../test/simulation/simulator.ts';

/** Far longer than 200 worlds take, so that a mutation that causes an endless loop is detected. */
const LONGEST_MS = 120_000;
const PORTION = 250;
const SHOWN = 60;

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const directory = (): string => mkdtempSync(join(tmpdir(), 'petstore-simulate-'));

export async function run(args: readonly string[]): Promise<void> {
  const number = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: number,
      steps: number,
      worlds: number,
      mutations: { type: 'boolean' },
      findings: { type: 'boolean' },
      choose: { type: 'boolean' },
    },
  });
  if (values.mutations) await mutate();
  else if (values.choose) await chooseSeeds(Number(values.worlds ?? 5000));
  else if (values.findings) await verifyFindings(Number(values.worlds ?? 3000));
  else if (values.seed !== undefined) await repeat(Number(values.seed), Number(values.steps ?? 0));
  else await search(Number(values.worlds ?? 1000));
}

/** Prints the seeds for test/simulation/seeds.ts. */
async function chooseSeeds(worlds: number): Promise<void> {
  print((await (await Simulator.build(directory())).choose(1, worlds, SEEDS.length, NOTICING)).seeds.join(', '));
}

async function repeat(seed: number, steps: number): Promise<void> {
  const { violations, trace, smallest, steps: taken } = await (await Simulator.build(directory())).world(seed, steps);
  print(trace.slice(violations.length > 0 ? -SHOWN : 0).join('\n'));
  print(`\nseed ${seed}: ${taken} steps, ${violations.length === 0 ? 'no violation' : violations[0]?.what}`);
  if (!smallest) return;
  print(`\nThe smallest world that goes wrong in the same way, ${JSON.stringify(smallest.users)}\n`);
  for (const fault of smallest.faults) print(`  ${JSON.stringify(fault)}`);
  print(`\n${smallest.trace.join('\n')}`);
}

async function search(worlds: number): Promise<void> {
  const simulator = await Simulator.build(directory());
  const parts: Findings[] = [];
  for (let from = 1; from <= worlds; from += PORTION) {
    const part = await simulator.worlds(from, Math.min(worlds, from + PORTION - 1));
    parts.push(part);
    for (const { seed, step, what } of part.found) print(`seed ${seed}, step ${step}: ${what}`);
  }
  const sum = (field: 'worlds' | 'steps' | 'commands' | 'virtualHours' | 'seconds'): number =>
    parts.reduce((total, part) => total + part[field], 0);
  print(coverageTable(parts));
  const found = parts.reduce((total, part) => total + part.found.length, 0);
  print(
    `${sum('worlds')} worlds, ${sum('commands')} commands, ${sum('steps')} steps, ${sum('virtualHours').toFixed(0)} virtual hours in ` +
      `${sum('seconds').toFixed(0)} s (${(sum('seconds') / sum('worlds')).toFixed(3)} s per world): ${found} violations`,
  );
}

/** One line for each fault: the states in which it occurred, and how often. */
function coverageTable(parts: readonly Findings[]): string {
  const met = new Map<string, Map<string, number>>();
  for (const [cell, count] of parts.flatMap(({ coverage }) => Object.entries(coverage))) {
    const [fault = '', state = ''] = cell.split(' × ');
    const states = met.get(fault) ?? new Map<string, number>();
    met.set(fault, states.set(state, count + (states.get(state) ?? 0)));
  }
  const lines = [...met].sort().map(([fault, states]) => {
    const most = [...states].sort((a, b) => b[1] - a[1]);
    return `${fault.padEnd(22)} ${most.map(([state, count]) => `${state} ${count}`).join(', ')}`;
  });
  return lines.join('\n');
}

async function mutate(): Promise<void> {
  let noticed = 0;
  for (const [at, mutation] of MUTATIONS.entries()) {
    const simulator = await Simulator.build(directory(), mutation);
    const what = await simulator.seeds(SEEDS, { stop: true, timeoutMs: LONGEST_MS }).then(
      ({ found: [first] }) => first && `seed ${first.seed}: ${first.what}`,
      () => 'a world crashes, or does not end',
    );
    if (what !== undefined) noticed++;
    const { file, from, to } = mutation;
    print(
      `${at + 1}. ${what === undefined ? 'SURVIVED' : 'noticed'} ${file}: ${from} -> ${to || '(nothing)'}\n   ${what ?? ''}`,
    );
  }
  print(`${noticed} of ${MUTATIONS.length} mutations noticed`);
}

// Without its fix, the world of a finding must fail; otherwise another one is looked for.
async function verifyFindings(worlds: number): Promise<void> {
  for (const { what, seed, undone } of FINDINGS) {
    const simulator = await Simulator.build(directory(), undone);
    const isHeld = seed !== undefined && (await simulator.seeds([seed])).found.length > 0;
    const [first] = isHeld ? [] : (await simulator.worlds(1, worlds, { stop: true })).found;
    print(`${isHeld ? `seed ${seed} fails` : first ? `NEW SEED ${first.seed}: ${first.what}` : 'NO SEED'}  ${what}`);
  }
}
