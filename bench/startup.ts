// Measures the start-up of whole processes as ratios to bare Node.js: medians of interleaved runs.
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '../test/support/temp-dir.ts';
import { serveLists } from './list-server.ts';
import { median, say } from './report.ts';

const BIN = join(process.cwd(), 'bin', 'petstore.js');
const KEY = 'k_0123456789abcdef';

interface Contestant {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

const SCRIPTS = {
  'one-line.mjs': "console.log('1.0.0');\n",
  'minimal.mjs': `import http from 'node:http';
http.get(process.env.PETSTORE_BASE_URL + '/categories', { headers: { authorization: 'Bearer ' + process.env.PETSTORE_API_KEY } }, (reply) => {
  let text = '';
  reply.on('data', (chunk) => (text += chunk));
  reply.on('end', () => console.log(JSON.stringify(JSON.parse(text))));
});
`,
};

function measure(contestants: readonly Contestant[], runs: number, env: Record<string, string>): Map<string, number> {
  const times = new Map<string, number[]>(contestants.map(({ name }) => [name, []]));
  for (let run = -1; run < runs; run++) {
    for (const { name, command, args } of contestants) {
      const start = process.hrtime.bigint();
      const { status, stderr } = spawnSync(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
      if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`);
      // The first round warms the caches and does not count.
      if (run >= 0) times.get(name)?.push(Number(process.hrtime.bigint() - start) / 1e6);
    }
  }
  return new Map([...times].map(([name, values]) => [name, median(values)]));
}

function print(title: string, times: Map<string, number>, owed: Record<string, number>): void {
  const base = [...times.values()][0] ?? Number.NaN;
  say(`\n${title}`);
  for (const [name, ms] of times) {
    const limit = owed[name] === undefined ? '' : `  owed <= ${owed[name]}`;
    say(`  ${ms.toFixed(1).padStart(7)} ms  ${(ms / base).toFixed(2).padStart(6)}x  ${name}${limit}`);
  }
}

// Fetches a version such as 24 with npx.
function pathOf(node: string): string {
  if (!/^[\d.]+$/.test(node)) return node;
  return execFileSync('npx', ['-y', '-p', `node@${node}`, 'node', '-p', 'process.execPath'], {
    encoding: 'utf8',
  }).trim();
}

/** `npm run bench -- startup [--node PATH | --node 24]… [--runs N]`: the running Node.js and 21 runs by default. */
export async function run(args: readonly string[]): Promise<void> {
  const nodes = args.flatMap((arg, at) => (arg === '--node' ? [pathOf(args[at + 1] ?? '')] : []));
  const runs = Number(args[args.indexOf('--runs') + 1]) || 21;
  const dir = tempDir();
  for (const [name, text] of Object.entries(SCRIPTS)) writeFileSync(join(dir, name), text);
  const { port, stop } = await serveLists();
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: dir,
    PETSTORE_BASE_URL: `http://127.0.0.1:${port}/10/v1`,
    PETSTORE_API_KEY: KEY,
  };
  for (const node of nodes.length > 0 ? nodes : [process.execPath]) {
    const version = execFileSync(node, ['--version']).toString().trim();
    const script = (name: string): Contestant => ({ name, command: node, args: [join(dir, name)] });
    const petstore = (...words: string[]): Contestant => ({
      name: `petstore ${words.join(' ')}`,
      command: node,
      args: [BIN, ...words],
    });
    const old = /^v20\./.test(version);
    print(
      `${version}: print the version`,
      measure([script('one-line.mjs'), petstore('--version'), petstore('--help')], runs, env),
      { 'petstore --version': 1.4 },
    );
    const curl: Contestant = {
      name: 'curl | jq',
      command: 'sh',
      args: ['-c', 'curl -s -H "authorization: Bearer $PETSTORE_API_KEY" "$PETSTORE_BASE_URL/categories" | jq -c .'],
    };
    const [list, table] = [petstore('categories', 'list', '--json'), petstore('categories', 'list')];
    const times = measure([script('minimal.mjs'), list, table, curl], runs, env);
    print(`${version}: one GET of 10 categories`, times, { [list.name]: old ? 2.6 : 1.4 });
    const json = times.get(list.name) ?? Number.NaN;
    say(`  table over JSON: ${((times.get(table.name) ?? Number.NaN) / json).toFixed(2)}x  owed <= 1.4`);
  }
  await stop();
}
