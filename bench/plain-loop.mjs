// The plain loop that an import is compared with: `node bench/plain-loop.mjs URL FILE CONNECTIONS`.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';

const [url, file, connections] = process.argv.slice(2);
const rows = readFileSync(file, 'utf8').trimEnd().split('\n');
const dispatcher = new Agent({ connections: Number(connections) });
const headers = { authorization: 'Bearer key-of-the-benchmark', 'content-type': 'application/json' };
const worker = async () => {
  for (let body = rows.pop(); body !== undefined; body = rows.pop()) {
    const response = await request(`${url}/categories`, { dispatcher, method: 'POST', headers, body });
    await response.body.json();
    if (response.statusCode !== 201) throw new Error(`status ${response.statusCode}`);
  }
};
await Promise.all(Array.from({ length: Number(connections) }, worker));
await dispatcher.close();
