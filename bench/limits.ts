// The rate limit benchmark: compares petstore with other clients by refusals, requests during a wait, duplicates and time.

import { longestMs } from './limit-server.ts';
import { duplicatesAfterFaults } from './limits-faults.ts';
import type { Peer, StartWorker } from './limits-peers.ts';
import { installPeers, PEERS } from './limits-peers.ts';
import { drawPictures } from './limits-plot.ts';
import type { Result } from './limits-race.ts';
import { runRace } from './limits-race.ts';
import type { Scenario } from './limits-scenarios.ts';
import { REAL_SCENARIOS, SCENARIOS } from './limits-scenarios.ts';
import { printInOrder, say } from './report.ts';

/**
 * `npm run bench -- limits [A…L | PEER]… [--real] [--parallel N]`: A to J by default, K and L with `--real`. K also draws
 * docs/rate-limits.svg and docs/rate-limits-dark.svg.
 * @throws Error if petstore misses a bound
 */
export async function run(args: string[]): Promise<void> {
  const at = args.indexOf('--parallel');
  const parallel = at < 0 ? 1 : Number(args.splice(at, 2)[1]);
  const real = args.includes('--real');
  const named = args.filter((arg) => arg !== '--real');
  const peers = PEERS.filter((peer) => named.includes(peer));
  const letters = named.filter((name) => !PEERS.includes(name as Peer));
  const wanted = (letter: string): boolean =>
    letters.length === 0 ? REAL_SCENARIOS.some((one) => one.letter === letter) === real : letters.includes(letter);
  const taking = peers.length > 0 ? peers : PEERS;
  const startWorker = installPeers(taking);
  const misses: string[] = [];
  const scenarios = [...SCENARIOS, ...REAL_SCENARIOS].filter(({ letter }) => wanted(letter));
  if (scenarios.length > 0) misses.push(...(await raceAll(scenarios, taking, startWorker, parallel)));
  if (wanted('J')) misses.push(...(await duplicatesAfterFaults(taking, startWorker)));
  if (misses.length > 0) throw new Error(`not met:\n${misses.join('\n')}`);
}

const COLUMNS = [
  ...['scenario', 'client', 'processes', 'service', 'sent', '429', 'in a wait', 'after 50 ms'],
  ...['created', 'still waiting', 'duplicates', 'bans', 'seconds', 'extra time'],
];

async function raceAll(
  scenarios: readonly Scenario[],
  peers: readonly Peer[],
  startWorker: StartWorker,
  parallel: number,
): Promise<string[]> {
  say(`| ${COLUMNS.join(' | ')} |`);
  say(`| ${COLUMNS.map((_, index) => (index < 4 ? '---' : '---:')).join(' | ')} |`);
  const jobs = scenarios.flatMap((scenario) =>
    peers.flatMap((peer) => scenario.races(peer).map((race) => ({ scenario, race }))),
  );
  const misses: string[] = [];
  const pictured: Result[] = [];
  await printInOrder(jobs, parallel, async ({ scenario, race }) => {
    const result = await runRace(race, startWorker);
    misses.push(...missesOf(scenario, result));
    if (scenario.letter === 'K') pictured.push(result);
    return rowOf(scenario, result);
  });
  drawPictures(pictured);
  return misses;
}

function rowOf(
  { letter, title }: Scenario,
  { race, seen, created, ended, duplicates, makespanMs, referenceMs }: Result,
): string {
  const { service, processes, workers, requests } = race;
  const shape = race.perRequest ? 'one per create' : `${processes} × ${workers}`;
  const off = service.skewMs ? `, clock ${service.skewMs / 1000} s off` : '';
  const limit = `${service.limit} per ${service.windowMs / 1000} s, ${service.mode}${off}`;
  const seconds = (makespanMs - referenceMs) / 1000;
  const complete = created >= Math.min(requests, service.daily?.limit ?? requests);
  const extra = complete ? `${seconds < 0 ? '−' : '+'}${Math.abs(seconds).toFixed(1)} s` : '–';
  const counts = [seen.sent, seen.refused, seen.inside, seen.insideLate, created, ended, duplicates, seen.bans];
  return `| ${[`${letter}: ${title}`, race.peer, shape, limit, ...counts, (makespanMs / 1000).toFixed(1), extra].join(' | ')} |`;
}

function missesOf(scenario: Scenario, { race, seen, created, duplicates, makespanMs, referenceMs }: Result): string[] {
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
  const late = !scenario.foreign && makespanMs > longestMs(race.service, race.requests, referenceMs);
  if (late) misses.push(`${name}: ${makespanMs} ms, reference ${referenceMs} ms`);
  return misses;
}
