// The entry point of the bundled simulator.
import { removeDisks } from './disks.ts';
import type { Fault } from './faults.ts';
import type { WorldPlan, WorldResult } from './world.ts';
import { planWorld, runWorld } from './world.ts';

/** `injected` counts the injections of each kind of fault. */
export async function runWorlds(seeds: readonly number[]) {
  const found: { readonly seed: number; readonly step: number; readonly what: string }[] = [];
  const injected: Record<string, number> = {};
  const sums = { worlds: 0, steps: 0, commands: 0, virtualHours: 0 };
  const startedAt = performance.now();
  for (const seed of seeds) {
    const result = await runWorld(planWorld(seed));
    const [first] = result.violations;
    if (first) found.push({ seed, ...first });
    for (const [kind, count] of Object.entries(result.injected)) injected[kind] = (injected[kind] ?? 0) + count;
    sums.worlds++;
    sums.steps += result.steps;
    sums.commands += result.commands;
    sums.virtualHours += result.lasted / 3_600_000;
  }
  removeDisks();
  return { ...sums, seconds: (performance.now() - startedAt) / 1000, found, injected };
}

/** A defect of the service, to check that the invariants detect it. */
export const CREATED_TWICE: Fault = { kind: 'created-twice', at: 0, moment: 'create', amount: 1000 };

/** Runs one world with further faults, then without each fault that a violation of the same kind does not need. */
export async function runOne(seed: number, further: readonly Fault[] = []) {
  const drawn = planWorld(seed);
  let plan: WorldPlan = { ...drawn, faults: [...further, ...drawn.faults] };
  const { violations, trace, steps } = await runWorld(plan);
  let smallest = { violations, trace };
  for (const fault of violations.length > 0 ? plan.faults : []) {
    const fewer = { ...plan, faults: plan.faults.filter((one) => one !== fault) };
    const result = await runWorld(fewer);
    if (kindOf(result) === kindOf(smallest)) [plan, smallest] = [fewer, result];
  }
  removeDisks();
  return { steps, violations, faults: plan.faults, trace: smallest.trace };
}

// Violations of one kind begin with the same words, apart from names and numbers.
function kindOf({ violations }: Pick<WorldResult, 'violations'>): string | undefined {
  return violations[0]?.what.replace(/"[^"]*"|\d+(?:\.\d+)?/g, '…').slice(0, 20);
}
