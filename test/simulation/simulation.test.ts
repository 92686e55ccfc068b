// Short worlds with many faults; more with `npm run bench -- simulate --worlds 5000` (docs/simulation.md).
import { beforeAll, expect, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';
import type { Findings } from './main.ts';
import { Simulator } from './simulator.ts';

const FAULTS_OF_CREATES =
  'no-connection lost-request lost-response late-request slow silent truncated doubled refuse error-before error-after ' +
  'unavailable-after accepted-late gateway-timeout-late false-created garbage rejects kill kill-writing interrupt ' +
  'kill-rotating disk-full clock-jump server-down server-hang server-flush server-rollback';

let simulator: Simulator;
let findings: readonly Findings[];

beforeAll(async () => {
  simulator = await Simulator.build(tempDir());
  // 126 and 136 are the first worlds in which `error-before` and `server-rollback` meet an import.
  findings = [await simulator.worlds(1, 78), await simulator.worlds(126, 126), await simulator.worlds(136, 136)];
  // Ends only a hang: the time depends on the load of the machine.
}, 900_000);

test('no invariant is violated in 80 short worlds with faults', () => {
  expect(findings.flatMap(({ found }) => found)).toEqual([]);
  const sum = (field: 'worlds' | 'commands'): number => findings.reduce((total, one) => total + one[field], 0);
  expect(sum('worlds')).toBe(80);
  expect(sum('commands')).toBeGreaterThan(500);
});

test('simulated worlds inject each fault of a create into an import with a create in flight', () => {
  const met = findings
    .flatMap(({ coverage }) => Object.keys(coverage))
    .filter((cell) => /× create.* of import$/.test(cell));
  expect(met.map((cell) => cell.split(' ')[0])).toEqual(expect.arrayContaining(FAULTS_OF_CREATES.split(' ')));
});

test('a simulated world is reproducible from its seed', async () => {
  const [first, second] = [await simulator.world(29), await simulator.world(29)];
  expect(first.trace.length).toBeGreaterThan(20);
  expect(second.trace).toEqual(first.trace);
});

test('a simulated world shows a planted violation, with the one fault that it needs and the preceding steps', async () => {
  const { violations, faults, trace } = await simulator.world(2, true);
  expect(violations[0]?.what).toMatch(/exists \d+ times/);
  expect(faults).toMatchObject([{ kind: 'created-twice' }]);
  expect(trace.at(-1)).toContain('!!!');
});
