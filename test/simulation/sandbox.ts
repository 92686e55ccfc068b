// Processes that share the sandbox's data and are killed, even during a write: no acknowledged create is lost.
import { dataPaths, Store } from '../../src/sandbox/store.ts';
import { formatDisks } from './replaced/fs.ts';
import type { Surroundings } from './replaced/world.ts';
import { setSurroundings } from './replaced/world.ts';
import type { SimulatedProcess } from './scheduler.ts';
import { draws, Scheduler, settled } from './scheduler.ts';

const PROCESSES = 12;
const CREATES = 10;
const ROTATE_AT_BYTES = 700;
const PATHS = dataPaths('/m0/sandbox/data');

/** @returns the number of acknowledged creates, and the names that are lost or exist twice */
export async function runSandbox(
  seed: number,
): Promise<{ readonly answered: number; readonly wrong: readonly string[] }> {
  const scheduler = new Scheduler(draws(seed));
  const processes: SimulatedProcess[] = [];
  const answered: string[] = [];
  const kill = (process: SimulatedProcess): void => {
    process.dead = true;
  };
  formatDisks();
  // There is neither a network nor a state server here.
  setSurroundings({
    scheduler,
    processes,
    kill,
    randomByte: () => Math.floor(scheduler.random() * 256),
  } as unknown as Surroundings);
  const machine = { name: 'm0', skewMs: 0, jumps: [], freeBytes: Number.POSITIVE_INFINITY, diskFailed: false };
  const start = (work: (store: Store, process: SimulatedProcess) => Promise<void>): void => {
    const process = {
      pid: processes.length,
      machine,
      command: 'sandbox',
      sparedUntil: -1,
      suspendedUntil: 0,
      dead: false,
      diesWriting: false,
    } as unknown as SimulatedProcess;
    processes.push(process);
    scheduler.after(scheduler.between(0, 40), process, () => {
      const open = async (): Promise<void> => work(new Store(PATHS, { rotateAtBytes: ROTATE_AT_BYTES }), process);
      open().catch((error: unknown) => {
        if (!process.dead) throw error;
      });
    });
  };
  for (let number = 0; number < PROCESSES; number++) {
    start(async (store, process) => {
      for (let create = 0; create < CREATES; create++) {
        if (scheduler.random() < 0.06) process.diesWriting = true;
        if (scheduler.random() < 0.03) scheduler.after(scheduler.between(0, 3), undefined, () => kill(process));
        const name = `${number}.${create}`;
        await store.create({ name });
        answered.push(name);
        await new Promise<void>((resolve) => scheduler.after(scheduler.between(0, 4), process, resolve));
      }
    });
  }
  while (await scheduler.step());
  let listed: readonly string[] = [];
  start(async (store) => {
    listed = (JSON.parse(store.list().toString()) as { name: string }[]).map(({ name }) => name);
  });
  while (await scheduler.step());
  await settled();
  return {
    answered: answered.length,
    wrong: answered.filter((name) => listed.filter((one) => one === name).length !== 1),
  };
}
