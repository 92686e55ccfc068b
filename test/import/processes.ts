// The built program as processes, for tests and benchmarks of the import: a sandbox apart, imports that may be killed.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { BASE_ENV } from '../support/base-env.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A sandbox that is listening, in a process of its own. */
export interface Sandbox {
  /** What a command needs to reach it. */
  readonly env: Record<string, string>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

/** Where a command runs. */
export interface Place {
  readonly dir: string;
  readonly env: Record<string, string>;
}

/** How a command ended. */
export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/**
 * Starts a sandbox on a free port with data of its own.
 * @param bin the built program
 * @param options options of `petstore sandbox`, `--json` among them
 */
export async function startSandbox(bin: string, options: readonly string[]): Promise<Sandbox> {
  const dir = tempDir();
  const env = { ...BASE_ENV, HOME: dir, PETSTORE_STATE_DIR: dir, PETSTORE_CONFIG_DIR: dir };
  const args = [
    bin,
    'sandbox',
    '--port',
    '0',
    '--data',
    join(dir, 'data'),
    '--key',
    'sandbox_of_the_import',
    ...options,
  ];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const url = await new Promise<string>((found, reject) => {
    let output = '';
    const listen = (chunk: Buffer): void => {
      output += chunk.toString();
      const url = /http:\/\/127\.0\.0\.1:\d+\/v1/.exec(output);
      if (url) found(url[0]);
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.on('exit', () => reject(new Error(`the sandbox ended: ${output}`)));
  });
  const gone = new Promise((done) => child.on('close', done));
  return {
    env: { PATH: env.PATH, PETSTORE_BASE_URL: url, PETSTORE_API_KEY: 'sandbox_of_the_import' },
    async stop() {
      child.kill('SIGKILL');
      await gone;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/**
 * Starts a command.
 * @param bin the built program
 * @param at its folder and environment
 * @param args the arguments
 */
export function start(bin: string, at: Place, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [resolve(bin), ...args], { cwd: at.dir, env: { HOME: at.dir, ...at.env } });
}

/** @returns how the process ended, with everything it wrote */
export function outcomeOf(child: ChildProcess): Promise<Outcome> {
  let out = '';
  let err = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    err += chunk.toString();
  });
  return new Promise((done) => child.on('close', (code) => done({ code, out, err })));
}

/**
 * Runs a command to its end.
 * @param bin the built program
 * @param at its folder and environment
 * @param args the arguments
 * @param stdin what it can read
 */
export function petstore(bin: string, at: Place, args: readonly string[], stdin = ''): Promise<Outcome> {
  const child = start(bin, at, args);
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(stdin);
  return outcomeOf(child);
}

/**
 * Waits until an import has noted something, whatever the machine's load.
 * @param at whose state folder, `PETSTORE_STATE_DIR`, holds the journal
 * @param text what must stand in it, for example `"created"`
 */
export async function untilNoted(at: Place, text: string): Promise<void> {
  const dir = join(at.env['PETSTORE_STATE_DIR'] ?? '', 'imports');
  for (;;) {
    const files = existsSync(dir) ? readdirSync(dir, { recursive: true, encoding: 'utf8' }) : [];
    if (files.some((file) => file.endsWith('.log') && readFileSync(join(dir, file), 'utf8').includes(text))) return;
    await new Promise((done) => setTimeout(done, 20));
  }
}
