// The package of this build, packed and installed in a temporary directory.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { BASE_ENV } from './processes.ts';
import { BIN } from './program.ts';
import { tempDir } from './temp-dir.ts';

export const exec = promisify(execFile);
export const PROJECT = join(import.meta.dirname, '../..');

/** An ES module project with the package as its only dependency. */
export interface Installed {
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** The report of `npm pack --json`. */
  readonly packed: {
    readonly filename: string;
    readonly files: readonly { readonly path: string }[];
    readonly unpackedSize: number;
  };
}

export async function installPackage(): Promise<Installed> {
  // A path with a space.
  const directory = join(tempDir(), 'my projects');
  const home = join(directory, 'home');
  mkdirSync(home, { recursive: true });
  const built = dirname(dirname(BIN));
  for (const name of ['README.md', 'LICENSE', 'CHANGELOG.md']) {
    writeFileSync(join(built, name), readFileSync(join(PROJECT, name)));
  }
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', directory];
  const { stdout } = await exec('npm', pack, { cwd: built });
  const [packed] = JSON.parse(stdout) as [Installed['packed']];
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
  const install = ['install', '--offline', '--no-audit', '--no-fund', join(directory, packed.filename)];
  await exec('npm', install, { cwd: directory });
  const env = { ...BASE_ENV, HOME: home, PETSTORE_STATE_DIR: join(home, 's'), PETSTORE_CONFIG_DIR: join(home, 'c') };
  return { directory, env, packed };
}

/**
 * Compiles files of the project with TypeScript in strict mode.
 * @returns the errors, or an empty string
 */
export async function compileIn(directory: string, files: readonly string[], options: object): Promise<string> {
  const typeRoots = [join(PROJECT, 'node_modules', '@types')];
  const compilerOptions = { strict: true, exactOptionalPropertyTypes: true, target: 'es2022', typeRoots, ...options };
  const config = join(directory, 'tsconfig.json');
  writeFileSync(config, JSON.stringify({ compilerOptions, files }));
  const tsc = join(PROJECT, 'node_modules', 'typescript', 'bin', 'tsc');
  return await exec(process.execPath, [tsc, '-p', config]).then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout || 'the compiler failed',
  );
}
