// Large output as whole processes, beside a bare script that does the same; and how soon a typed Ctrl-C ends the program.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInTerminal } from '../support/terminal.ts';

// What is owed (design, section 4).
const JSON_RATIO = 1.5;
const JSON_MB = 250;
const TABLE_MS = { 10000: 1000, 100000: 3000 } as const;
const INTERRUPT_MS = 300;

// Reads, parses and prints the list, and nothing else; tells its own peak memory on stderr.
const BARE = `
import { get } from 'node:http';
get(process.argv[2], (reply) => {
  const chunks = [];
  reply.on('data', (chunk) => chunks.push(chunk));
  reply.on('end', () => process.stdout.write(JSON.stringify(JSON.parse(Buffer.concat(chunks).toString())) + '\\n'));
});
`;
// Run first in every process: the peak of its memory, in kilobytes, as the last line on stderr.
const PEAK = `process.on('exit', () => require('node:fs').writeSync(2, '\\npeak ' + process.resourceUsage().maxRSS + '\\n'));`;

/**
 * `npm run bench -- terminal [output ROUNDS | interrupt ROUNDS]`; both unless one is named.
 * @param args which part, and how many rounds (7)
 */
export async function run(args: readonly string[]): Promise<void> {
  const [part, number] = args;
  const rounds = Number(number ?? 7);
  const dir = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/silent')) return;
    if (request.url?.startsWith('/limited')) return void response.writeHead(429, { 'retry-after': '60' }).end();
    const count = Number(/\d+/.exec(request.url ?? '')?.[0]);
    response.writeHead(200, { 'content-type': 'application/json' }).end(documentOf(count));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    // A copy, so that a build under way elsewhere does not take the program away.
    for (const piece of ['bin', 'dist', 'package.json']) cpSync(piece, join(dir, piece), { recursive: true });
    writeFileSync(join(dir, 'bare.mjs'), BARE);
    writeFileSync(join(dir, 'peak.cjs'), PEAK);
    if (part !== 'interrupt') await measure(dir, base, rounds);
    if (part !== 'output') await interrupts(dir, base, rounds);
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function measure(dir: string, base: string, rounds: number): Promise<void> {
  const petstore = (count: number, ...more: string[]): Promise<Sample> =>
    sample(dir, [join(dir, 'bin', 'petstore.js'), 'categories', 'list', '-q', ...more], `${base}/${count}/v1`);
  const jobs: Record<string, () => Promise<Sample>> = {
    'bare script, 100,000 as JSON': () => sample(dir, [join(dir, 'bare.mjs'), `${base}/100000/v1/categories`], base),
    'list --json, 100,000': () => petstore(100_000, '--json'),
    'list, 100,000 as a table': () => petstore(100_000),
    'list, 10,000 as a table': () => petstore(10_000),
    'list --format csv, 100,000': () => petstore(100_000, '--format', 'csv'),
  };
  const samples = new Map<string, Sample[]>();
  // Interleaved: what else the machine does falls on all of them.
  for (let round = 0; round <= rounds; round++) {
    for (const [name, job] of Object.entries(jobs)) {
      const one = await job();
      if (round > 0) samples.set(name, [...(samples.get(name) ?? []), one]);
    }
  }
  for (const [name, all] of samples) {
    process.stdout.write(`${name}: ${ms(all).toFixed(0)} ms, ${mb(all).toFixed(0)} MB (medians of ${all.length})\n`);
  }
  const of = (name: string): Sample[] => samples.get(name) ?? [];
  const json = of('list --json, 100,000');
  const ratio = ms(json) / ms(of('bare script, 100,000 as JSON'));
  process.stdout.write(`list --json against the bare script: ${ratio.toFixed(2)}x\n`);
  must(ratio <= JSON_RATIO, `at most ${JSON_RATIO}x`);
  must(mb(json) <= JSON_MB, `at most ${JSON_MB} MB`);
  must(ms(of('list, 10,000 as a table')) <= TABLE_MS[10_000], `10,000 rows in ${TABLE_MS[10_000]} ms`);
  must(ms(of('list, 100,000 as a table')) <= TABLE_MS[100_000], `100,000 rows in ${TABLE_MS[100_000]} ms`);
}

// Types Ctrl-C once a text has appeared, in a pseudo-terminal, and takes the time to the end of the process.
async function interrupts(dir: string, base: string, rounds: number): Promise<void> {
  writeFileSync(join(dir, 'pets.csv'), 'name\ndog\n');
  const cases: readonly (readonly [what: string, after: string, kind: string, args: readonly string[]])[] = [
    ['the question for the key', 'API key', '', ['auth', 'login', '--url', `${base}/10/v1`]],
    ['the question for the URL', 'URL', '', ['auth', 'login']],
    ['the question before an import', 'Create 1', '10', ['categories', 'import', 'pets.csv']],
    ['the spinner', 'asking the service', 'silent', ['categories', 'list']],
    ['the countdown', 'the rate limit, ', 'limited', ['categories', 'list']],
  ];
  for (const [what, after, kind, args] of cases) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const keyed = kind ? { PETSTORE_API_KEY: 'sk_bench_0123456789', PETSTORE_BASE_URL: `${base}/${kind}/v1` } : {};
      const state = mkdtempSync(join(dir, 'run-'));
      mkdirSync(join(state, 'config'), { mode: 0o700 });
      const folders = { HOME: state, PETSTORE_CONFIG_DIR: join(state, 'config'), PETSTORE_STATE_DIR: state };
      const outcome = await typed(dir, args, after, { ...folders, ...keyed });
      must(outcome.code === 130 && outcome.cooked && outcome.stepsLeft === 0, `130 at ${what}`);
      times.push(outcome.msSinceLastStep);
    }
    const worst = Math.max(...times);
    process.stdout.write(`Ctrl-C at ${what}: 130 after ${median(times)} ms, at most ${worst} ms (${rounds} runs)\n`);
    must(worst <= INTERRUPT_MS, `at most ${INTERRUPT_MS} ms at ${what}`);
  }
}

function typed(dir: string, args: readonly string[], after: string, env: Record<string, string>) {
  return runInTerminal({
    command: [process.execPath, join(dir, 'bin', 'petstore.js'), ...args],
    env: { TERM: 'xterm-256color', PATH: process.env['PATH'] ?? '', ...env },
    cwd: dir,
    columns: 80,
    rows: 24,
    steps: [{ after, send: '\u0003' }],
    stdoutPiped: false,
    timeoutMs: 20_000,
  });
}

interface Sample {
  readonly ms: number;
  readonly mb: number;
}

function sample(dir: string, args: readonly string[], url: string): Promise<Sample> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: dir,
    PETSTORE_API_KEY: 'sk_bench_0123456789',
    PETSTORE_BASE_URL: url,
    PETSTORE_STATE_DIR: join(dir, 'state'),
  };
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const command = ['-r', join(dir, 'peak.cjs'), ...args];
    execFile(process.execPath, command, { env, maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
      if (error) return reject(error);
      if (stdout.length < 100_000) return reject(new Error(`only ${stdout.length} characters came`));
      resolve({ ms: performance.now() - began, mb: Number(/peak (\d+)/.exec(stderr)?.[1]) / 1024 });
    });
  });
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

const ms = (samples: readonly Sample[]): number => median(samples.map((one) => one.ms));
const mb = (samples: readonly Sample[]): number => median(samples.map((one) => one.mb));

const documents = new Map<number, string>();

function documentOf(count: number): string {
  const made =
    documents.get(count) ??
    JSON.stringify(
      Array.from({ length: count }, (_, at) => ({
        id: at + 1,
        name: at % 10 === 0 ? `犬 ${at}` : `category ${at}`,
        description: `a short description of category ${at}, 2.5 kg`,
      })),
    );
  documents.set(count, made);
  return made;
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not met: ${what}`);
}
