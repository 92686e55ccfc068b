// The entry point of the bundled simulator: `worlds FROM TO` or `world SEED [planted]`; prints one JSON document.
import { removeDisks } from './disks.ts';
import type { Fault } from './faults.ts';
import type { WorldPlan, WorldResult } from './world.ts';
import { planWorld, runWorld } from './world.ts';

export type Findings = Awaited<ReturnType<typeof runWorlds>>;
export type OneWorld = Awaited<ReturnType<typeof runOne>>;

/** `coverage` counts how often each fault met each state, for example `kill × create in flight of import`. */
async function runWorlds(from: number, to: number) {
  const found: { readonly seed: number; readonly step: number; readonly what: string }[] = [];
  const coverage: Record<string, number> = {};
  const sums = { worlds: 0, steps: 0, commands: 0, virtualHours: 0 };
  const startedAt = performance.now();
  for (let seed = from; seed <= to; seed++) {
    const result = await runWorld(planWorld(seed));
    const [first] = result.violations;
    if (first) found.push({ seed, ...first });
    for (const [cell, count] of result.coverage) coverage[cell] = (coverage[cell] ?? 0) + count;
    sums.worlds++;
    sums.steps += result.steps;
    sums.commands += result.commands;
    sums.virtualHours += result.lasted / 3_600_000;
  }
  return { ...sums, seconds: (performance.now() - startedAt) / 1000, found, coverage };
}

/** A defect of the service that every world must show, to check the invariants. */
const PLANTED: Fault = { kind: 'created-twice', at: 0, moment: 'create', amount: 1000 };

/** Runs one world, then without each fault that a violation of the same kind does not need. */
async function runOne(seed: number, planted: readonly Fault[]) {
  const drawn = planWorld(seed);
  let plan: WorldPlan = { ...drawn, faults: [...planted, ...drawn.faults] };
  const { violations, trace, steps } = await runWorld(plan);
  let smallest = { violations, trace };
  for (const fault of violations.length > 0 ? plan.faults : []) {
    const fewer = { ...plan, faults: plan.faults.filter((one) => one !== fault) };
    const result = await runWorld(fewer);
    if (kindOf(result) === kindOf(smallest)) [plan, smallest] = [fewer, result];
  }
  return { steps, violations, faults: plan.faults, trace: smallest.trace };
}

// Violations of one kind begin with the same words, apart from names and numbers.
function kindOf({ violations }: Pick<WorldResult, 'violations'>): string | undefined {
  return violations[0]?.what.replace(/"[^"]*"|\d+(?:\.\d+)?/g, '…').slice(0, 20);
}

const [what, ...args] = process.argv.slice(2);
const [first = 0, second = 0] = args.map(Number);
const document = await (what === 'worlds' ? runWorlds(first, second) : runOne(first, args[1] ? [PLANTED] : []));
removeDisks();
process.stdout.write(`${JSON.stringify(document)}\n`, () => process.exit());
