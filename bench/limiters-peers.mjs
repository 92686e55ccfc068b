// Creates categories with got or ky, eight at a time: `node limiters-peers.mjs PEER URL KEY COUNT`; exits with 5 if any failed.
import process from 'node:process';

const [peer, url, key, count] = process.argv.slice(2);
const headers = { authorization: `Bearer ${key}` };
// Configured as documented, with POST added to the retried methods and five retries.
const peers = {
  async got() {
    const { got } = await import('got');
    return (json) => got.post(url, { headers, json, retry: { limit: 5, methods: ['GET', 'POST'] } });
  },
  async ky() {
    const { default: ky } = await import('ky');
    return (json) => ky.post(url, { headers, json, timeout: false, retry: { limit: 5, methods: ['get', 'post'] } });
  },
};
const create = await peers[peer]();
let next = 0;
let failed = 0;
const work = async () => {
  while (next < Number(count)) await create({ name: `row-${++next}` }).catch(() => failed++);
};
await Promise.all(Array.from({ length: 8 }, work));
process.stdout.write(`${JSON.stringify({ failed: Array(failed).fill(0) })}\n`);
process.exit(failed > 0 ? 5 : 0);
