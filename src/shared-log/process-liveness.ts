// Identifies the process that wrote a record, by pid and start time (pids are reused), and tells whether it is running.
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface ProcessRef {
  readonly pid: number;
  /** In clock ticks since boot; '' if the platform does not report it. */
  readonly start: string;
  /** Host name, pid namespace and boot id, since a pid is unique only within these. */
  readonly host: string;
}

export function currentProcess(): ProcessRef {
  return { pid: process.pid, start: startOf('self') ?? '', host: currentHost() };
}

/** Returns whether a process is running; `unknown` if it ran on another host, or its pid may have been reused. */
export function livenessOf(ref: ProcessRef): 'alive' | 'dead' | 'unknown' {
  if (ref.host !== currentHost()) return 'unknown';
  if (ref.start !== '' && seesOwnNamespace()) return startOf(ref.pid) === ref.start ? 'alive' : 'dead';
  try {
    process.kill(ref.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'dead';
  }
  return 'unknown';
}

// A container may mount the /proc of another pid namespace, which shows other pids.
function seesOwnNamespace(): boolean {
  return tryRead(() => readlinkSync('/proc/self')) === String(process.pid);
}

// Field 22 of /proc/PID/stat (proc(5)); field 2, the command, may contain spaces and parentheses. A zombie has ended.
function startOf(pid: number | 'self'): string | undefined {
  const stat = tryRead(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  const [state = '', ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return /^[ZX]/.test(state) ? undefined : fields[18];
}

function currentHost(): string {
  const namespace = tryRead(() => readlinkSync('/proc/self/ns/pid'));
  const boot = tryRead(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim());
  return [hostname(), namespace, boot].join(' ');
}

function tryRead(read: () => string): string {
  try {
    return read();
  } catch {
    return '-';
  }
}
