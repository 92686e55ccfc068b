// Short worlds with many faults; more with `npm run bench -- simulate --worlds 5000` (docs/simulation.md).
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';
import { FINDINGS } from './findings.ts';
import { MUTATIONS } from './mutations.ts';
import { SEEDS } from './seeds.ts';
import type { Findings } from './simulator.ts';
import { Simulator } from './simulator.ts';

const FAULTS_OF_CREATES =
  'no-connection lost-request lost-response late-request slow silent truncated doubled refuse error-before error-after ' +
  'unavailable-after accepted-late gateway-timeout-late false-created garbage rejects kill kill-writing suspend interrupt ' +
  'new-key clock-jump disk-full server-down server-flush server-evict server-restart';

let simulator: Simulator;
let findings: Findings;

beforeAll(async () => {
  simulator = await Simulator.build(tempDir());
  findings = await simulator.seeds(SEEDS);
}, 120_000);

describe('a simulated world', () => {
  test('violates no invariant in 200 short worlds with faults', () => {
    expect(findings.found).toEqual([]);
    expect(findings.worlds).toBe(200);
    expect(findings.commands).toBeGreaterThan(1000);
  });

  test('injects each fault of a create into an import with a create in flight', () => {
    const met = Object.keys(findings.coverage).filter((cell) => /× create.* of import$/.test(cell));
    const faults = met.map((cell) => cell.split(' ')[0]);
    expect(faults).toEqual(expect.arrayContaining(FAULTS_OF_CREATES.split(' ')));
  });

  test('violates no invariant in the worlds that found a defect', async () => {
    const seeds = FINDINGS.flatMap(({ seed }) => seed ?? []);
    expect((await simulator.seeds(seeds)).found).toEqual([]);
  });

  test('has only mutations whose text occurs once in the source', () => {
    const all = [...MUTATIONS, ...FINDINGS.map(({ undone }) => undone)];
    expect(all.filter(({ file, from }) => readFileSync(file, 'utf8').split(from).length !== 2)).toEqual([]);
  });

  test('is reproducible from its seed', async () => {
    const [first, second] = [await simulator.world(29), await simulator.world(29)];
    expect(first.trace.length).toBeGreaterThan(20);
    expect(second.trace).toEqual(first.trace);
  });

  test('ends after the given number of steps', async () => {
    expect((await simulator.world(29, 12)).steps).toBe(12);
  });

  test('loses no acknowledged create of the sandbox, whenever its processes are killed', async () => {
    const { answered, wrong } = await simulator.sandboxes(1, 50);
    expect(wrong).toEqual([]);
    expect(answered).toBeGreaterThan(1000);
  });

  test('shows a planted violation in a smaller world, with the preceding steps', async () => {
    // The mutation fetches lists while creates are on their way.
    const from = 'await sleepLong(this.#clock, this.busyMs, signal);';
    const mutation = { file: 'src/import/lock.ts', from, to: '' };
    const broken = await Simulator.build(tempDir(), mutation);
    const { found } = await broken.worlds(1, 100);
    const planted = found.find(({ what }) => /exists \d+ times|not done/.test(what));
    const { violations, smallest, trace } = await broken.world(planted?.seed ?? 0);
    expect(violations[0]?.what).toMatch(/exists \d+ times|not done/);
    expect(smallest?.trace.at(-1)).toContain('!!!');
    expect(smallest?.trace.length).toBeLessThan(trace.length);
  }, 120_000);
});
