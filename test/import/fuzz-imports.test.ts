// Random services and users who follow every hint: no row twice, none missing.
import { expect, test } from 'vitest';
import { playRound } from './fuzz-round.ts';

// `FUZZ_SCALE=20 npx vitest run test/import/fuzz-imports.test.ts` plays 20 times as many.
const ROUNDS = 600 * Number(process.env['FUZZ_SCALE'] ?? 1);

test('a user who follows every hint gets every row exactly once, whatever the service loses or delays', async () => {
  const violations: string[] = [];
  for (let seed = 1; seed <= ROUNDS; seed++) {
    for (const what of (await playRound(seed)).violations) violations.push(`seed ${seed}: ${what}`);
  }
  expect(violations).toEqual([]);
});
