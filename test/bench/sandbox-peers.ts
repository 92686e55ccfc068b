// The same fixtures against the sandbox and against Prism, a mock by somebody else made of the served description;
// and petstore itself against Prism. Needs the npm registry.
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApiDocument } from '../../src/sandbox/openapi.ts';
import { startChild } from '../sandbox/child.ts';
import type { Description, Provocation } from '../sandbox/contract.ts';
import { Checker, FIXTURES } from '../sandbox/contract.ts';
import type { Answer } from '../sandbox/support.ts';

/** The newest Prism that runs on Node 20. */
const PRISM = '@stoplight/prism-cli@5.14.2';
const KEY = 'sandbox_child_key_0001';

/** `npm run bench -- sandbox-peers`: installs Prism into a temporary folder, and compares. */
export async function run(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'petstore-peers-'));
  const sandbox = await startChild(join(dir, 'data'));
  const prism = await startPrism(dir);
  try {
    const own = `http://127.0.0.1:${sandbox.port}/v1`;
    await compare(own, prism.url);
    program(dir, prism.url);
  } finally {
    prism.process.kill();
    await sandbox.kill();
    rmSync(dir, { recursive: true, force: true });
  }
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not met: ${what}`);
}

async function startPrism(dir: string): Promise<{ url: string; process: ChildProcess }> {
  writeFileSync(join(dir, 'package.json'), '{"private":true}');
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', PRISM], { cwd: dir, stdio: 'ignore' });
  // Prism knows no version segment in a server's address: here it is part of every path.
  const { servers: _, paths, ...rest } = openApiDocument() as { servers: unknown; paths: object };
  const prefixed = Object.fromEntries(Object.entries(paths).map(([path, item]) => [`/v1${path}`, item]));
  writeFileSync(join(dir, 'openapi.json'), JSON.stringify({ ...rest, paths: prefixed }));
  const entry = join(dir, 'node_modules/@stoplight/prism-cli/dist/index.js');
  const prism = spawn(process.execPath, [entry, 'mock', '-h', '127.0.0.1', '-p', '0', join(dir, 'openapi.json')]);
  let output = '';
  for (;;) {
    const [piece] = (await once(prism.stdout, 'data')) as [Buffer];
    output += piece.toString();
    const url = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(output)?.[1];
    if (url !== undefined) return { url: `${url}/v1`, process: prism };
  }
}

async function compare(...urls: readonly [sandbox: string, prism: string]): Promise<void> {
  const checker = new Checker(openApiDocument() as unknown as Description);
  say('request                          documented   sandbox   Prism');
  let wrong = 0;
  for (const { response, request } of FIXTURES) {
    const verdicts: string[] = [];
    for (const url of urls) {
      const answer = await ask(url, request);
      const problems = checker.problems(response, answer);
      wrong += problems.length;
      verdicts.push(problems.length === 0 ? `${answer.status} ok` : problems.join('; '));
    }
    say(`${`${request.method} ${request.path}`.padEnd(32)} ${response.status.padEnd(12)} ${verdicts.join('    ')}`);
  }
  must(wrong === 0, 'both keep to the description');
}

async function ask(url: string, { method, path, key, body }: Provocation): Promise<Answer> {
  const headers = {
    connection: 'close',
    ...(key === null ? {} : { authorization: `Bearer ${KEY}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await fetch(`${url}${path}`, { method, headers, ...sent });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: Object.fromEntries(answer.headers),
    text,
    json: text === '' ? undefined : JSON.parse(text),
  };
}

const COMMANDS: readonly [args: string[], code: number][] = [
  [['categories', 'list'], 0],
  [['categories', 'list', '--json'], 0],
  [['categories', 'list', '--format', 'csv'], 0],
  [['categories', 'create', '--name', 'dog', '--description', 'Canis familiaris', '--json'], 0],
  [['categories', 'create', '--name', 'dog', '--if-missing', '--json'], 0],
  [['api', 'POST', '/categories', '--data', '{"name":7}'], 4],
  [['api', 'GET', '/pets/1'], 0],
  [['api', 'GET', '/store/orders'], 0],
  [['api', 'GET', '/nothing'], 4],
];

function program(dir: string, url: string): void {
  const state = { PETSTORE_STATE_DIR: join(dir, 'state'), PETSTORE_CONFIG_DIR: join(dir, 'config') };
  const env = { PATH: process.env['PATH'] ?? '', HOME: dir, PETSTORE_BASE_URL: url, PETSTORE_API_KEY: KEY, ...state };
  for (const [args, code] of COMMANDS) {
    const { status, out } = petstore(args, env);
    say(`petstore ${args.join(' ')}: exit ${status}, ${out.length} characters on stdout`);
    must(status === code, `exit ${code}`);
    must(code === 0 || out === '', 'nothing on stdout where it fails');
    if (args.includes('--json')) JSON.parse(out);
  }
}

function petstore(args: readonly string[], env: Record<string, string>): { status: number; out: string } {
  try {
    const out = execFileSync(process.execPath, ['bin/petstore.js', ...args], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return { status: 0, out: out.toString() };
  } catch (error) {
    const { status, stdout } = error as { status: number; stdout: Buffer };
    return { status, out: stdout.toString() };
  }
}
