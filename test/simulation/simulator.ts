// Builds the simulator and loads it.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export type Simulator = typeof import('./main.ts');

/** @param dir the bundle's directory */
export async function loadSimulator(dir: string): Promise<Simulator> {
  const file = join(dir, 'simulator.mjs');
  // Resolve the module from the project root, because the caller may be bundled elsewhere.
  const { buildSimulator } = (await import(pathToFileURL('test/simulation/build.mjs').href)) as {
    readonly buildSimulator: (file: string) => Promise<void>;
  };
  await buildSimulator(file);
  return import(pathToFileURL(file).href);
}
