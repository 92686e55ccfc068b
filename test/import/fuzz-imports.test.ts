// Random services and users who follow every hint: no row twice, none missing (`npm run bench -- import fuzz` plays more).
import { expect, test } from 'vitest';
import { playRound } from './fuzz-round.ts';

const ROUNDS = 600;

test('a user who follows every hint gets every row exactly once, whatever the service loses or delays', async () => {
  const violations: string[] = [];
  for (let seed = 1; seed <= ROUNDS; seed++) {
    for (const what of (await playRound(seed)).violations) violations.push(`seed ${seed}: ${what}`);
  }
  expect(violations).toEqual([]);
});
