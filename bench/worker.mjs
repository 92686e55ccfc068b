// One process of the limits and fleet benchmarks: creates `count` categories, `workers` at a time, with one client.
// Each client is configured as documented. Peers retry up to five times; undici and got retry POST, too. bottleneck reads no
// headers, so it knows the limit, and its processes share it through a Redis server. The argument is a JSON document.
import process from 'node:process';

const options = JSON.parse(process.argv[2]);
const { client, url, count, workers, prefix, windowMs, limit, stateDir, library, skewMs = 0, stateUrl } = options;
const realNow = Date.now;
if (skewMs !== 0) Date.now = () => realNow() + skewMs;
const key = 'limits-bench-key-0123456789';
const target = `${url}/categories`;
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
const warnings = [];
const post = (name) => ({ method: 'POST', headers, body: JSON.stringify({ name }) });

const makers = {
  async petstore() {
    const { createClient } = await import(library);
    const shared = stateUrl ? { stateUrl, maxWaitMs: 600_000 } : {};
    const own = createClient({ baseUrl: url, apiKey: key, stateDir, ...shared });
    return (name) => own.categories.create({ name }).then(() => 201);
  },
  async undici() {
    const { Agent, RetryAgent, request } = await import('undici');
    const dispatcher = new RetryAgent(new Agent(), { maxRetries: 5, methods: ['GET', 'POST'] });
    return async (name) => {
      const { statusCode, body } = await request(target, { ...post(name), dispatcher });
      await body.dump();
      return statusCode;
    };
  },
  async got() {
    const { got } = await import('got');
    const retry = { limit: 5, methods: ['GET', 'POST'] };
    return async (name) => (await got(target, { ...post(name), retry })).statusCode;
  },
  async octokit() {
    const { Octokit } = await import('@octokit/core');
    const { throttling } = await import('@octokit/plugin-throttling');
    const { default: Bottleneck } = await import('bottleneck/light.js');
    const again = (_after, _options, _octokit, retries) => retries < 5;
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    // Disable the plugin's default of one write per second, which would take minutes.
    const write = new Bottleneck.Group({ id: 'write', maxConcurrent: 300, minTime: 0 });
    const throttle = { write, onRateLimit: again, onSecondaryRateLimit: again };
    const octokit = new (Octokit.plugin(throttling))({ auth: key, baseUrl: url, log, throttle });
    return async (name) => (await octokit.request('POST /categories', { name })).status;
  },
  async bottleneck() {
    const { default: Bottleneck } = await import('bottleneck');
    const { Redis } = await import('ioredis');
    const { hostname, port } = new URL(stateUrl);
    const cluster = {
      datastore: 'ioredis',
      id: 'limits',
      Redis,
      clientOptions: { host: hostname, port: Number(port) },
    };
    const reservoir = { reservoir: limit, reservoirRefreshAmount: limit, reservoirRefreshInterval: windowMs };
    const create = async (name) => {
      const response = await fetch(target, post(name));
      await response.arrayBuffer();
      if (response.ok) return response.status;
      throw Object.assign(new Error(`status ${response.status}`), {
        after: Number(response.headers.get('retry-after')),
      });
    };
    // Create the limiter at the first request, so that its window matches the service's.
    let limiter;
    return (name) => {
      limiter ??= new Bottleneck({ ...reservoir, ...cluster }).on('failed', ({ after }, { retryCount }) =>
        after > 0 && retryCount < 5 ? 1000 * after : undefined,
      );
      return limiter.schedule(create, name);
    };
  },
};

const create = await makers[client]();
// Wait, so that all processes of a race start together.
process.stdout.write('ready\n');
await new Promise((go) => process.stdin.once('data', go));
process.stdin.destroy();
let next = 0;
let failed = 0;
const work = async () => {
  while (next < count) {
    const status = await create(`${prefix}${next++}`).catch((error) => void warnings.push(error.message));
    if (status !== 201) failed++;
  }
};
await Promise.all(Array.from({ length: workers }, work));
process.stdout.write(JSON.stringify({ failed, warnings }));
process.exit(0);
