// A run that reports completion has created no row twice and missed none, whatever happened before.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PetstoreError } from '../../src/errors.ts';
import { mutated } from '../support/mutations.ts';
import { FakeImport, named } from './fake-service.ts';
import { CUT_VIEWS, playRound } from './simulation.ts';

// More with FUZZ_SCALE=20.
const SCALE = Number(process.env['FUZZ_SCALE'] ?? 1);
const ROUNDS = 100 * SCALE;

test('a complete import misses no row and has none twice, unless a list was cut off, in rounds of random faults and edits', async () => {
  const counts = { complete: 0, crashes: 0, runs: 0, reported: 0, 'twice with a list cut off without evidence': 0 };
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const ending = await playRound(seed);
    expect(ending.missing, JSON.stringify(ending)).toEqual([]);
    if (!CUT_VIEWS.includes(ending.view)) expect(ending.twice, JSON.stringify(ending)).toEqual([]);
    else if (ending.twice.length > 0) counts['twice with a list cut off without evidence']++;
    counts.complete += ending.complete ? 1 : 0;
    counts.reported += ending.reported ? 1 : 0;
    counts.crashes += ending.crashes;
    counts.runs += ending.runs;
  }
  if (SCALE > 1) process.stdout.write(`${JSON.stringify({ rounds: ROUNDS, ...counts })}\n`);
  expect(counts.complete).toBeGreaterThan(ROUNDS * 0.7);
}, 600_000);

const ROWS = named('a', 'b', 'c', 'd', 'e');

function journalIn(stateDir: string): string {
  const dir = join(stateDir, 'imports');
  return join(dir, readdirSync(dir)[0] as string);
}

test('an import with a mutated journal creates no row twice, and a damaged journal stays unchanged', async () => {
  const first = new FakeImport(ROWS);
  first.service.add({ name: 'old' });
  first.service.fates.push('ok', 'lost', 'rejected', 'crash');
  await first.run({ concurrency: 2 });
  const original = readFileSync(journalIn(first.stateDir), 'utf8');
  const counts = { resumed: 0, damaged: 0 };
  await fc.assert(
    fc.asyncProperty(mutated([original]), async (bytes) => {
      const it = new FakeImport(ROWS);
      it.service.lists++;
      await it.run({ rows: [] });
      for (const category of first.service.categories) it.service.add(category);
      const path = journalIn(it.stateDir);
      writeFileSync(path, bytes);
      const result = await it.run({}, 'dead').catch((error: unknown) => error);
      if (result instanceof PetstoreError) {
        expect(result.kind).toMatch(/^(?:storage|service)$/);
        if (result.kind === 'storage') expect(readFileSync(path).equals(bytes)).toBe(true);
        counts.damaged++;
      } else counts.resumed++;
      const names = it.service.categories.map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      rmSync(it.stateDir, { recursive: true });
    }),
    { numRuns: 300 * SCALE },
  );
  expect(Math.min(counts.resumed, counts.damaged)).toBeGreaterThan(20);
}, 120_000);
