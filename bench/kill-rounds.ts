// Kills imports with SIGKILL again and again while responses are lost: no row may be duplicated or missing.
import { killRound } from './kill-round.ts';
import { forgottenLock, slowService } from './kill-round-lock.ts';
import { resumedElsewhere } from './kill-round-machines.ts';
import { must, say } from './report.ts';

/**
 * `npm run bench -- kill-rounds [--rounds N] [--parallel N] [--state-server | --forget | --slow]`: 200 rounds on one
 * machine, or 50 rounds of 4 kills on two machines, with the state server killed at two of three kills. `--forget`: 20 rounds
 * in which a state server forgets the lock. `--slow`: 10 rounds of 4 kills with creates that take up to 9.5 s, on one machine
 * and on two in turn.
 */
export async function run(args: string[]): Promise<void> {
  const number = (option: string): number | undefined =>
    args.includes(option) ? Number(args[args.indexOf(option) + 1]) : undefined;
  const isOnServer = args.includes('--state-server');
  const rounds = number('--rounds') ?? (isOnServer ? 50 : 200);
  const parallel = number('--parallel') ?? 4;
  if (isOnServer) return resumedElsewhere(rounds, parallel);
  if (args.includes('--forget')) {
    for (let round = 0; round < (number('--rounds') ?? 20); round++)
      say(`forgotten lock, round ${round}: 0 twice, exit codes ${(await forgottenLock(round)).codes.join(' and ')}`);
    return;
  }
  if (args.includes('--slow')) {
    const slow = async (round: number): Promise<void> =>
      say(`slow service, round ${round}: ${await slowService(round, 4)} kills, 0 twice, 0 missing`);
    await Promise.all(Array.from({ length: number('--rounds') ?? 10 }, (_, round) => slow(round)));
    return;
  }
  const total = { rounds: 0, kills: 0, runs: 0 };
  const since = Date.now();
  let next = 1;
  const player = async (): Promise<void> => {
    while (next <= rounds) {
      const round = next++;
      const result = await killRound(round);
      must(result.duplicates === 0 && result.missing === 0, `round ${round}: ${JSON.stringify(result)}`);
      total.runs += result.runs;
      total.kills += result.kills;
      if (++total.rounds % 10 === 0) say(`  ${JSON.stringify(total)}, ${Math.round((Date.now() - since) / 1000)} s`);
    }
  };
  await Promise.all(Array.from({ length: parallel }, player));
  say(`kill rounds: ${JSON.stringify(total)}: 0 twice, 0 missing`);
}
