// The liveness of the world's processes: a pid identifies a process on its own host only.
import type { ProcessRef } from '../../../src/shared-log/process-liveness.ts';
import { callingProcess, surroundings } from './world.ts';

export type { ProcessRef };

// The hosts of a world have different names, so it makes no difference whether a record is on a server.
export function observeProcesses() {
  const own = callingProcess();
  const livenessOf = ({ pid, host }: ProcessRef): 'alive' | 'dead' | 'unknown' => {
    if (host !== own.host) return 'unknown';
    return surroundings().processes.some((one) => one.pid === pid && !one.dead) ? 'alive' : 'dead';
  };
  return { self: { pid: own.pid, start: '1', host: own.host }, livenessOf };
}
