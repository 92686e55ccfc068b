// Counts the duplicates of creates whose response was lost.
import type { Peer, StartWorker } from './limits-peers.ts';
import { runRace } from './limits-race.ts';
import { say } from './report.ts';

const FAULTS = ['rst', 'fin', '502', '408', 'truncate'] as const;

/**
 * Scenario J: every create is processed, and its first response is lost in one of five ways.
 * @param startWorker from `installPeers`
 * @returns the bounds that were missed
 */
export async function duplicatesAfterFaults(peers: readonly Peer[], startWorker: StartWorker): Promise<string[]> {
  const misses: string[] = [];
  say('\nJ: duplicates of 5 creates that were processed and whose response was then lost');
  say(`\n| client | ${FAULTS.join(' | ')} |\n| --- | ${FAULTS.map(() => '---:').join(' | ')} |`);
  for (const peer of peers.filter((name) => name !== 'bottleneck')) {
    const counts: number[] = [];
    for (const fault of FAULTS) {
      const service = { mode: 'fixed', limit: 1000, windowMs: 2000, fault } as const;
      const race = { peer, service, requests: 5, processes: 1, workers: 1, perRequest: peer === 'curl' };
      const { duplicates } = await runRace(race, startWorker);
      counts.push(duplicates);
      if (peer === 'petstore' && duplicates > 0) misses.push(`J: ${duplicates} duplicates after ${fault}`);
    }
    say(`| ${peer} | ${counts.join(' | ')} |`);
  }
  return misses;
}
