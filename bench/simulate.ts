// Simulated worlds (docs/simulation.md): `--worlds N [--from SEED]` runs many, `--seed N` repeats one.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Findings } from '../test/simulation/main.ts';
import { Simulator } from '../test/simulation/simulator.ts';
import { must, say } from './report.ts';

const PORTION = 250;
const SHOWN = 60;

export async function run(args: readonly string[]): Promise<void> {
  const number = { type: 'string' } as const;
  const options = { seed: number, worlds: number, from: number };
  const { values } = parseArgs({ args: [...args], options });
  const simulator = await Simulator.build(mkdtempSync(join(tmpdir(), 'petstore-simulate-')));
  if (values.seed !== undefined) await repeat(simulator, Number(values.seed));
  else await search(simulator, Number(values.from ?? 1), Number(values.worlds ?? 1000));
}

async function repeat(simulator: Simulator, seed: number): Promise<void> {
  const { violations, faults, trace, steps } = await simulator.world(seed);
  say(trace.slice(violations.length > 0 ? -SHOWN : 0).join('\n'));
  say(`\nseed ${seed}: ${steps} steps, ${violations[0]?.what ?? 'no violation'}`);
  for (const fault of faults) say(`  ${JSON.stringify(fault)}`);
}

async function search(simulator: Simulator, first: number, worlds: number): Promise<void> {
  const parts: Findings[] = [];
  const end = first + worlds;
  for (let from = first; from < end; from += PORTION) {
    const part = await simulator.worlds(from, Math.min(end, from + PORTION) - 1);
    parts.push(part);
    for (const { seed, step, what } of part.found) say(`seed ${seed}, step ${step}: ${what}`);
  }
  const sum = (field: 'worlds' | 'steps' | 'commands' | 'virtualHours' | 'seconds'): number =>
    parts.reduce((total, part) => total + part[field], 0);
  say(coverageTable(parts));
  const hours = sum('virtualHours').toFixed(0);
  say(`${sum('worlds')} worlds, ${sum('commands')} commands, ${sum('steps')} steps, ${hours} virtual hours`);
  say(`${sum('seconds').toFixed(0)} s, ${(sum('seconds') / sum('worlds')).toFixed(3)} s per world`);
  must(
    parts.every(({ found }) => found.length === 0),
    'no world violates an invariant',
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
