// Measures the wall time and the user time of whole processes against bare Node.js scripts: medians of interleaved runs.
import { execFileSync, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { tempDir } from '../test/support/temp-dir.ts';
import { BIN, median, nodePath, say } from './report.ts';

const VERSION = "console.log('1.0.0');\n";
// CommonJS, because an import of node:http also loads WebSocket, which takes Node 24 another 20 ms.
const LIST = `const http = require('node:http');
http.get(process.env.PETSTORE_BASE_URL + '/categories', { headers: { authorization: 'Bearer ' + process.env.PETSTORE_API_KEY } }, (reply) => {
  const chunks = [];
  reply.on('data', (chunk) => chunks.push(chunk));
  reply.on('end', () => console.log(JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()))));
});
`;

interface Group {
  readonly title: string;
  readonly script: string;
  /** The number of categories in the list. */
  readonly rows: number;
  readonly runs: number;
  readonly commands: readonly string[];
}

/**
 * `npm run bench -- speed [--node PATH | --node 24]… [--runs N] [--rows N] [--base BIN]`: by default the running Node.js,
 * 21 runs, 100,000 rows. BIN is the `petstore.js` of another built version, measured in the same run.
 */
export async function run(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const;
  const options = { node: { ...text, multiple: true }, runs: text, rows: text, base: text } as const;
  const { values } = parseArgs({ args: [...args], options });
  const [runs, rows] = [Number(values.runs ?? 21), Number(values.rows ?? 100_000)];
  const programs = [BIN, ...(values.base ? [values.base] : [])];
  const lists = ['json', 'ndjson', 'csv', 'tsv', 'table'].map((format) => `categories list -q --format ${format}`);
  const groups: readonly Group[] = [
    { title: 'version', script: VERSION, rows: 10, runs, commands: ['--version', 'completion bash', '--help'] },
    { title: '10 rows', script: LIST, rows: 10, runs, commands: ['categories list --json', 'categories list'] },
    { title: `${rows} rows`, script: LIST, rows, runs: Math.ceil(runs / 4), commands: lists },
  ];
  const server = fork('bench/fast-server.mjs');
  const [origin] = (await once(server, 'message')) as [string];
  const columns = programs.flatMap((_, index) =>
    ['ms', 'ratio', 'user ms', 'ratio'].map((name) => `${name}${index > 0 ? ' before' : ''}`),
  );
  say(`| Node | work | ${columns.join(' | ')} |`);
  say(`| --- | --- | ${columns.map(() => '---:').join(' | ')} |`);
  for (const given of values.node ?? [process.execPath]) {
    const node = /^[\d.]+$/.test(given) ? nodePath(given) : given;
    const version = execFileSync(node, ['--version']).toString().trim();
    for (const group of groups) {
      for (const line of measure(node, group, programs, origin)) say(`| ${version} | ${group.title}: ${line} |`);
    }
  }
  server.kill();
}

function measure(node: string, group: Group, programs: readonly string[], origin: string): string[] {
  const dir = tempDir();
  const script = join(dir, 'script.cjs');
  writeFileSync(script, group.script);
  const env = {
    ...{ PATH: process.env['PATH'] ?? '', HOME: dir, PETSTORE_API_KEY: 'k_0123456789abcdef' },
    PETSTORE_BASE_URL: `${origin}/${group.rows}/v1`,
  };
  const contestants = [
    [script],
    ...group.commands.flatMap((words) => programs.map((program) => [program, ...words.split(' ')])),
  ].map((command) => ({ command, wall: [] as number[], user: [] as number[] }));
  // The first round fills the caches and does not count.
  for (let round = 0; round <= group.runs; round++) {
    for (const { command, wall, user } of contestants) {
      const since = performance.now();
      const stdio = ['ignore', 'pipe', 'pipe'] as const;
      const timed = ['-c', 'TIMEFORMAT=%U; time "$@"', 'bash', node, ...command];
      const { status, stderr } = spawnSync('bash', timed, { env, stdio: [...stdio], maxBuffer: 2 ** 30 });
      if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stderr}`);
      if (round === 0) continue;
      wall.push(performance.now() - since);
      user.push(1000 * Number(stderr.toString().trim().split('\n').at(-1)));
    }
  }
  const medians = contestants.map(({ wall, user }) => [median(wall), median(user)] as const);
  const [bare, ...rest] = medians;
  const figures = (times: readonly number[] = []): string =>
    times.map((ms, index) => `${ms.toFixed(0)} | ${(ms / (bare?.[index] ?? Number.NaN)).toFixed(2)}`).join(' | ');
  const perCommand = group.commands.map((words, index) => {
    const own = rest.slice(index * programs.length, (index + 1) * programs.length);
    return [words, ...own.map(figures)].join(' | ');
  });
  return [`script | ${figures(bare)}`, ...perCommand];
}
