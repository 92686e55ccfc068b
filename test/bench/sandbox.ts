// The sandbox under the worst and at its fastest: killed 200 times during creates, and measured against bare node:http.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../../src/sandbox/faults.ts';
import { dataPaths, Store } from '../../src/sandbox/store.ts';
import { CHILD_KEY, createAt, killDuringCreates, startChild } from '../sandbox/child.ts';

/**
 * `npm run bench -- sandbox [kill KILLS | throughput ROUNDS | slow | signals]`; all of them unless one is named.
 * @param args which part, and its number
 */
export async function run(args: readonly string[]): Promise<void> {
  const [part, number] = args;
  const wanted = (name: string): boolean => part === undefined || part === name;
  if (wanted('kill')) await kills(Number(number ?? 200));
  if (wanted('throughput')) await throughput(Number(number ?? 11));
  if (wanted('slow')) await slow();
  if (wanted('signals')) await signals(Number(number ?? 10));
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not met: ${what}`);
}

async function inFolder<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  try {
    return await work(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function kills(count: number): Promise<void> {
  return inFolder(async (dir) => {
    const dataFile = join(dir, 'data');
    const acknowledged = await killDuringCreates(dataFile, count, seededRandom(1));
    const listed = JSON.parse(new Store(dataPaths(dataFile)).list().toString()) as { id: number; name: string }[];
    const ids = new Map(listed.map(({ name, id }) => [name, id]));
    const lost = [...acknowledged].filter(([name, id]) => ids.get(name) !== id).length;
    const twice = listed.length - new Set(listed.map(({ id }) => id)).size;
    say(`${count} SIGKILLs during creates: ${acknowledged.size} acknowledged, ${lost} lost, ${twice} ids given twice`);
    say(`  listed but not acknowledged (cut off between disk and answer): ${listed.length - acknowledged.size}`);
    must(lost === 0 && twice === 0, 'no acknowledged create is lost, no id is given twice');
  });
}

const CREATES = 2000;
const CREATORS = 32;

// The same work without the service: one write of the body to an append-only file, one shared flush, an answer.
const BARE = `
  import { createServer } from 'node:http';
  import { openSync, writeSync, fdatasync } from 'node:fs';
  const fd = openSync(process.argv[1], 'a');
  let flushing, next, id = 0;
  const flush = () => new Promise((done, fail) => fdatasync(fd, (error) => (error ? fail(error) : done())));
  function sync() {
    if (!flushing) return (flushing = flush().finally(() => { flushing = undefined; }));
    return (next ??= flushing.then(() => { next = undefined; return sync(); }));
  }
  createServer((request, response) => {
    const pieces = [];
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', async () => {
      const { name } = JSON.parse(Buffer.concat(pieces).toString());
      const item = JSON.stringify({ id: ++id, name });
      writeSync(fd, item + '\\n');
      await sync();
      response.writeHead(201, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(item) }).end(item);
    });
  }).listen(0, '127.0.0.1', function () { console.log(this.address().port); });`;

async function throughput(rounds: number): Promise<void> {
  const rates: Record<'bare' | 'sandbox', number[]> = { bare: [], sandbox: [] };
  // Interleaved, so that a busy machine is busy for both.
  for (let round = 0; round < rounds; round++) {
    rates.bare.push(await inFolder((dir) => rateOf(() => startBare(join(dir, 'data')))));
    rates.sandbox.push(await inFolder((dir) => rateOf(() => startChild(join(dir, 'data')))));
  }
  const [bare, sandbox] = [median(rates.bare), median(rates.sandbox)];
  say(`creates per second with fsync and without limits, ${CREATORS} creators, median of ${rounds} interleaved runs:`);
  say(`  bare node:http ${bare.toFixed(0)}, sandbox ${sandbox.toFixed(0)}: ${((sandbox / bare) * 100).toFixed(0)} %`);
  must(sandbox > bare / 2, 'the sandbox creates at least half as fast as a bare server');
}

interface Served {
  readonly port: number;
  kill(): Promise<void>;
}

async function startBare(file: string): Promise<Served> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', BARE, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const gone = once(child, 'exit');
  return {
    port: Number(line.toString()),
    kill: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

async function rateOf(serve: () => Promise<Served>): Promise<number> {
  const served = await serve();
  await createAll(served.port, CREATES / 10);
  const since = performance.now();
  await createAll(served.port, CREATES);
  const seconds = (performance.now() - since) / 1000;
  await served.kill();
  return CREATES / seconds;
}

async function createAll(port: number, count: number): Promise<void> {
  let sent = 0;
  const work = async (): Promise<void> => {
    while (sent < count) await createAt(port, `category ${sent++}`);
  };
  await Promise.all(Array.from({ length: CREATORS }, work));
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

// What only real time shows: a head and a body that never end are cut off, and so is the hundred-and-first connection.
function slow(): Promise<void> {
  return inFolder(async (dir) => {
    const child = await startChild(join(dir, 'data'));
    const head = 'POST /v1/categories HTTP/1.1\r\nHost: x\r\n';
    const keyed = `POST /v1/categories HTTP/1.1\r\nHost: 127.0.0.1:${child.port}\r\nAuthorization: Bearer ${CHILD_KEY}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{`;
    const [headEnd, bodyEnd] = await Promise.all([hold(child.port, head), hold(child.port, keyed)]);
    say(`a head that never ends: ${headEnd.status} after ${headEnd.seconds.toFixed(1)} s`);
    say(`a body that never ends: ${bodyEnd.status} after ${bodyEnd.seconds.toFixed(1)} s`);
    must(headEnd.status === 408 && headEnd.seconds < 8, 'a slow head ends within 5 s and the check for it');
    must(bodyEnd.status === 408 && bodyEnd.seconds < 33, 'a slow body ends within 30 s and the check for it');
    const flood = Array.from({ length: 150 }, () => connect(child.port, '127.0.0.1').on('error', () => undefined));
    const dropped = new Promise<number>((resolve) => {
      let closed = 0;
      const count = (): void => {
        closed += 1;
        if (closed === 50) resolve(closed);
      };
      for (const socket of flood) socket.on('close', count);
    });
    say(`150 connections at once: ${await dropped} dropped`);
    for (const socket of flood) socket.destroy();
    await child.kill();
  });
}

function hold(port: number, bytes: string): Promise<{ status: number; seconds: number }> {
  const since = performance.now();
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (piece: Buffer) => {
      text += piece.toString();
    });
    socket.on('error', () => undefined);
    socket.on('close', () =>
      resolve({ status: Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]), seconds: (performance.now() - since) / 1000 }),
    );
  });
}

async function signals(rounds: number): Promise<void> {
  for (const [signal, code] of [['SIGINT', 130] as const, ['SIGTERM', 143] as const]) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) times.push(await inFolder((dir) => endOf(dir, signal, code)));
    say(
      `${signal} with 20 open connections: gone after ${median(times).toFixed(0)} ms, at most ${Math.max(...times).toFixed(0)} ms`,
    );
    must(Math.max(...times) < 1000, 'a signal ends it within a second');
  }
}

async function endOf(dir: string, signal: NodeJS.Signals, code: number): Promise<number> {
  const args = ['bin/petstore.js', 'sandbox', '--port', '0', '--json', '--data', join(dir, 'data')];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const [piece] = (await once(child.stdout, 'data')) as [Buffer];
  const { url } = JSON.parse(piece.toString()) as { url: string };
  const open = Array.from({ length: 20 }, () =>
    connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined),
  );
  await Promise.all(open.map((socket) => once(socket, 'connect')));
  const since = performance.now();
  child.kill(signal);
  const [ended] = (await once(child, 'exit')) as [number];
  must(ended === code, `${signal} ends with ${code}, not ${ended}`);
  for (const socket of open) socket.destroy();
  return performance.now() - since;
}
