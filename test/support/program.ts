// Runs the built program in a process, with a clean environment and its own folders.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { BASE_ENV } from './base-env.ts';
import { tempDir } from './temp-dir.ts';

export { BASE_ENV };

/** The built program's path. */
export const BIN = inject('bin');

/** How one run ended. */
export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A place where a test's commands keep their keys and state, and what they share of environment. */
export interface Place {
  readonly dir: string;
  readonly env: Record<string, string>;
}

/**
 * @param env variables to add
 * @returns fresh folders for config, state, home and temporary files
 */
export function place(env: Record<string, string> = {}): Place {
  const dir = tempDir();
  const base = {
    ...BASE_ENV,
    HOME: dir,
    TMPDIR: tmpdir(),
    PETSTORE_CONFIG_DIR: join(dir, 'config'),
    PETSTORE_STATE_DIR: join(dir, 'state'),
  };
  return { dir, env: { ...base, ...env } };
}

/**
 * Starts the program.
 * @param at whose folders and environment
 * @param args the arguments
 * @param node the Node to run it with; this one unless given
 * @param bin another copy of the program
 */
export function start(at: Place, args: readonly string[], node = process.execPath, bin = BIN): ChildProcess {
  return spawn(node, [bin, ...args], { env: at.env, cwd: at.dir });
}

/**
 * Runs the program to its end.
 * @param at whose folders and environment
 * @param args the arguments
 * @param stdin what it can read; nothing unless given
 * @returns its exit code and everything it wrote
 */
export function petstore(at: Place, args: readonly string[], stdin: string | Uint8Array = ''): Promise<Outcome> {
  const child = start(at, args);
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(stdin);
  return ended(child);
}

/** @returns the outcome of a process when it has ended */
export function ended(child: ChildProcess): Promise<Outcome> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) =>
      resolve({ code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() }),
    );
  });
}
