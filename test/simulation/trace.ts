// The trace of a world: the same seed gives the same lines.
import { root } from './disks.ts';
import type { Scheduler, SimulatedProcess } from './scheduler.ts';

export class Trace {
  readonly lines: string[] = [];
  readonly #scheduler: Scheduler;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  add(process: SimulatedProcess | undefined, text: string): void {
    const who = process ? `${process.machine.name}/${process.pid}` : 'world';
    const time = (this.#scheduler.now / 1000).toFixed(3).padStart(10);
    this.lines.push(`${time}s ${who.padEnd(8)} ${text.replaceAll(root, '')}`);
  }
}
