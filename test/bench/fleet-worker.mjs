// One process of the fleet benchmark: creates categories with a clock of its own, as one client of one machine.
const [peer, url, count, prefix, skew, stateDir, stateUrl, limit, windowMs, client] = process.argv.slice(2);
const realNow = Date.now;
Date.now = () => realNow() + Number(skew);
const key = 'fleet-bench-key-0123456789';
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
const warnings = [];

const makers = {
  async petstore() {
    const { createClient } = await import(client);
    const shared = stateUrl === '-' ? {} : { stateUrl };
    const onWarning = (text) => warnings.push(text);
    const made = createClient({ baseUrl: url, apiKey: key, stateDir, maxWaitMs: 600_000, onWarning, ...shared });
    return { create: (name) => made.categories.create({ name }), close: () => made.close() };
  },
  // As its documentation has it: cluster mode with the limit that the service really has.
  async bottleneck() {
    const { default: Bottleneck } = await import('bottleneck');
    const { default: Redis } = await import('ioredis');
    const reservoir = { reservoir: Number(limit), reservoirRefreshAmount: Number(limit) };
    const cluster = { id: 'fleet', datastore: 'ioredis', clearDatastore: false, clientOptions: stateUrl, Redis };
    const { hostname, port } = new URL(stateUrl);
    const options = { ...cluster, clientOptions: { host: hostname, port: Number(port) } };
    const limiter = new Bottleneck({ ...options, ...reservoir, reservoirRefreshInterval: Number(windowMs) });
    limiter.on('error', (error) => warnings.push(error.message));
    const send = async (name) => {
      const body = JSON.stringify({ name });
      const { status } = await fetch(`${url}/categories`, { method: 'POST', headers, body });
      if (status !== 201) throw new Error(String(status));
    };
    return { create: (name) => limiter.schedule(() => send(name)), close: () => limiter.disconnect(false) };
  },
};

const { create, close } = await makers[peer]();
process.stdout.write('ready\n');
await new Promise((go) => process.stdin.once('data', go));
process.stdin.destroy();
let next = 0;
let failed = 0;
const work = async () => {
  while (next < Number(count)) {
    await create(`${prefix}${next++}`).catch((error) => {
      failed++;
      warnings.push(error.message);
    });
  }
};
await Promise.all([work(), work()]);
await close();
process.stdout.write(JSON.stringify({ failed, warnings }));
process.exit(0);
