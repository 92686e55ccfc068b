// One measured run: a service, and one client in one or more processes.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { tempDir } from '../test/support/temp-dir.ts';
import type { LimitServerOptions, Seen } from './limit-server.ts';
import { referenceMs, startLimitServer } from './limit-server.ts';
import type { Peer, StartWorker } from './limits-peers.ts';
import { allReady } from './limits-peers.ts';
import { copyProgram } from './report.ts';

export interface Race {
  readonly peer: Peer;
  readonly service: LimitServerOptions;
  readonly requests: number;
  readonly processes: number;
  readonly workers: number;
  /** True: one process per request, eight at a time, as `xargs -P 8` starts them. */
  readonly perRequest?: boolean;
  /** Number of state directories: two simulate two hosts with one key. */
  readonly hosts?: number;
  /** Workers that still wait after this time are killed, in milliseconds. */
  readonly patienceMs?: number;
  /** Requests per second of another client with the same key. */
  readonly foreignPerSecond?: number;
}

export interface Result {
  readonly race: Race;
  readonly seen: Seen;
  readonly created: number;
  readonly duplicates: number;
  /** Time from the first request to the last response to a create, in milliseconds, and its reference. */
  readonly makespanMs: number;
  readonly referenceMs: number;
  /** Number of workers that still waited after `patienceMs` and were killed. */
  readonly ended: number;
}

const KEY = 'limits-bench-key-0123456789';

/** @param startWorker from `installPeers` */
export async function runRace(race: Race, startWorker: StartWorker): Promise<Result> {
  const { service } = race;
  const server = await startLimitServer(service);
  const stop = race.foreignPerSecond ? trickle(server.baseUrl, race.foreignPerSecond) : () => undefined;
  const directories = Array.from({ length: race.hosts ?? 1 }, () => tempDir());
  let ended = 0;
  if (race.perRequest) {
    await untilWindowBegins(service);
    await perRequest(race, server.baseUrl, directories[0] ?? '');
  } else {
    const { peer, workers } = race;
    const children = shares(race).map((count, index) => {
      const stateDir = directories[index % directories.length] ?? '';
      const { limit, windowMs } = service;
      return startWorker({
        peer,
        workers,
        count,
        limit,
        windowMs,
        stateDir,
        url: server.baseUrl,
        prefix: `p${index}-`,
      });
    });
    await allReady(children);
    await untilWindowBegins(service);
    ended = (await Promise.all(children.map((child) => go(child, race.patienceMs ?? 600_000)))).filter(Boolean).length;
  }
  stop();
  await server.close();
  const { seen } = server;
  const duplicates = [...seen.created.values()].reduce((sum, times) => sum + times - 1, 0);
  const makespanMs = seen.lastAnsweredAt - seen.firstAt;
  const reference = referenceMs(service, race.requests, seen.firstAt);
  return { race, seen, created: seen.created.size, duplicates, makespanMs, referenceMs: reference, ended };
}

function shares({ requests, processes }: Race): number[] {
  return Array.from({ length: processes }, (_, index) => Math.floor((requests + index) / processes));
}

// Waits until a fixed window begins, so that the first burst of every client fits into one window.
async function untilWindowBegins({ windowMs, mode, skewMs = 0 }: LimitServerOptions): Promise<void> {
  if (mode !== 'fixed') return;
  const now = Date.now() + skewMs;
  await new Promise((resolve) => setTimeout(resolve, (Math.floor(now / windowMs) + 1) * windowMs - now + 50));
}

// Resolves to true if the process was killed.
async function go(child: ChildProcess, patienceMs: number): Promise<boolean> {
  let impatient = false;
  const timer = setTimeout(() => {
    impatient = true;
    child.kill('SIGKILL');
  }, patienceMs);
  child.stdin?.end('go\n');
  await ended(child);
  clearTimeout(timer);
  return impatient;
}

function perRequest(race: Race, url: string, stateDir: string): Promise<void> {
  const { peer, requests } = race;
  const curl = ['curl', '-s', '-X', 'POST', '-H', `Authorization: Bearer ${KEY}`];
  const command =
    peer === 'curl'
      ? [...curl, '--retry', '5', '-d', '{"name":"{}"}', `${url}/categories`]
      : [process.execPath, builtProgram(), 'categories', 'create', '--name', '{}', '--quiet', '--json'];
  const env = {
    ...process.env,
    PETSTORE_API_KEY: KEY,
    PETSTORE_BASE_URL: url,
    PETSTORE_STATE_DIR: stateDir,
    PETSTORE_CONFIG_DIR: stateDir,
  };
  const child = spawn('xargs', ['-P', '8', '-I', '{}', ...command], { env, stdio: ['pipe', 'ignore', 'ignore'] });
  child.stdin.end(Array.from({ length: requests }, (_, index) => `c${index}\n`).join(''));
  return ended(child);
}

let copied: string | undefined;

function builtProgram(): string {
  copied ??= copyProgram();
  return copied;
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.on('close', () => resolve()));
}

function trickle(url: string, perSecond: number): () => void {
  const headers = { authorization: `Bearer ${KEY}`, 'x-foreign': '1' };
  const timer = setInterval(() => {
    fetch(`${url}/categories`, { headers }).then(
      (reply) => reply.arrayBuffer(),
      () => undefined,
    );
  }, 1000 / perSecond);
  return () => clearInterval(timer);
}
