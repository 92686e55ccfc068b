// The clients that are measured: ours, and peers of the npm registry.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile } from '../support/compile.ts';
import { installPackages } from './packages.ts';

/** Every client by name; `bottleneck`, `p-throttle` and `naive` do not retry. */
export const PEERS = [
  'petstore',
  'undici',
  'ky',
  'got',
  'octokit',
  'p-throttle',
  'bottleneck',
  'naive',
  'curl',
] as const;
export type Peer = (typeof PEERS)[number];

const PACKAGES = [
  'undici@7.30.2',
  'ky@1.14.3',
  'got@14.6.6',
  '@octokit/core@7',
  '@octokit/plugin-throttling@11.0.5',
  'p-throttle@8.1.1',
  'bottleneck@2.19.5',
];

// One worker process: creates `count` categories with `workers` at a time; each client as its documentation has it,
// POST added to what it retries, five retries, limits of the blind pacers set to the truth.
const WORKER = `
const [peer, url, countText, workersText, prefix, windowText, limitText, stateDir, client] = process.argv.slice(2);
const count = Number(countText), workers = Number(workersText), interval = Number(windowText), limit = Number(limitText);
const key = 'limits-bench-key-0123456789', target = url + '/categories';
const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' };
const body = (name) => JSON.stringify({ name });
const plain = async (name) => (await fetch(target, { method: 'POST', headers, body: body(name) })).status;
const makers = {
  async petstore() {
    const { createClient } = await import(client);
    const c = createClient({ baseUrl: url, apiKey: key, stateDir });
    return async (name) => (await c.categories.create({ name }), 201);
  },
  async undici() {
    const { Agent, RetryAgent, request } = await import('undici');
    const dispatcher = new RetryAgent(new Agent(), { maxRetries: 5, methods: ['GET', 'POST'] });
    return async (name) => { const r = await request(target, { method: 'POST', headers, body: body(name), dispatcher }); await r.body.dump(); return r.statusCode; };
  },
  async ky() {
    const { default: ky } = await import('ky');
    return async (name) => (await ky.post(target, { headers, body: body(name), timeout: false, retry: { limit: 5, methods: ['get', 'post'] } })).status;
  },
  async got() {
    const { got } = await import('got');
    return async (name) => (await got.post(target, { headers, body: body(name), retry: { limit: 5, methods: ['GET', 'POST'] } })).statusCode;
  },
  async octokit() {
    const { Octokit } = await import('@octokit/core'); const { throttling } = await import('@octokit/plugin-throttling');
    const { default: Bottleneck } = await import('bottleneck/light.js');
    const again = (_after, _options, _octokit, retries) => retries < 5;
    // Its own spacing of writes, one a second, is switched off: it would take minutes.
    const write = new Bottleneck.Group({ id: 'write', maxConcurrent: 300, minTime: 0 });
    const octokit = new (Octokit.plugin(throttling))({ auth: key, baseUrl: url, log: { debug() {}, info() {}, warn() {}, error() {} },
      throttle: { write, onRateLimit: again, onSecondaryRateLimit: again } });
    return async (name) => (await octokit.request('POST /categories', { name })).status;
  },
  async 'p-throttle'() { const { default: pThrottle } = await import('p-throttle'); return pThrottle({ limit, interval })(plain); },
  async bottleneck() {
    const { default: Bottleneck } = await import('bottleneck');
    // Its window begins with the first request: started earlier it would not meet the service's.
    let b;
    const start = () => new Bottleneck({ reservoir: limit, reservoirRefreshAmount: limit, reservoirRefreshInterval: interval, maxConcurrent: workers });
    return (name) => (b ??= start()).schedule(() => plain(name));
  },
  async naive() { return plain; },
};
const create = await makers[peer]();
// All processes of a race start together, whatever they took to load.
process.stdout.write('ready\\n');
await new Promise((go) => process.stdin.once('data', go));
process.stdin.destroy();
let next = 0, ok = 0, failed = 0, last;
const work = async () => { while (next < count) { const name = prefix + next++; try { (await create(name)) === 201 ? ok++ : failed++; } catch (e) { failed++; last = e; } } };
await Promise.all(Array.from({ length: workers }, work));
process.stdout.write(JSON.stringify({ ok, failed, last: last && (last.kind ?? last.code ?? last.name) }));
process.exit(0);
`;

/** A worker script and the client it loads. */
export interface Worker {
  readonly script: string;
  readonly client: string;
}

/**
 * Installs the peers where they are missing, and writes the worker beside them.
 * @param peers who takes part; without a peer from the registry nothing is installed
 * @returns the worker
 */
export function installPeers(peers: readonly Peer[]): Worker {
  const fromRegistry = peers.some((peer) => peer !== 'petstore' && peer !== 'curl' && peer !== 'naive');
  const folder = installPackages('limits', fromRegistry ? PACKAGES : []);
  const script = join(folder, 'worker.mjs');
  writeFileSync(script, WORKER);
  return { script, client: compile('src/client.ts') };
}
