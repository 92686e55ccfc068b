// Starts a sandbox in its own process, for the benchmarks.
import { join } from 'node:path';
import { ended, place, startProgram } from '../test/support/processes.ts';

interface SandboxProcess {
  /** The environment of commands that use the sandbox. */
  readonly env: Record<string, string>;
  stop(): Promise<void>;
}

/** Starts `petstore sandbox` on a free port with its own data. */
export async function startSandbox(bin: string, options: readonly string[]): Promise<SandboxProcess> {
  const at = place();
  const own = ['--port', '0', '--data', join(at.dir, 'data'), '--key', 'sandbox_of_the_import'];
  const child = startProgram(bin, at, ['sandbox', '--json', ...own, ...options]);
  const gone = ended(child);
  const url = await new Promise<string>((found, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => found((JSON.parse(chunk.toString()) as { url: string }).url));
    void gone.then(({ err }) => reject(new Error(`the sandbox ended: ${err}`)));
  });
  return {
    env: { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: 'sandbox_of_the_import' },
    async stop() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}
