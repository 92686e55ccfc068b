// The clients of the benchmark: petstore, and peers from the npm registry.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile } from '../test/support/compile.ts';
import { installPackages } from './packages.ts';

/** Every client by name; `bottleneck` does not retry. */
export const PEERS = ['petstore', 'undici', 'got', 'octokit', 'bottleneck', 'curl'] as const;
export type Peer = (typeof PEERS)[number];

const PACKAGES = [
  'undici@7.30.2',
  'got@14.6.6',
  '@octokit/core@7',
  '@octokit/plugin-throttling@11.0.5',
  'bottleneck@2.19.5',
];

/** The task of one process of worker.mjs. */
export interface Work {
  readonly peer: Peer;
  readonly url: string;
  readonly count: number;
  /** Concurrent creates. */
  readonly workers: number;
  /** The prefix of the category names. */
  readonly prefix: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly stateDir: string;
  /** The clock of the process minus the machine's, milliseconds. */
  readonly skewMs?: number;
  readonly stateUrl?: string | undefined;
}

/** Starts a process that prints a line when it is ready, and sends requests once it reads one. */
export type StartWorker = (work: Work) => ChildProcess;

/** Installs missing peers from the npm registry. */
export function installPeers(peers: readonly Peer[]): StartWorker {
  const fromRegistry = peers.some((peer) => peer !== 'petstore' && peer !== 'curl');
  const directory = installPackages('limits', fromRegistry ? PACKAGES : []);
  const script = join(directory, 'worker.mjs');
  copyFileSync('bench/worker.mjs', script);
  const client = compile('src/client.ts');
  return (work) =>
    spawn(process.execPath, [script, JSON.stringify({ ...work, client })], { stdio: ['pipe', 'pipe', 'inherit'] });
}

/** Resolves when all processes are ready. */
export async function allReady(children: readonly ChildProcess[]): Promise<void> {
  await Promise.all(children.map((child) => new Promise((resolve) => child.stdout?.once('data', resolve))));
}
