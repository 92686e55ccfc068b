// The processes of the limits and fleet benchmarks: petstore's client library, and its peers from the npm registry.
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { compile } from '../test/support/compile.ts';
import { BASE_ENV } from '../test/support/processes.ts';
import type { LimitServerOptions } from './limit-server.ts';
import { untilWindowBegins } from './limit-server.ts';

export const CLIENTS = ['petstore', 'undici', 'got', 'octokit', 'bottleneck'] as const;
export type Client = (typeof CLIENTS)[number];

const PACKAGES =
  'undici@7.30.2 got@14.6.6 @octokit/core@7 @octokit/plugin-throttling@11.0.5 bottleneck@2.19.5 ioredis@5';

/** The task of one process of worker.mjs. */
export interface Work {
  readonly client: Client;
  readonly url: string;
  readonly count: number;
  /** Concurrent creates. */
  readonly workers: number;
  /** The prefix of the category names. */
  readonly prefix: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly stateDir: string;
  /** The clock of the process minus the machine's, in milliseconds. */
  readonly skewMs?: number;
  readonly stateUrl?: string | undefined;
}

export interface Report {
  readonly failed: number;
  readonly warnings: readonly string[];
}

export type StartWorker = (work: Work) => ChildProcess;

/** Installs missing peers in a directory of their own, and returns a function that starts a worker there. */
export function installClients(clients: readonly Client[]): StartWorker {
  const directory = resolve('node_modules/.cache/limits');
  mkdirSync(directory, { recursive: true });
  if (clients.some((client) => client !== 'petstore') && !existsSync(join(directory, 'node_modules/ioredis'))) {
    writeFileSync(join(directory, 'package.json'), '{"private":true,"type":"module"}');
    const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefix', directory];
    execFileSync('npm', ['install', ...options, ...PACKAGES.split(' ')], { stdio: ['ignore', 'ignore', 'inherit'] });
  }
  const script = join(directory, 'worker.mjs');
  copyFileSync('bench/worker.mjs', script);
  const library = compile('src/client.ts');
  return (work) =>
    spawn(process.execPath, [script, JSON.stringify({ ...work, library })], {
      env: { ...BASE_ENV },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
}

/**
 * Lets all processes start together at the beginning of a window, and kills those that run longer than `patienceMs`.
 * @returns a report of each process, undefined if it was killed
 */
export async function runWorkers(
  children: readonly ChildProcess[],
  service: LimitServerOptions,
  patienceMs: number,
  onStart: () => void = () => undefined,
): Promise<(Report | undefined)[]> {
  const outputs = children.map(() => '');
  for (const [index, child] of children.entries()) child.stdout?.on('data', (data) => (outputs[index] += data));
  await Promise.all(children.map((child) => once(child.stdout ?? child, 'data')));
  await untilWindowBegins(service);
  const ends = children.map((child) => once(child, 'close'));
  for (const child of children) child.stdin?.end('go\n');
  onStart();
  const kill = (): void => void children.map((child) => child.kill('SIGKILL'));
  const patience = setTimeout(kill, patienceMs);
  await Promise.all(ends);
  clearTimeout(patience);
  return outputs.map((text) => (text.includes('{') ? JSON.parse(text.slice(text.indexOf('{'))) : undefined));
}
