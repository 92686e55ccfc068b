// A service in a separate thread, since the benchmark's event loop is blocked while a process runs; `/COUNT/v1` lists that
// many categories.
import { Worker } from 'node:worker_threads';

const SERVER = `
const { createServer } = require('node:http');
const { parentPort } = require('node:worker_threads');
const bodies = new Map();
const category = (_, i) => ({ id: i + 1, name: 'species ' + i, description: 'the description of category number ' + i });
const server = createServer(({ url }, response) => {
  const length = Number(url.split('/')[1]);
  if (!bodies.has(length)) bodies.set(length, Buffer.from(JSON.stringify(Array.from({ length }, category))));
  response.setHeader('content-type', 'application/json').end(bodies.get(length));
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`;

export async function serveLists(): Promise<{ port: number; stop: () => Promise<number> }> {
  const worker = new Worker(SERVER, { eval: true });
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  return { port, stop: () => worker.terminate() };
}
