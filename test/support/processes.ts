// Processes of the built program, for tests and benchmarks: directories, environment and outcome.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { tempDir } from './temp-dir.ts';

/** The inherited environment of every process: PATH and the variables of `faketime`. */
export const BASE_ENV: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value = '']) =>
    /^(?:PATH|LD_PRELOAD|\w*FAKETIME\w*)$/.test(name) ? [[name, value]] : [],
  ),
);

/** A directory and an environment for one or more commands. */
export interface Place {
  readonly dir: string;
  readonly env: Record<string, string>;
}

export interface Outcome {
  /** The exit code as a shell reports it: 128 + N after signal N. */
  readonly code: number;
  /** The signal that ended the process. */
  readonly signal?: NodeJS.Signals;
  readonly out: string;
  readonly err: string;
}

/** Creates a place: a new home directory, in which commands create the config and state directories. */
export function place(env: Record<string, string> = {}): Place {
  const dir = tempDir();
  const directories = { PETSTORE_CONFIG_DIR: join(dir, 'config'), PETSTORE_STATE_DIR: join(dir, 'state') };
  return { dir, env: { ...BASE_ENV, HOME: dir, TMPDIR: tmpdir(), ...directories, ...env } };
}

export function startProgram(bin: string, at: Place, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [resolve(bin), ...args], { env: at.env, cwd: at.dir });
}

export function runProgram(
  bin: string,
  at: Place,
  args: readonly string[],
  stdin: string | Uint8Array = '',
): Promise<Outcome> {
  const child = startProgram(bin, at, args);
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(stdin);
  return ended(child);
}

export async function ended(child: ChildProcess): Promise<Outcome> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout?.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => err.push(chunk));
  const [exitCode, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  const text = { out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
  return signal ? { code: 128 + constants.signals[signal], signal, ...text } : { code: exitCode ?? 1, ...text };
}

const DEADLINE_MS = 60_000;

/**
 * Waits in real time for a condition that another process or a server fulfills.
 * @throws Error that shows the condition, after a minute
 */
export async function until(holds: () => boolean): Promise<void> {
  const since = performance.now();
  while (!holds()) {
    if (performance.now() - since > DEADLINE_MS) throw new Error(`this did not happen in a minute: ${holds}`);
    await new Promise((done) => setTimeout(done, 10));
  }
}
