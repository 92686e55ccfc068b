// Builds the simulator and runs worlds in a separate process.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

/** A change to the program that the worlds should detect. */
export interface Mutation {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export interface Findings {
  readonly worlds: number;
  readonly steps: number;
  readonly commands: number;
  readonly virtualHours: number;
  readonly seconds: number;
  readonly found: readonly { readonly seed: number; readonly step: number; readonly what: string }[];
  /** How often each fault met each state, for example `kill × create in flight of import`. */
  readonly coverage: Readonly<Record<string, number>>;
}

export interface OneWorld {
  readonly steps: number;
  readonly violations: readonly { readonly step: number; readonly what: string }[];
  /** The faults, without those that the violation does not need, and the trace of the world with these. */
  readonly faults: readonly object[];
  readonly trace: readonly string[];
}

const LONGEST_MS = 1_800_000;

export class Simulator {
  readonly #file: string;

  private constructor(file: string) {
    this.#file = file;
  }

  /** @param dir the bundle's directory */
  static async build(dir: string, mutation?: Mutation): Promise<Simulator> {
    const file = join(dir, 'simulator.mjs');
    // Resolve the module from the project root, because the caller may be bundled elsewhere.
    const { buildSimulator } = (await import(pathToFileURL('test/simulation/build.mjs').href)) as {
      readonly buildSimulator: (file: string, mutation?: Mutation) => Promise<void>;
    };
    await buildSimulator(file, mutation);
    return new Simulator(file);
  }

  /** @param timeoutMs the time limit of all worlds together */
  worlds(from: number, to: number, timeoutMs = LONGEST_MS): Promise<Findings> {
    return this.#run(['worlds', from, to], timeoutMs);
  }

  /**
   * @param steps the number of steps after which the world ends; 0: no limit
   * @param isPlanted whether the service creates categories twice, a violation that every world with creates shows
   */
  world(seed: number, { steps = 0, isPlanted = false } = {}): Promise<OneWorld> {
    return this.#run(['world', seed, steps, ...(isPlanted ? ['planted'] : [])], LONGEST_MS);
  }

  async #run<T>(args: readonly (string | number)[], timeout: number): Promise<T> {
    const options = { timeout, maxBuffer: 1e9, killSignal: 'SIGKILL' } as const;
    const { stdout } = await promisify(execFile)(process.execPath, [this.#file, ...args.map(String)], options);
    return JSON.parse(stdout) as T;
  }
}
