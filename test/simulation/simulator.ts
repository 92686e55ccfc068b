// Builds the simulator and runs worlds in a separate process.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Findings, OneWorld } from './main.ts';

const LONGEST_MS = 1_800_000;

export class Simulator {
  readonly #file: string;

  private constructor(file: string) {
    this.#file = file;
  }

  /** @param dir the bundle's directory */
  static async build(dir: string): Promise<Simulator> {
    const file = join(dir, 'simulator.mjs');
    // Resolve the module from the project root, because the caller may be bundled elsewhere.
    const { buildSimulator } = (await import(pathToFileURL('test/simulation/build.mjs').href)) as {
      readonly buildSimulator: (file: string) => Promise<void>;
    };
    await buildSimulator(file);
    return new Simulator(file);
  }

  /** @param timeoutMs the time limit of all worlds together */
  worlds(from: number, to: number, timeoutMs = LONGEST_MS): Promise<Findings> {
    return this.#run(['worlds', from, to], timeoutMs);
  }

  /** @param isPlanted whether the service creates categories twice, a violation that every world with creates shows */
  world(seed: number, isPlanted = false): Promise<OneWorld> {
    return this.#run(['world', seed, ...(isPlanted ? ['planted'] : [])], LONGEST_MS);
  }

  async #run<T>(args: readonly (string | number)[], timeout: number): Promise<T> {
    const options = { timeout, maxBuffer: 1e9, killSignal: 'SIGKILL' } as const;
    const { stdout } = await promisify(execFile)(process.execPath, [this.#file, ...args.map(String)], options);
    return JSON.parse(stdout) as T;
  }
}
