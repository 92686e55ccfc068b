// Scenarios without a table: processes killed at random, and creates whose response was lost.

import { tempDir } from '../test/support/temp-dir.ts';
import { startLimitServer } from './limit-server.ts';
import type { Peer, StartWorker } from './limits-peers.ts';
import { runRace } from './limits-race.ts';
import { say } from './report.ts';

const FUZZ_MS = 40_000;
const SERVICE = { mode: 'fixed', limit: 60, windowMs: 6000, latencyMs: 10 } as const;

/**
 * Scenario H: eight processes at a time, each killed by SIGKILL after a moment, for 40 s.
 * @param startWorker from `installPeers`
 * @returns the bounds that were missed
 */
export async function killFuzz(startWorker: StartWorker): Promise<string[]> {
  const server = await startLimitServer(SERVICE);
  const state = tempDir();
  const end = Date.now() + FUZZ_MS;
  let kills = 0;
  const slot = async (number: number): Promise<void> => {
    for (let life = 0; Date.now() < end; life++) {
      const own = { url: server.baseUrl, stateDir: state, prefix: `k${number}-${life}-` };
      const child = startWorker({ ...SERVICE, ...own, peer: 'petstore', count: 1000, workers: 1 });
      child.stdin?.on('error', () => undefined).end('go\n');
      await new Promise((resolve) => setTimeout(resolve, 500 + Math.random() * 2000));
      child.kill('SIGKILL');
      await new Promise((resolve) => child.once('close', resolve));
      kills++;
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, number) => slot(number)));
  await server.close();
  const { seen } = server;
  const windows =
    Math.floor((seen.lastAnsweredAt + 1) / SERVICE.windowMs) - Math.floor(seen.firstAt / SERVICE.windowMs) + 1;
  say(
    `\nH: ${kills} SIGKILLs in ${FUZZ_MS / 1000} s: ${seen.sent} sent, ${seen.refused} × 429, ${seen.created.size} of ${windows * 60} slots of ${windows} windows used.`,
  );
  const misses: string[] = [];
  if (kills < 150) misses.push(`H: only ${kills} kills`);
  if (seen.refused > 0) misses.push(`H: ${seen.refused} × 429`);
  return misses;
}

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
      const service = { mode: 'fixed', limit: 1000, windowMs: 60_000, fault } as const;
      const race = { peer, service, requests: 5, processes: 1, workers: 1, perRequest: peer === 'curl' };
      const { duplicates } = await runRace(race, startWorker);
      counts.push(duplicates);
      if (peer === 'petstore' && duplicates > 0) misses.push(`J: ${duplicates} duplicates after ${fault}`);
    }
    say(`| ${peer} | ${counts.join(' | ')} |`);
  }
  return misses;
}
