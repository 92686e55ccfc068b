// Short worlds with many faults; a workflow runs 300 each night, and `npm run bench -- simulate` more (docs/architecture.md).
import { beforeAll, expect, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';
import { KINDS } from './faults.ts';
import type { Simulator } from './simulator.ts';
import { loadSimulator } from './simulator.ts';

/** 46 injects an error before a create; 97 and 180 detected planted defects of the log that 1 to 78 did not. */
const SEEDS = [...Array.from({ length: 31 }, (_, at) => at + 1), 46, 97, 180];

let simulator: Simulator;

beforeAll(async () => {
  simulator = await loadSimulator(tempDir());
});

test('no invariant is violated in 34 short simulated worlds that together inject every kind of fault', async () => {
  const { found, commands, injected } = await simulator.runWorlds(SEEDS);
  expect(found).toEqual([]);
  expect(commands).toBeGreaterThan(200);
  expect(new Set(Object.keys(injected))).toEqual(KINDS);
  // The timeout only ends a hang, because the duration depends on the load of the machine.
}, 900_000);

test('a simulated world is reproducible from its seed', async () => {
  const [first, second] = [await simulator.runOne(29), await simulator.runOne(29)];
  expect(first.trace.length).toBeGreaterThan(20);
  expect(second.trace).toEqual(first.trace);
});

test('the report of a violation names only the fault that causes it, and its trace ends with the violation', async () => {
  const { violations, faults, trace } = await simulator.runOne(2, [simulator.CREATED_TWICE]);
  expect(violations[0]?.what).toMatch(/exists \d+ times/);
  expect(faults).toMatchObject([{ kind: 'created-twice' }]);
  expect(trace.at(-1)).toContain('!!!');
});
