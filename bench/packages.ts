// Installs npm packages for a benchmark in a separate directory, so that the project's lockfile stays unchanged.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param name the benchmark, whose packages are installed once
 * @returns the directory
 */
export function installPackages(name: string, packages: readonly string[]): string {
  const directory = join(process.cwd(), 'node_modules', '.cache', name);
  mkdirSync(directory, { recursive: true });
  if (packages.length > 0 && !existsSync(join(directory, 'node_modules'))) {
    writeFileSync(join(directory, 'package.json'), '{"private":true,"type":"module"}');
    const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', directory, ...packages];
    execFileSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  }
  return directory;
}
