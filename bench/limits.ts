// The rate limit benchmark: compares petstore with other clients by refusals, requests during a wait, duplicates and time.

import { duplicatesAfterFaults, killFuzz } from './limits-faults.ts';
import type { Peer, StartWorker } from './limits-peers.ts';
import { installPeers, PEERS } from './limits-peers.ts';
import { PLOTTED, plot } from './limits-plot.ts';
import type { Result } from './limits-race.ts';
import { runRace } from './limits-race.ts';
import type { Scenario } from './limits-scenarios.ts';
import { REAL_SCENARIOS, SCENARIOS } from './limits-scenarios.ts';
import { printInOrder, say } from './report.ts';

/**
 * `npm run bench -- limits [A…K | PEER]… [--real] [--plot] [--parallel N]`: everything by default;
 * `--plot` only draws docs/rate-limits.svg.
 * @throws Error if our own client misses a bound
 */
export async function run(args: string[]): Promise<void> {
  if (args.includes('--plot')) return plot(installPeers(PLOTTED));
  const at = args.indexOf('--parallel');
  const parallel = at < 0 ? 1 : Number(args.splice(at, 2)[1]);
  const real = args.includes('--real');
  const named = args.filter((arg) => arg !== '--real');
  const peers = PEERS.filter((peer) => named.includes(peer));
  const letters = named.filter((name) => !PEERS.includes(name as Peer));
  const wanted = (letter: string): boolean => (letters.length === 0 ? !real : letters.includes(letter));
  const taking = peers.length > 0 ? peers : PEERS;
  const startWorker = installPeers(real ? ['petstore'] : taking);
  const misses: string[] = [];
  const scenarios = [...SCENARIOS.filter(({ letter }) => wanted(letter)), ...(real ? REAL_SCENARIOS : [])];
  if (scenarios.length > 0) await raceAll(scenarios, taking, startWorker, parallel, misses);
  if (wanted('H') && taking.includes('petstore')) misses.push(...(await killFuzz(startWorker)));
  if (wanted('J')) misses.push(...(await duplicatesAfterFaults(taking, startWorker)));
  if (misses.length > 0) throw new Error(`not met:\n${misses.join('\n')}`);
}

async function raceAll(
  scenarios: readonly Scenario[],
  peers: readonly Peer[],
  startWorker: StartWorker,
  parallel: number,
  misses: string[],
): Promise<void> {
  say(
    '| scenario | client | service | sent | 429 | inside a wait | created | duplicates | bans | makespan | over optimum |',
  );
  say('| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |');
  const jobs = scenarios.flatMap((scenario) =>
    peers.flatMap((peer) => scenario.races(peer).map((race) => ({ scenario, race }))),
  );
  await printInOrder(jobs, parallel, async ({ scenario, race }) => {
    const result = await runRace(race, startWorker);
    misses.push(...missesOf(scenario, result));
    return rowOf(scenario, result);
  });
}

function rowOf({ letter }: Scenario, result: Result): string {
  const { race, seen, created, duplicates, makespanMs, optimumMs } = result;
  const { service, processes, workers, requests } = race;
  const shape = `${race.perRequest ? 'process each' : `${processes}×${workers}`}, ${service.limit}/${service.windowMs / 1000}s ${service.mode}`;
  const off = service.skewMs ? `, clock ${service.skewMs / 1000} s off` : '';
  const inside = seen.inside === 0 ? '0' : `${seen.inside} (${seen.insideLate})`;
  const seconds = (makespanMs - optimumMs) / 1000;
  const over = `${seconds < 0 ? '−' : '+'}${Math.abs(seconds).toFixed(1)} s`;
  const ratio = optimumMs > 0 ? ` (${(makespanMs / optimumMs).toFixed(2)}×)` : '';
  const time = created < Math.min(requests, service.daily?.limit ?? requests) ? '–' : over + ratio;
  const made = `${created}/${requests}${result.ended > 0 ? `, ${result.ended} still waiting` : ''}`;
  const cells = [letter, race.peer, shape + off, seen.sent, seen.refused, inside, made, duplicates, seen.bans];
  return `| ${[...cells, `${(makespanMs / 1000).toFixed(1)} s`, time].join(' | ')} |`;
}

function missesOf(scenario: Scenario, { race, seen, created, duplicates, makespanMs, optimumMs }: Result): string[] {
  if (race.peer !== 'petstore') return [];
  const possible = scenario.possible ?? race.requests;
  const name = `${scenario.letter}, ${race.service.mode}, ${race.processes} × ${race.workers}`;
  const misses: string[] = [];
  if (seen.refused > 0 && !scenario.foreign) misses.push(`${name}: ${seen.refused} × 429`);
  // Hosts that share no state cannot know each other's waits.
  const known = race.hosts === undefined;
  if ((known && seen.insideLate > 0) || (seen.inside > 0 && !scenario.foreign))
    misses.push(`${name}: ${seen.inside} sent inside a wait`);
  if (duplicates > 0) misses.push(`${name}: ${duplicates} duplicates`);
  if (created !== possible) misses.push(`${name}: ${created} of ${possible} created`);
  const late = !scenario.foreign && makespanMs > optimumMs * 1.03 + 2000;
  if (late) misses.push(`${name}: ${makespanMs} ms, optimum ${optimumMs} ms`);
  return misses;
}
