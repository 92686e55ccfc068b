// Lists 10,000 and 100,000 categories in every format, against a plain Node.js script that reads, parses and prints them.
// `npm run bench -- list [--runs N] [--sizes 10000,100000]`
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '../test/support/temp-dir.ts';
import { serveLists } from './list-server.ts';
import { median, say } from './report.ts';

const BIN = join(process.cwd(), 'bin', 'petstore.js');
const FORMATS = ['json', 'ndjson', 'csv', 'tsv', 'table'] as const;

const BARE = `import http from 'node:http';
http.get(process.env.PETSTORE_BASE_URL + '/categories', (reply) => {
  const chunks = [];
  reply.on('data', (chunk) => chunks.push(chunk));
  reply.on('end', () => process.stdout.write(JSON.stringify(JSON.parse(Buffer.concat(chunks).toString())) + '\\n'));
});
`;

// The child writes its peak memory at exit, in KiB.
const MEMORY = `import { writeFileSync } from 'node:fs';
process.on('exit', () => writeFileSync(process.env.BENCH_MEMORY, String(process.resourceUsage().maxRSS)));
`;

interface Cost {
  readonly ms: number;
  readonly mib: number;
}

function once(args: readonly string[], env: Record<string, string>, dir: string): Promise<Cost> {
  const memory = join(dir, 'memory.txt');
  const start = process.hrtime.bigint();
  const child = spawn(process.execPath, ['--import', join(dir, 'memory.mjs'), ...args], {
    env: { ...env, BENCH_MEMORY: memory },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.resume();
  return new Promise((resolve, reject) => {
    child.on('close', (code) => {
      if (code !== 0) return reject(new Error(`${args.join(' ')} ended with ${code}`));
      const ms = Number(process.hrtime.bigint() - start) / 1e6;
      resolve({ ms, mib: Number(readFileSync(memory, 'utf8')) / 1024 });
    });
  });
}

/** @param args `--runs N` (default 5), `--sizes A,B` */
export async function run(args: readonly string[]): Promise<void> {
  const option = (name: string): string => (args.includes(name) ? (args[args.indexOf(name) + 1] ?? '') : '');
  const runs = Number(option('--runs')) || 5;
  const sizes = (option('--sizes') || '10000,100000').split(',').map(Number);
  const dir = tempDir();
  writeFileSync(join(dir, 'bare.mjs'), BARE);
  writeFileSync(join(dir, 'memory.mjs'), MEMORY);
  const { port, stop } = await serveLists();
  say('| categories | format | ms | ratio to bare | peak MiB |\n| --- | --- | --- | --- | --- |');
  for (const size of sizes) {
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: dir,
      PETSTORE_BASE_URL: `http://127.0.0.1:${port}/${size}/v1`,
      PETSTORE_API_KEY: 'k_0123456789abcdef',
    };
    const ways = [
      ['bare', [join(dir, 'bare.mjs')]],
      ...FORMATS.map((format) => [format, [BIN, 'categories', 'list', '-q', '--format', format]]),
    ] as [string, string[]][];
    const costs = new Map<string, Cost[]>(ways.map(([name]) => [name, []]));
    for (let round = -1; round < runs; round++) {
      for (const [name, words] of ways) {
        const cost = await once(words, env, dir);
        if (round >= 0) costs.get(name)?.push(cost);
      }
    }
    const bare = median((costs.get('bare') ?? []).map(({ ms }) => ms));
    for (const [name, all] of costs) {
      const ms = median(all.map((cost) => cost.ms));
      const mib = median(all.map((cost) => cost.mib));
      say(`| ${size} | ${name} | ${ms.toFixed(0)} | ${(ms / bare).toFixed(2)} | ${mib.toFixed(0)} |`);
    }
  }
  await stop();
}
