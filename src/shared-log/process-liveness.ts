// Identifies the process that wrote a record, by pid and start time (pids are reused), and tells whether it is running.
import * as nodeFs from 'node:fs';
import { hostname } from 'node:os';

export interface ProcessRef {
  /** In a worker thread on Linux, the id of the thread, which may end before its process. */
  readonly pid: number;
  /** In clock ticks since boot; '' if the platform does not report it. */
  readonly start: string;
  /** Host name, pid namespace and boot id, since a pid is unique only within these; `-` for what the platform lacks. */
  readonly host: string;
}

export type Liveness = 'alive' | 'dead' | 'unknown';

const NONE = '-';

/** Identifies this process, and tells whether others are running. */
export function observeProcesses({
  readFileSync,
  readlinkSync,
}: Pick<typeof nodeFs, 'readFileSync' | 'readlinkSync'> = nodeFs) {
  // Field 22 of /proc/PID/stat (proc(5)); field 2, the command, may contain spaces and parentheses. A zombie has ended.
  const startOf = (pid: number | 'thread-self'): string | undefined => {
    const stat = tryRead(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
    const [state = '', ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return /^[ZX]/.test(state) ? '' : fields[18];
  };
  // A container may mount the /proc of another pid namespace, which shows other pids.
  const [seen, , thread] = tryRead(() => readlinkSync('/proc/thread-self')).split('/');
  const seesOwnNamespace = Number(seen) === process.pid;
  const namespace = tryRead(() => readlinkSync('/proc/self/ns/pid'));
  const boot = tryRead(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim());
  const host = [hostname(), namespace, boot].join(' ');
  const pid = seesOwnNamespace ? Number(thread) : process.pid;
  const self: ProcessRef = { pid, start: startOf('thread-self') ?? '', host };

  /**
   * Returns whether a process is running; `unknown` if it ran on another host, or its pid may have been reused.
   * @param isOnServer whether its record is on a server: on macOS and Windows, which report no boot id, it is then `unknown`,
   *   because another machine may have the same host name
   */
  const livenessOf = (ref: ProcessRef, isOnServer: boolean): Liveness => {
    if (ref.host !== host || (isOnServer && boot === NONE)) return 'unknown';
    if (ref.start !== '' && seesOwnNamespace) {
      const startNow = ref.pid === self.pid ? self.start : startOf(ref.pid);
      if (startNow !== undefined) return startNow === ref.start ? 'alive' : 'dead';
    }
    // The process has ended, or /proc hides it because it belongs to another user (hidepid in proc(5)).
    try {
      process.kill(ref.pid, 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'dead';
    }
    return 'unknown';
  };
  return { self, livenessOf };
}

function tryRead(read: () => string): string {
  try {
    return read();
  } catch {
    return NONE;
  }
}
