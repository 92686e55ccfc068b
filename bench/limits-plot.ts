// Draws docs/rate-limits.svg: the requests of eight processes over time, one row for each client, every 429 in red.
import { writeFileSync } from 'node:fs';
import type { LimitServerOptions } from '../test/support/limit-server.ts';
import type { Peer, StartWorker } from './limits-peers.ts';
import type { Result } from './limits-race.ts';
import { runRace } from './limits-race.ts';
import { say } from './report.ts';

export const PLOTTED: readonly Peer[] = ['petstore', 'undici', 'got', 'octokit'];

const FILE = 'docs/rate-limits.svg';
const PROCESSES = 8;
const REQUESTS = 300;
// 60 requests per minute, ten times as fast.
const SERVICE: LimitServerOptions = { mode: 'fixed', limit: 60, windowMs: 6000, latencyMs: 10, reset: 'ceil' };

const WIDTH = 880;
const LEFT = 96;
const RIGHT = 148;
const TOP = 58;
/** The height of the lane of one process. */
const LANE = 7;
const ROW = PROCESSES * LANE;
const STEP = ROW + 22;

/** Runs each client once and writes the picture. */
export async function plot(startWorker: StartWorker): Promise<void> {
  const results: Result[] = [];
  for (const peer of PLOTTED) {
    const race = { peer, service: SERVICE, requests: REQUESTS, processes: PROCESSES, workers: 1 };
    const result = await runRace(race, startWorker);
    say(`${peer}: ${summary(result)}`);
    results.push(result);
  }
  writeFileSync(FILE, drawing(results));
  say(`Wrote ${FILE}`);
}

function summary({ created, seen, makespanMs }: Result): string {
  return `${seen.refused} × 429, ${created} of ${REQUESTS} created in ${(makespanMs / 1000).toFixed(1)} s`;
}

function drawing(results: readonly Result[]): string {
  const { windowMs, limit } = SERVICE;
  const longest = Math.max(...results.map(({ makespanMs }) => makespanMs));
  const endMs = (Math.floor(longest / windowMs) + 1) * windowMs;
  const x = (ms: number): string => (LEFT + (ms / endMs) * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const bottom = TOP + results.length * STEP;
  const edges = Array.from({ length: endMs / windowMs + 1 }, (_, index) => index * windowMs);
  const title = `${REQUESTS} creates by ${PROCESSES} processes that share a key, ${limit} per ${windowMs / 1000} s`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 40}" font-family="system-ui, sans-serif" font-size="13">
<title>${title}</title>
<desc>${results.map((result) => `${result.race.peer}: ${summary(result)}`).join('. ')}.</desc>
<rect width="100%" height="100%" rx="6" fill="#fff"/>
<text x="${LEFT}" y="24" font-size="15" font-weight="600" fill="#1f2328">${title}</text>
<circle cx="${LEFT + 4}" cy="40" r="3" fill="#0969da"/><text x="${LEFT + 12}" y="44" fill="#57606a">accepted</text>
<circle cx="${LEFT + 84}" cy="40" r="3" fill="#d1242f"/><text x="${LEFT + 92}" y="44" fill="#57606a">429</text>
<g stroke="#8c959f" stroke-dasharray="3 3">
${edges.map((ms) => `<path d="M${x(ms)} ${TOP - 4}V${bottom - 10}"/>`).join('\n')}
</g>
<g fill="#57606a" text-anchor="middle">
${edges.map((ms) => `<text x="${x(ms)}" y="${bottom + 8}">${ms / 1000}</text>`).join('\n')}
<text x="${x(endMs / 2)}" y="${bottom + 28}">seconds; dashed lines are the edges of the windows</text>
</g>
${results.map((result, index) => row(result, TOP + index * STEP, x)).join('\n')}
</svg>
`;
}

// Draws one lane for each process; refusals come last, so that none is hidden.
function row({ race, seen, created, makespanMs }: Result, top: number, x: (ms: number) => string): string {
  const from = Math.floor(seen.firstAt / SERVICE.windowMs) * SERVICE.windowMs;
  const dots = (refused: boolean): string =>
    seen.arrivals
      .filter((arrival) => arrival.refused === refused)
      .map(({ at, name }) => {
        const lane = Number(/^p(\d+)-/.exec(name)?.[1] ?? 0);
        return `<circle cx="${x(at - from)}" cy="${top + (lane + 0.5) * LANE}" r="${refused ? 2.6 : 2.2}"/>`;
      })
      .join('');
  const right = WIDTH - RIGHT + 14;
  const made = created < REQUESTS ? `${created} of ${REQUESTS} created` : `${(makespanMs / 1000).toFixed(1)} s`;
  return `<rect x="${LEFT}" y="${top - 3}" width="${WIDTH - LEFT - RIGHT}" height="${ROW + 6}" fill="#f6f8fa" fill-opacity="0.6"/>
<text x="${LEFT - 12}" y="${top + ROW / 2 + 5}" text-anchor="end" font-weight="600" fill="#1f2328">${race.peer}</text>
<g fill="#0969da">${dots(false)}</g>
<g fill="#d1242f">${dots(true)}</g>
<text x="${right}" y="${top + ROW / 2 - 3}" font-weight="600" fill="${seen.refused > 0 ? '#d1242f' : '#1a7f37'}">${seen.refused} × 429</text>
<text x="${right}" y="${top + ROW / 2 + 14}" fill="#57606a">${made}</text>`;
}
