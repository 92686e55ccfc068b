// Short worlds with many faults; more with `npm run bench -- simulate --worlds 5000` (docs/simulation.md).
import { beforeAll, describe, expect, test } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';
import { Simulator } from './simulator.ts';

let simulator: Simulator;

beforeAll(async () => {
  simulator = await Simulator.build(tempDir());
});

describe('a simulated world', () => {
  test('keeps every promise in 200 short worlds full of faults', async () => {
    const { found, worlds, commands } = await simulator.worlds(1, 200);
    expect(found).toEqual([]);
    expect(worlds).toBe(200);
    expect(commands).toBeGreaterThan(1000);
  }, 60_000);

  test('is repeated exactly by its seed', async () => {
    const [first, second] = [await simulator.world(29), await simulator.world(29)];
    expect(first.trace.length).toBeGreaterThan(20);
    expect(second.trace).toEqual(first.trace);
  });

  test('ends after the given number of steps', async () => {
    expect((await simulator.world(29, 12)).steps).toBe(12);
  });

  test('lets each fault of a create meet an import with a create in flight', async () => {
    const { coverage } = await simulator.worlds(1, 200);
    const met = new Set(
      Object.keys(coverage).flatMap((cell) => (/create.* of import$/.test(cell) ? [cell.split(' ')[0]] : [])),
    );
    expect([...met]).toEqual(expect.arrayContaining(FAULTS_OF_CREATES));
  }, 60_000);

  test('shows a planted violation with the steps before it, in a smaller world', async () => {
    const planted = {
      file: 'src/import/run.ts',
      from: 'if (!fromCache && missingFrom(expected, listed).length === 0) return listed;',
      to: 'return listed;',
    };
    const broken = await Simulator.build(tempDir(), planted);
    const { found } = await broken.worlds(1, 1000, { stop: true });
    const { violations, smallest } = await broken.world(found[0]?.seed ?? 0);
    expect(violations[0]?.what).toMatch(/is there \d+ times/);
    expect(smallest?.trace.at(-1)).toContain('!!!');
    expect(smallest?.faults.length).toBeLessThan(4);
  }, 60_000);
});

const FAULTS_OF_CREATES = [
  'no-connection',
  'lost-request',
  'lost-response',
  'late-request',
  'slow',
  'silent',
  'truncated',
  'doubled',
  'refuse',
  'error-before',
  'error-after',
  'unavailable-after',
  'accepted-late',
  'gateway-timeout-late',
  'false-created',
  'garbage',
  'rejects',
  'kill',
  'kill-writing',
  'suspend',
  'interrupt',
  'new-key',
  'clock-jump',
  'disk-full',
];
