// Sandboxes in processes of their own, to test parallel processes and SIGKILL.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { compile } from './compile.ts';

export const CHILD_KEY = 'sandbox_child_key_0001';

/** An unlimited sandbox in a process of its own. */
export interface Child {
  readonly port: number;
  /** Resolves when the process has ended. */
  kill(signal?: NodeJS.Signals): Promise<void>;
}

export async function startChild(dataFile: string): Promise<Child> {
  const script = `
    import { startSandbox } from ${JSON.stringify(compile('src/sandbox/server.ts'))};
    import { systemClock } from ${JSON.stringify(compile('src/clock.ts'))};
    const options = { dataFile: process.argv[1], clock: systemClock, port: 0, keys: ['${CHILD_KEY}'], limits: [] };
    console.log((await startSandbox(options)).port);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, dataFile], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  return {
    port,
    async kill(signal = 'SIGKILL') {
      const exit = once(child, 'exit');
      child.kill(signal);
      await exit;
    },
  };
}

/** Creates a category and returns its id; rejects unless the response is 201. */
export async function createAt(port: number, name: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/categories`, {
    method: 'POST',
    headers: { authorization: `Bearer ${CHILD_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`status ${response.status}: ${text}`);
  return (JSON.parse(text) as { id: number }).id;
}

/**
 * Kills a sandbox again and again while it creates.
 * @param random when to kill, numbers in [0, 1)
 * @returns the id of every create that was answered 201, by name
 */
export async function killDuringCreates(
  dataFile: string,
  kills: number,
  random: () => number,
): Promise<ReadonlyMap<string, number>> {
  const acknowledged = new Map<string, number>();
  for (let round = 0; round < kills; round++) {
    const child = await startChild(dataFile);
    let number = 0;
    const work = async (): Promise<void> => {
      for (;;) {
        const name = `r${round}n${number++}`;
        acknowledged.set(name, await createAt(child.port, name));
      }
    };
    const workers = Array.from({ length: 8 }, () => work().catch(() => undefined));
    await new Promise((resolve) => setTimeout(resolve, 10 + random() * 120));
    await child.kill();
    await Promise.all(workers);
  }
  return acknowledged;
}
