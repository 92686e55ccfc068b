// Imports from random services by users who follow every hint, in virtual time.
import { playRound } from '../test/import/fuzz-round.ts';
import { must, say } from './report.ts';

/** `npm run bench -- import-fuzz [ROUNDS [FIRST_SEED]]`: 10,000 rounds by default; one round prints what happens. */
export async function run([rounds = '10000', first = '1']: string[]): Promise<void> {
  const total = { rounds: 0, runs: 0, altering: 0 };
  const violations: string[] = [];
  for (let seed = Number(first); total.rounds < Number(rounds); seed++) {
    const result = await playRound(seed, rounds === '1' ? say : undefined);
    total.rounds++;
    total.runs += result.runs;
    if (result.alters) total.altering++;
    violations.push(...result.violations.map((what) => `seed ${seed}: ${what}`));
    if (!result.isDone) violations.push(`seed ${seed}: no end`);
  }
  say(`import-fuzz: ${JSON.stringify(total)}: ${violations.length} violations`);
  must(violations.length === 0, violations.join('\n'));
}
