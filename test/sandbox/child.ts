// Sandboxes in processes of their own, for tests of what processes do to each other and what SIGKILL does to them.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { compile } from '../support/compile.ts';

export const CHILD_KEY = 'sandbox_child_key_0001';

/** A sandbox without limits in a process of its own. */
export interface Child {
  readonly port: number;
  readonly process: ChildProcess;
  /** Ends it at once, and waits for that. */
  kill(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * @param dataFile its data
 * @returns resolves when it listens
 */
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
  return {
    port: Number(line.toString()),
    process: child,
    async kill(signal = 'SIGKILL') {
      const gone = once(child, 'exit');
      child.kill(signal);
      await gone;
    },
  };
}

/** Creates categories over kept connections. */
export class Creator {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  /**
   * @param name of the category
   * @returns its id where the create was answered 201
   * @throws whatever ends the connection; where the answer is another one
   */
  create(name: string): Promise<number> {
    const body = JSON.stringify({ name });
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          host: '127.0.0.1',
          port: this.#port,
          method: 'POST',
          path: '/v1/categories',
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${CHILD_KEY}`,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          },
        },
        (incoming) => {
          let text = '';
          incoming.on('data', (piece: Buffer) => {
            text += piece.toString();
          });
          incoming.on('error', reject);
          incoming.on('end', () => {
            if (incoming.statusCode !== 201) return reject(new Error(`answered ${incoming.statusCode}: ${text}`));
            resolve((JSON.parse(text) as { id: number }).id);
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** What is left after the kills. */
export interface Survival {
  readonly kills: number;
  /** Creates that were answered 201, by name. */
  readonly acknowledged: ReadonlyMap<string, number>;
}

/**
 * Kills a sandbox again and again while it creates.
 * @param dataFile the data that all of them share
 * @param kills how often
 * @param random when, a number in [0, 1) at a time
 * @returns what was acknowledged
 */
export async function killDuringCreates(dataFile: string, kills: number, random: () => number): Promise<Survival> {
  const acknowledged = new Map<string, number>();
  for (let round = 0; round < kills; round++) {
    const child = await startChild(dataFile);
    const creator = new Creator(child.port);
    let number = 0;
    const work = async (): Promise<void> => {
      for (;;) {
        const name = `r${round}n${number++}`;
        acknowledged.set(name, await creator.create(name));
      }
    };
    const workers = Array.from({ length: 8 }, () => work().catch(() => undefined));
    await new Promise((resolve) => setTimeout(resolve, 10 + random() * 120));
    await child.kill();
    await Promise.all(workers);
    creator.close();
  }
  return { kills, acknowledged };
}
