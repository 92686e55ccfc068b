// Draws docs/rate-limits.svg and its dark version: the requests of eight processes over time, one row for each client.
import { writeFileSync } from 'node:fs';
import type { Peer } from './limits-peers.ts';
import type { Result } from './limits-race.ts';
import { say } from './report.ts';

const PLOTTED: readonly Peer[] = ['petstore', 'undici', 'got', 'octokit'];

const WIDTH = 880;
const LEFT = 96;
const RIGHT = 148;
const TOP = 58;
/** The height of the lane of one process. */
const LANE = 7;

interface Colors {
  readonly paper: string;
  readonly row: string;
  readonly ink: string;
  readonly dim: string;
  readonly edge: string;
  readonly accepted: string;
  readonly rejected: string;
  readonly good: string;
}

// The colors of GitHub's light and dark themes.
const LIGHT: Colors = {
  ...{ paper: '#ffffff', row: '#f6f8fa', ink: '#1f2328', dim: '#59636e', edge: '#8c959f' },
  ...{ accepted: '#0969da', rejected: '#d1242f', good: '#1a7f37' },
};
const DARK: Colors = {
  ...{ paper: '#0d1117', row: '#151b23', ink: '#f0f6fc', dim: '#9198a1', edge: '#656c76' },
  ...{ accepted: '#4493f8', rejected: '#f85149', good: '#3fb950' },
};

/** Writes both pictures if the results contain a race of eight processes in fixed windows for each plotted client. */
export function drawPictures(results: readonly Result[]): void {
  const plotted = PLOTTED.flatMap((peer) => {
    const isPlotted = ({ race }: Result): boolean =>
      race.peer === peer && race.workers === 1 && race.service.mode === 'fixed';
    return results.find(isPlotted) ?? [];
  });
  if (plotted.length < PLOTTED.length) return;
  writeFileSync('docs/rate-limits.svg', drawing(plotted, LIGHT));
  writeFileSync('docs/rate-limits-dark.svg', drawing(plotted, DARK));
  say('\nWrote docs/rate-limits.svg and docs/rate-limits-dark.svg');
}

function summary({ race, created, seen, makespanMs }: Result): string {
  const made = `${created} of ${race.requests} created in ${(makespanMs / 1000).toFixed(1)} s`;
  return `${race.peer}: ${seen.refused} × 429, ${made}`;
}

function drawing(results: readonly Result[], colors: Colors): string {
  const [first] = results;
  if (!first) return '';
  const { processes, requests, service } = first.race;
  const { windowMs, limit } = service;
  const longest = Math.max(...results.map(({ makespanMs }) => makespanMs));
  const endMs = (Math.floor(longest / windowMs) + 1) * windowMs;
  const x = (ms: number): string => (LEFT + (ms / endMs) * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const step = processes * LANE + 22;
  const bottom = TOP + results.length * step;
  const edges = Array.from({ length: endMs / windowMs + 1 }, (_, index) => index * windowMs);
  const title = `${requests} creates by ${processes} processes with one API key (limit: ${limit} requests per ${windowMs / 1000} s)`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 40}" font-family="system-ui, sans-serif" font-size="13">
<title>${title}</title>
<desc>${results.map(summary).join('. ')}.</desc>
<rect width="100%" height="100%" rx="6" fill="${colors.paper}"/>
<text x="${LEFT}" y="24" font-size="15" font-weight="600" fill="${colors.ink}">${title}</text>
<circle cx="${LEFT + 4}" cy="40" r="3" fill="${colors.accepted}"/><text x="${LEFT + 12}" y="44" fill="${colors.dim}">accepted</text>
<circle cx="${LEFT + 84}" cy="40" r="3" fill="${colors.rejected}"/><text x="${LEFT + 92}" y="44" fill="${colors.dim}">429</text>
<g stroke="${colors.edge}" stroke-dasharray="3 3">
${edges.map((ms) => `<path d="M${x(ms)} ${TOP - 4}V${bottom - 10}"/>`).join('\n')}
</g>
<g fill="${colors.dim}" text-anchor="middle">
${edges.map((ms) => `<text x="${x(ms)}" y="${bottom + 8}">${ms / 1000}</text>`).join('\n')}
<text x="${x(endMs / 2)}" y="${bottom + 28}">seconds (dashed lines: window boundaries)</text>
</g>
${results.map((result, index) => row(result, TOP + index * step, x, colors)).join('\n')}
</svg>
`;
}

// Draws one lane for each process; rejections come last, so that none is hidden.
function row(result: Result, top: number, x: (ms: number) => string, colors: Colors): string {
  const { race, seen, created, makespanMs } = result;
  const { windowMs } = race.service;
  const height = race.processes * LANE;
  const from = Math.floor(seen.firstAt / windowMs) * windowMs;
  const dots = (refused: boolean): string =>
    seen.arrivals
      .filter((arrival) => arrival.refused === refused)
      .map(({ at, name }) => {
        const lane = Number(/^p(\d+)-/.exec(name)?.[1] ?? 0);
        return `<circle cx="${x(at - from)}" cy="${top + (lane + 0.5) * LANE}" r="${refused ? 2.6 : 2.2}"/>`;
      })
      .join('');
  const right = WIDTH - RIGHT + 14;
  const made =
    created < race.requests ? `${created} of ${race.requests} created` : `${(makespanMs / 1000).toFixed(1)} s`;
  return `<rect x="${LEFT}" y="${top - 3}" width="${WIDTH - LEFT - RIGHT}" height="${height + 6}" fill="${colors.row}" fill-opacity="0.6"/>
<text x="${LEFT - 12}" y="${top + height / 2 + 5}" text-anchor="end" font-weight="600" fill="${colors.ink}">${race.peer}</text>
<g fill="${colors.accepted}">${dots(false)}</g>
<g fill="${colors.rejected}">${dots(true)}</g>
<text x="${right}" y="${top + height / 2 - 3}" font-weight="600" fill="${seen.refused > 0 ? colors.rejected : colors.good}">${seen.refused} × 429</text>
<text x="${right}" y="${top + height / 2 + 14}" fill="${colors.dim}">${made}</text>`;
}
