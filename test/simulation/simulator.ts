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
  readonly seed: number;
  readonly steps: number;
  readonly violations: readonly { readonly step: number; readonly what: string }[];
  readonly trace: readonly string[];
  /** The smallest world that fails in the same way. */
  readonly smallest?: {
    readonly faults: readonly object[];
    readonly users: readonly object[];
    readonly trace: readonly string[];
  };
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
  worlds(from: number, to: number, { stop = false, timeoutMs = LONGEST_MS } = {}): Promise<Findings> {
    return this.#run(['worlds', String(from), String(to), ...(stop ? ['stop'] : [])], timeoutMs);
  }

  seeds(seeds: readonly number[], { stop = false, timeoutMs = LONGEST_MS } = {}): Promise<Findings> {
    return this.#run(['seeds', ...seeds.map(String), ...(stop ? ['stop'] : [])], timeoutMs);
  }

  /** Chooses `count` of the worlds that together meet the most states, the `wanted` ones among them. */
  choose(
    from: number,
    to: number,
    count: number,
    wanted: readonly number[],
  ): Promise<{ readonly seeds: readonly number[] }> {
    return this.#run(['choose', ...[from, to, count, ...wanted].map(String)], LONGEST_MS);
  }

  /** @param steps the number of steps after which the world ends; 0: no limit */
  world(seed: number, steps = 0): Promise<OneWorld> {
    return this.#run(['world', String(seed), String(steps)], LONGEST_MS);
  }

  /** Worlds of processes that share the sandbox's data. */
  sandboxes(from: number, to: number): Promise<{ readonly answered: number; readonly wrong: readonly string[] }> {
    return this.#run(['sandboxes', String(from), String(to)], LONGEST_MS);
  }

  async #run<T>(args: readonly string[], timeout: number): Promise<T> {
    const options = { timeout, maxBuffer: 1e9, killSignal: 'SIGKILL' } as const;
    const { stdout } = await promisify(execFile)(process.execPath, [this.#file, ...args], options);
    return JSON.parse(stdout) as T;
  }
}
