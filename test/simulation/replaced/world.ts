// Gives the replaced modules access to the running world, since the program that calls them cannot pass it.
import type { Network } from '../network.ts';
import type { Scheduler, SimulatedProcess } from '../scheduler.ts';
import { currentProcess } from '../scheduler.ts';
import type { StateServer } from '../state-server.ts';

export interface Surroundings {
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly stateServer: StateServer;
  readonly processes: readonly SimulatedProcess[];
  /** Draws a random byte without affecting the other draws. */
  readonly randomByte: () => number;
  readonly kill: (process: SimulatedProcess) => void;
}

let current: Surroundings | undefined;

export function setSurroundings(surroundings: Surroundings): void {
  current = surroundings;
}

export function surroundings(): Surroundings {
  if (!current) throw new Error('no world runs');
  return current;
}

export function callingProcess(): SimulatedProcess {
  const process = currentProcess();
  if (!process) throw new Error('called outside of a simulated process');
  return process;
}
