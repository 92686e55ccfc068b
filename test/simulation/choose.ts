// Chooses the worlds of `npm test` from many: together they meet the most different states for their steps.
import type { WorldResult } from './world.ts';

/** A command costs about as much time as this many steps. */
const STEPS_PER_COMMAND = 250;
const STEPS_PER_WORLD = 1000;

export interface Candidate {
  readonly seed: number;
  readonly cost: number;
  /** Faults in states, pairs of faults, and the endings of commands, alone and with each fault. */
  readonly met: readonly string[];
}

export function candidate({ plan, steps, commands, coverage, endings }: WorldResult): Candidate {
  const kinds = [...new Set([...coverage.keys()].map((cell) => cell.split(' ')[0] as string))].sort();
  const pairs = kinds.flatMap((one, at) => kinds.slice(at + 1).map((other) => `${one} + ${other}`));
  const ends = [...endings].flatMap((ending) => [ending, ...kinds.map((kind) => `${ending} + ${kind}`)]);
  const cost = STEPS_PER_WORLD + steps + STEPS_PER_COMMAND * commands;
  return { seed: plan.seed, cost, met: [...coverage.keys(), ...pairs, ...ends] };
}

/**
 * Repeatedly takes the world that adds most to what the chosen ones met, in relation to its cost.
 * @param wanted seeds that are chosen in any case
 */
export function choose(candidates: readonly Candidate[], count: number, wanted: readonly number[]): number[] {
  const left = new Set(candidates);
  const times = new Map<string, number>();
  const gain = ({ cost, met }: Candidate): number =>
    met.reduce((sum, state) => sum + 1 / (1 + (times.get(state) ?? 0)) ** 2, 0) / cost;
  const chosen: number[] = [];
  const take = (one: Candidate): void => {
    left.delete(one);
    chosen.push(one.seed);
    for (const state of one.met) times.set(state, 1 + (times.get(state) ?? 0));
  };
  for (const one of candidates) if (wanted.includes(one.seed)) take(one);
  while (chosen.length < count && left.size > 0)
    take([...left].reduce((one, other) => (gain(other) > gain(one) ? other : one)));
  return chosen.sort((a, b) => a - b);
}
