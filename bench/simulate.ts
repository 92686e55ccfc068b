// Simulated worlds (docs/architecture.md): `--worlds N [--from SEED]` runs N worlds, `--seed N` repeats one.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Simulator } from '../test/simulation/simulator.ts';
import { loadSimulator } from '../test/simulation/simulator.ts';
import { must, say } from './report.ts';

const SHOWN = 60;

export async function run(args: readonly string[]): Promise<void> {
  const number = { type: 'string' } as const;
  const options = { seed: number, worlds: number, from: number };
  const { values } = parseArgs({ args: [...args], options });
  const simulator = await loadSimulator(mkdtempSync(join(tmpdir(), 'petstore-simulate-')));
  if (values.seed !== undefined) await repeat(simulator, Number(values.seed));
  else await search(simulator, Number(values.from ?? 1), Number(values.worlds ?? 1000));
}

async function repeat(simulator: Simulator, seed: number): Promise<void> {
  const { violations, faults, trace, steps } = await simulator.runOne(seed);
  say(trace.slice(violations.length > 0 ? -SHOWN : 0).join('\n'));
  say(`\nseed ${seed}: ${steps} steps, ${violations[0]?.what ?? 'no violation'}`);
  for (const fault of faults) say(`  ${JSON.stringify(fault)}`);
}

async function search(simulator: Simulator, first: number, count: number): Promise<void> {
  const seeds = Array.from({ length: count }, (_, at) => first + at);
  const { found, injected, worlds, commands, steps, virtualHours, seconds } = await simulator.runWorlds(seeds);
  for (const { seed, step, what } of found) say(`seed ${seed}, step ${step}: ${what}`);
  for (const [kind, times] of Object.entries(injected).sort()) say(`${kind.padEnd(22)} ${times}`);
  say(`${worlds} worlds, ${commands} commands, ${steps} steps, ${virtualHours.toFixed(0)} virtual hours`);
  say(`${seconds.toFixed(0)} s, ${(seconds / worlds).toFixed(3)} s per world`);
  must(found.length === 0, 'no world violates an invariant');
}
