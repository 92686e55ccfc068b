// Measures the time of whole processes against bare Node.js scripts: medians of interleaved runs.
import { execFileSync, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { tempDir } from '../test/support/temp-dir.ts';
import { BIN, median, nodePath, say } from './report.ts';

const VERSION = "console.log('1.0.0');\n";
const LIST = `import http from 'node:http';
http.get(process.env.PETSTORE_BASE_URL + '/categories', { headers: { authorization: 'Bearer ' + process.env.PETSTORE_API_KEY } }, (reply) => {
  const chunks = [];
  reply.on('data', (chunk) => chunks.push(chunk));
  reply.on('end', () => console.log(JSON.stringify(JSON.parse(Buffer.concat(chunks).toString()))));
});
`;

interface Group {
  readonly title: string;
  readonly script: string;
  /** Length of the list. */
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
    { title: 'version', script: VERSION, rows: 10, runs, commands: ['--version', '--help'] },
    { title: '10 rows', script: LIST, rows: 10, runs, commands: ['categories list --json', 'categories list'] },
    { title: `${rows} rows`, script: LIST, rows, runs: Math.ceil(runs / 4), commands: lists },
  ];
  const server = fork('bench/fast-server.mjs');
  const [origin] = (await once(server, 'message')) as [string];
  say('| Node | work | ms | ratio to the script | ms before | ratio before |');
  say('| --- | --- | ---: | ---: | ---: | ---: |');
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
  const script = join(dir, 'script.mjs');
  writeFileSync(script, group.script);
  const env = {
    ...{ PATH: process.env['PATH'] ?? '', HOME: dir, PETSTORE_API_KEY: 'k_0123456789abcdef' },
    PETSTORE_BASE_URL: `${origin}/${group.rows}/v1`,
  };
  const contestants = [
    [script],
    ...group.commands.flatMap((words) => programs.map((program) => [program, ...words.split(' ')])),
  ].map((command) => ({ command, times: [] as number[] }));
  // The first round fills the caches and does not count.
  for (let round = 0; round <= group.runs; round++) {
    for (const { command, times } of contestants) {
      const since = performance.now();
      const stdio = ['ignore', 'pipe', 'pipe'] as const;
      const { status, stderr } = spawnSync(node, command, { env, stdio: [...stdio], maxBuffer: 2 ** 30 });
      if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}: ${stderr}`);
      if (round > 0) times.push(performance.now() - since);
    }
  }
  const [bare = Number.NaN, ...medians] = contestants.map(({ times }) => median(times));
  const figures = (ms: number): string => `${ms.toFixed(0)} | ${(ms / bare).toFixed(2)}`;
  const perCommand = group.commands.map((words, index) => {
    const own = medians.slice(index * programs.length, (index + 1) * programs.length);
    return [words, ...own.map(figures)].join(' | ');
  });
  return [`script | ${figures(bare)}`, ...perCommand];
}
