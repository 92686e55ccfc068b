// The liveness of the world's processes: a pid identifies a process on its own machine only.
import type { ProcessRef } from '../../../src/append-log/process-liveness.ts';
import { callingProcess, surroundings } from './world.ts';

export type { ProcessRef };

export function currentProcess(): ProcessRef {
  const { pid, machine } = callingProcess();
  return { pid, start: '1', host: machine.name };
}

export function livenessOf({ pid, host }: ProcessRef): 'alive' | 'dead' | 'unknown' {
  if (host !== callingProcess().machine.name) return 'unknown';
  return surroundings().processes.some((one) => one.pid === pid && !one.dead) ? 'alive' : 'dead';
}
