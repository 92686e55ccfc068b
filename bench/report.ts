// Shared by the benchmarks: the measured program, output, requirements and medians.
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

export const BIN = resolve(process.env['PETSTORE_BIN'] ?? 'bin/petstore.js');

/**
 * Fetches a version of Node.js such as 24 and returns the path of its executable. The package `node` needs an install script,
 * which npm may block; the package of each platform contains the program.
 */
export function nodePath(version: string): string {
  const os = process.platform === 'win32' ? 'win' : process.platform;
  const find = ['-y', '-p', `node-${os}-${process.arch}@${version}`, 'node', '-p', 'process.execPath'];
  const path = execFileSync('npx', find, { encoding: 'utf8' }).trim();
  const fetched = execFileSync(path, ['--version'], { encoding: 'utf8' }).trim();
  must(fetched.startsWith(`v${version}.`) || fetched === `v${version}`, `Node.js ${version}, not ${fetched}`);
  return path;
}

export const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** @throws Error, which ends the benchmark, if a requirement is not met */
export function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`not met: ${what}`);
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
