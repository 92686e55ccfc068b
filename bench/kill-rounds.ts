// Kills imports with SIGKILL again and again while responses are lost: no row may be duplicated or missing.
import { resumedElsewhere } from './fleet-imports.ts';
import type { Result } from './kill-round.ts';
import { containerRound, killRound } from './kill-round.ts';
import { forgottenLock, slowService } from './kill-round-lock.ts';
import { BIN, must, say } from './report.ts';

const FAULTS = ['lost-response:3', 'truncate:1', 'reset:1', '500:1'];

/**
 * `npm run bench -- kill-rounds [--rounds N] [--parallel N] [--containers | --state-server | --forget | --slow]`: 200 rounds
 * on one machine or in two containers with clocks 140 s apart, or 50 rounds of 4 kills on two machines, with the state server
 * killed at two of three kills. `--forget`: 20 rounds in which a state server forgets the lock. `--slow`: 10 rounds of 4
 * kills with creates that take up to 9.5 s, on one machine and on two in turn.
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
  const isContained = args.includes('--containers');
  const total = { rounds: 0, kills: 0, stops: 0, runs: 0, longestWaitMs: 0 };
  const since = Date.now();
  let next = 1;
  const player = async (): Promise<void> => {
    while (next <= rounds) {
      const round = next++;
      const result = isContained ? await contained(round, total) : await onOneMachine(round);
      must(result.duplicates === 0 && result.missing === 0, `round ${round}: ${JSON.stringify(result)}`);
      total.runs += result.runs;
      total.kills += result.kills;
      if (++total.rounds % 10 === 0) say(`  ${JSON.stringify(total)}, ${Math.round((Date.now() - since) / 1000)} s`);
    }
  };
  await Promise.all(Array.from({ length: parallel }, player));
  say(`kill rounds: ${JSON.stringify(total)}: 0 twice, 0 missing`);
}

function onOneMachine(round: number): Promise<Result> {
  return killRound({ bin: BIN, rows: 300, kills: 2 + (round % 3), faults: FAULTS, seed: round });
}

async function contained(round: number, total: { stops: number; longestWaitMs: number }): Promise<Result> {
  const mishap = (['killed', 'stopped', 'none'] as const)[round % 3] ?? 'none';
  const faults = [...FAULTS, 'latency=30ms'];
  const result = await containerRound({ bin: BIN, rows: 1500, kills: 1, faults, seed: round }, mishap);
  must(result.waitedMs < 70_000, `round ${round}: ${result.waitedMs} ms`);
  total.longestWaitMs = Math.max(total.longestWaitMs, Math.round(result.waitedMs));
  if (mishap === 'stopped') total.stops += result.kills;
  return result;
}
