// Sandbox processes that share a data file, for concurrent creates and SIGKILL.
import type { SandboxProcess } from './processes.ts';
import { startSandbox } from './processes.ts';

/** Starts an unlimited sandbox with a data file. */
export function startShared(bin: string, dataFile: string): Promise<SandboxProcess> {
  return startSandbox(bin, ['--data', dataFile, '--plan', 'enterprise']);
}

/** Creates a category and returns its id; rejects unless the response is 201. */
export async function createAt({ env }: SandboxProcess, name: string): Promise<number> {
  const response = await fetch(`${env['PETSTORE_BASE_URL']}/categories`, {
    method: 'POST',
    headers: { authorization: `Bearer ${env['PETSTORE_API_KEY']}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`status ${response.status}: ${text}`);
  return (JSON.parse(text) as { id: number }).id;
}

/**
 * Repeatedly kills a sandbox during creates, at random times.
 * @returns the id of each acknowledged create by name
 */
export async function killDuringCreates(
  bin: string,
  dataFile: string,
  kills: number,
  random: () => number,
): Promise<ReadonlyMap<string, number>> {
  const acknowledged = new Map<string, number>();
  for (let round = 0; round < kills; round++) {
    const sandbox = await startShared(bin, dataFile);
    let number = 0;
    const work = async (): Promise<void> => {
      for (;;) {
        const name = `r${round}n${number++}`;
        acknowledged.set(name, await createAt(sandbox, name));
      }
    };
    const workers = Array.from({ length: 8 }, () => work().catch(() => undefined));
    await new Promise((resolve) => setTimeout(resolve, 10 + random() * 120));
    await sandbox.stop();
    await Promise.all(workers);
  }
  return acknowledged;
}
