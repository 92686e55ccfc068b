// The entry point of the bundled simulator: `worlds FROM TO [stop]`, `seeds N… [stop]`, `choose FROM TO COUNT WANTED…`, `world SEED STEPS`, or `sandboxes FROM TO`; prints one JSON document.
import { fileURLToPath } from 'node:url';
import type { Candidate } from './choose.ts';
import { candidate, choose } from './choose.ts';
import { runSandbox } from './sandbox.ts';
import { shrink } from './shrink.ts';
import { planWorld, runWorld } from './world.ts';

/** The number of lines to print from the end of a trace. */
const SHOWN = 60;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [what, ...args] = process.argv.slice(2);
  const [first = 0, second = 0] = args.map(Number);
  const runs: Readonly<Record<string, () => Promise<object>>> = {
    worlds: () => runWorlds(range(first, second), args.includes('stop')),
    seeds: () => runWorlds(args.filter((arg) => arg !== 'stop').map(Number), args.includes('stop')),
    choose: () => chooseWorlds(first, second, Number(args[2]), args.slice(3).map(Number)),
    world: () => runOne(first, second),
    sandboxes: () => runSandboxes(first, second),
  };
  const document = await runs[what ?? '']?.();
  process.stdout.write(`${JSON.stringify(document)}\n`, () => process.exit());
}

async function runWorlds(seeds: Iterable<number>, stopsAtFirst: boolean): Promise<object> {
  const found: { readonly seed: number; readonly step: number; readonly what: string }[] = [];
  const coverage = new Map<string, number>();
  const sums = { worlds: 0, steps: 0, commands: 0, virtualHours: 0 };
  const startedAt = performance.now();
  for (const seed of seeds) {
    if (stopsAtFirst && found.length > 0) break;
    const result = await runWorld(planWorld(seed));
    const [first] = result.violations;
    if (first) found.push({ seed, ...first });
    for (const [cell, count] of result.coverage) coverage.set(cell, (coverage.get(cell) ?? 0) + count);
    sums.worlds++;
    sums.steps += result.steps;
    sums.commands += result.commands;
    sums.virtualHours += result.lasted / 3_600_000;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  return { ...sums, seconds, found, coverage: Object.fromEntries([...coverage].sort()) };
}

async function chooseWorlds(from: number, to: number, count: number, wanted: readonly number[]): Promise<object> {
  const candidates: Candidate[] = [];
  for (const seed of range(from, to)) candidates.push(candidate(await runWorld(planWorld(seed))));
  return { seeds: choose(candidates, count, wanted) };
}

function* range(from: number, to: number): Generator<number> {
  for (let seed = from; seed <= to; seed++) yield seed;
}

async function runOne(seed: number, steps: number): Promise<object> {
  const result = await runWorld(planWorld(seed), steps || undefined);
  const smallest = result.violations.length > 0 ? await shrink(result.plan) : undefined;
  return {
    seed,
    steps: result.steps,
    violations: result.violations,
    trace: result.trace,
    smallest: smallest && {
      faults: smallest.plan.faults,
      users: smallest.plan.users,
      trace: smallest.trace.slice(-SHOWN),
    },
  };
}

async function runSandboxes(from: number, to: number): Promise<object> {
  const sums = { answered: 0, wrong: [] as string[] };
  for (let seed = from; seed <= to; seed++) {
    const { answered, wrong } = await runSandbox(seed);
    sums.answered += answered;
    sums.wrong.push(...wrong.map((name) => `seed ${seed}: ${name}`));
  }
  return sums;
}

export { planWorld, runWorld };
