// The long form of the fault tests: `npm run bench -- faults [fuzz|race|config|wire|canary] [COUNT]`; without a word, all.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { createTransport } from '../../src/http/transport.ts';
import type { Transport } from '../../src/http/types.ts';
import { openConfStore } from '../../src/profiles/conf-store.ts';
import { mutated } from '../faults/mutations.ts';
import type { Fault } from '../faults/transport-faults.ts';
import { FAULTS, faultOptions, startFaulty } from '../faults/transport-faults.ts';
import { CANARY, leakIn, leakyFiles } from '../support/canary.ts';
import { compile } from '../support/compile.ts';
import { response, startRawServer } from '../support/raw-server.ts';

// Another build may be named, so that a long run is not disturbed by the next one.
const BIN = resolve(process.env['PETSTORE_BIN'] ?? 'bin/petstore.js');

/** @param args which part, and how often */
export async function run(args: readonly string[]): Promise<void> {
  const parts: Readonly<Record<string, (count?: number) => Promise<void> | void>> = {
    fuzz,
    race,
    config,
    wire,
    canary,
  };
  const [word, count] = args;
  const chosen = word === undefined ? Object.values(parts) : [parts[word]];
  for (const part of chosen) await part?.(count === undefined ? undefined : Number(count));
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not met: ${what}`);
}

function fuzz(scale = 25): void {
  const env = { ...process.env, FUZZ_SCALE: String(scale) };
  const run = spawnSync('npx', ['vitest', 'run', 'test/faults/fuzz.test.ts'], { env, encoding: 'utf8' });
  say(`fuzz, ${2000 * scale} files beside 50,000 replies, 100,000 paths, 100,000 URLs: exit ${run.status}`);
  say(
    run.stdout
      .split('\n')
      .filter((line) => /✓|×/.test(line))
      .join('\n'),
  );
}

// A server that ends every connection just after its answer, by FIN or RST: no POST may fail for that.
async function race(count = 1000): Promise<void> {
  for (const how of ['FIN', 'RST'] as const) {
    const server = await startRawServer({
      onRequest: (socket) => {
        socket.write(response('201 Created', '{"id":1,"name":"x"}', 'Connection: keep-alive'));
        setTimeout(() => (how === 'FIN' ? socket.end() : socket.resetAndDestroy()), Math.random() * 3);
      },
    });
    const transport = openTransport(server.origin);
    let failed = 0;
    for (let at = 0; at < count; at++) failed += await transport.then((one) => post(one));
    say(`keep-alive race (${how}): ${count} POSTs, ${failed} false failures, ${server.requests.length} requests seen`);
    must(failed === 0, 'no false failure');
    server.close();
  }
}

async function openTransport(origin: string): Promise<Transport> {
  const options = { baseUrl: `${origin}/v1`, key: CANARY, version: '0', env: {}, nodeVersion: process.versions.node };
  return createTransport({ ...options, now: Date.now });
}

async function post(transport: Transport): Promise<0 | 1> {
  const request = { method: 'POST', path: '/categories', body: '{"name":"x"}', safe: false };
  const how = { timeoutMs: 5000, signal: new AbortController().signal };
  return transport.send(request, how).then(
    () => 0,
    () => 1,
  );
}

const WRITER = `
const { openConfStore } = await import(process.argv[2]);
const [dir, name, count] = process.argv.slice(3);
const store = openConfStore(dir);
for (let n = 1; n <= Number(count); n++) {
  await store.save({ name, url: 'https://a.example/v1', key: 'key-' + n + '-'.repeat(500), origin: 'https://a.example' });
  process.stdout.write(n + '\\n');
}`;

async function config(kills = 200): Promise<void> {
  const module = compile('src/profiles/conf-store.ts');
  const writer = join(mkdtempSync(join(tmpdir(), 'petstore-bench-')), 'writer.mjs');
  writeFileSync(writer, WRITER);
  for (const processes of [2, 4, 8]) {
    const dir = join(mkdtempSync(join(tmpdir(), 'petstore-bench-')), 'config');
    const names = Array.from({ length: processes }, (_, at) => `p${at}`);
    await Promise.all(names.map((name) => writeUntil(writer, module, dir, name, 200)));
    const store = openConfStore(dir);
    const lost = names.filter((name) => numberOf(store.get(name)?.key) !== 200).length;
    say(`config: ${processes} processes x 200 writes, ${lost} profiles lost, ${leftovers(dir)} leftovers`);
    must(lost === 0 && leftovers(dir) === 0, 'nothing lost');
  }
  let [lost, invalid, left, wide] = [0, 0, 0, 0];
  for (let at = 0; at < kills; at++) {
    const dir = join(mkdtempSync(join(tmpdir(), 'petstore-bench-')), 'config');
    const acknowledged = await writeUntil(writer, module, dir, 'p', 1e6, 1 + Math.random() * 40);
    const store = openConfStore(dir);
    try {
      if (numberOf(store.get('p')?.key) < acknowledged) lost++;
    } catch {
      invalid++;
    }
    await store.save({ name: 'q' });
    left += leftovers(dir);
    wide += readdirSync(dir).filter((name) => (statSync(join(dir, name)).mode & 0o077) !== 0).length;
  }
  say(
    `config: ${kills} SIGKILLs: ${lost} acknowledged writes lost, ${invalid} invalid files, ${left} leftovers, ${wide} wide`,
  );
  must(lost + invalid + left + wide === 0, 'nothing lost, damaged, left or wide');
}

const numberOf = (key: string | undefined): number => Number(/^key-(\d+)-/.exec(key ?? '')?.[1] ?? 0);
const leftovers = (dir: string): number => readdirSync(dir).filter((name) => name.includes('.tmp-')).length;

// Runs a writer to its end, or kills it some milliseconds after its first write; gives the last acknowledged number.
function writeUntil(
  writer: string,
  module: string,
  dir: string,
  name: string,
  count: number,
  killAfterMs?: number,
): Promise<number> {
  const child = spawn(process.execPath, [writer, module, dir, name, String(count)]);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    if (output === '' && killAfterMs !== undefined) setTimeout(() => child.kill('SIGKILL'), killAfterMs);
    output += chunk.toString();
  });
  return new Promise((done) => child.on('close', () => done(Number(output.trim().split('\n').at(-1)) || 0)));
}

const HOSTILE = [
  '\u001b[2J',
  '\u001b]0;x\u0007',
  '\u009b31m',
  '\u202e',
  '\r',
  '\n',
  '\u0000',
  '\u2028',
  '\ufeff',
  '\ud800',
];
const LIST = `[{"id":1,"name":"cat","description":"Felis"},{"id":9223372036854775807,"name":"dog"}]`;

// Mutated and hostile replies over real sockets: a table or a broken contract, and nothing that acts on a terminal.
async function wire(count = 2000): Promise<void> {
  const names = fc.array(fc.constantFrom(...HOSTILE, 'a', '\u4e2d', '\u{1f469}\u200d\u{1f680}'), { maxLength: 20 });
  const hostile = fc
    .array(names, { minLength: 1, maxLength: 4 })
    .map((list) =>
      Buffer.from(
        JSON.stringify(list.map((parts, at) => ({ id: at, name: parts.join(''), description: parts.join(' ') }))),
      ),
    );
  const bodies = fc.sample(fc.oneof(hostile, mutated([LIST])), count);
  const server = await startRawServer({
    onRequest: (socket, request) => {
      const body = bodies[Number(request.path.split('/')[1])] ?? Buffer.from('');
      socket.end(response(`200 ${HOSTILE[0]}`, body));
    },
  });
  const codes = new Map<number | null, number>();
  let [next, dangerous, stacks] = [0, 0, 0];
  const worker = async (): Promise<void> => {
    while (next < count) {
      const at = next++;
      const dir = mkdtempSync(join(tmpdir(), 'petstore-wire-'));
      const env = {
        HOME: dir,
        PETSTORE_API_KEY: CANARY,
        PETSTORE_BASE_URL: `${server.origin}/${at}/v1`,
        PETSTORE_STATE_DIR: join(dir, 'state'),
      };
      const args = [BIN, 'categories', 'list', '--max-retries', '0', ...(at % 4 === 0 ? ['--json'] : [])];
      const { code, output } = await outcome(spawn(process.execPath, args, { env, cwd: dir }));
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2028\u2029\ufeff]/.test(output)) dangerous++;
      if (/\n\s+at |node:internal/.test(output)) stacks++;
    }
  };
  await Promise.all([worker(), worker(), worker()]);
  server.close();
  say(`wire: ${count} runs, exit codes ${JSON.stringify([...codes])}, ${dangerous} dangerous, ${stacks} stacks`);
  must(
    [...codes.keys()].every((code) => code === 0 || code === 7) && dangerous + stacks === 0,
    'table or broken contract',
  );
}

const COMMANDS: readonly (readonly string[])[] = [
  ['categories', 'list'],
  ['categories', 'create', '--name', 'dog'],
  ['categories', 'import', 'rows.csv', '--yes'],
  ['api', 'GET', '/categories'],
  ['api', 'POST', '/categories', '--data', '{"name":"dog"}'],
  ['auth', 'status'],
  ['quota'],
];

// Faults times commands, with a canary for a key: no byte of it anywhere, no second POST, no exit 1, no stack.
async function canary(count = 5000): Promise<void> {
  const names = Object.keys(FAULTS).filter((name) => !FAULTS[name]?.timesOut && name !== 'endless body');
  let [done, leaks, stacks, internal, doubled, elsewhere] = [0, 0, 0, 0, 0, 0];
  const worker = async (): Promise<void> => {
    while (done < count) {
      const at = done++;
      const name = names[at % names.length] ?? '';
      const command = COMMANDS[Math.floor(at / names.length) % COMMANDS.length] ?? [];
      const service = await startFaulty(FAULTS[name] as Fault, command[1] === 'import');
      const dir = mkdtempSync(join(tmpdir(), 'petstore-canary-'));
      writeFileSync(join(dir, 'rows.csv'), 'name\ndog\n');
      const env = {
        HOME: dir,
        PETSTORE_API_KEY: CANARY,
        PETSTORE_BASE_URL: `${service.origin}/v1`,
        PETSTORE_CONFIG_DIR: join(dir, 'config'),
        PETSTORE_STATE_DIR: join(dir, 'state'),
      };
      const verbose = at % 2 === 0 ? ['--verbose'] : [];
      const run = await outcome(
        spawn(process.execPath, [BIN, ...command, ...faultOptions(), ...verbose], { env, cwd: dir }),
      );
      if (leakIn(run.output) !== undefined || leakyFiles(dir, /^$/).length > 0) leaks++;
      if (run.code === 1) internal++;
      if (verbose.length === 0 && /\n\s+at /.test(run.output)) stacks++;
      if (service.requests.filter(({ method }) => method === 'POST').length > 1) doubled++;
      elsewhere += service.requests.filter(({ path }) => path.startsWith('/elsewhere')).length;
      service.close();
    }
  };
  await Promise.all([worker(), worker(), worker()]);
  say(
    `canary: ${count} runs: ${leaks} leaks, ${internal} exit 1, ${stacks} stacks, ${doubled} second POSTs, ${elsewhere} requests elsewhere`,
  );
  must(leaks + internal + stacks + doubled + elsewhere === 0, 'no leak, no fault of ours, no second POST');
}

function outcome(child: ReturnType<typeof spawn>): Promise<{ readonly code: number | null; readonly output: string }> {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stdin?.end();
  return new Promise((done) => child.on('close', (code) => done({ code, output })));
}
