// Whether a process that wrote into a log is still there: by pid, and by when it started, since pids are used again.
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** What tells one process from every other. */
export interface ProcessRef {
  readonly pid: number;
  /** When it started, in the kernel's ticks since boot; '' where the platform does not say. */
  readonly start: string;
  /** The machine, its boot and its pid namespace, as far as the platform says. */
  readonly host: string;
}

/** @returns the mark of this process */
export function currentProcess(): ProcessRef {
  return { pid: process.pid, start: startOf(process.pid) ?? '', host: place() };
}

/**
 * @param mark as `ownMark` gave it in that process
 * @returns whether that process runs; `unknown` where it ran on another machine, or the pid may have been used again
 */
export function isAlive(mark: ProcessRef): 'alive' | 'dead' | 'unknown' {
  const here = place();
  // The same machine after a reboot runs nothing from before.
  if (mark.host !== here) return sameMachineLater(mark.host, here) ? 'dead' : 'unknown';
  if (mark.start !== '') return startOf(mark.pid) === mark.start ? 'alive' : 'dead';
  try {
    process.kill(mark.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return 'dead';
  }
  return 'unknown';
}

// Field 22 of /proc/PID/stat; a zombie has ended. The command's name (field 2) may hold blanks and brackets.
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return /^[ZX]/.test(fields[0] ?? 'X') ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function place(): string {
  return [hostname(), tryRead(() => readlinkSync('/proc/self/ns/pid')), tryRead(bootId)].join(' ');
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
}

function tryRead(read: () => string): string {
  try {
    return read();
  } catch {
    return '-';
  }
}

function sameMachineLater(then: string, now: string): boolean {
  const [host, , boot] = then.split(' ');
  const [hostNow, , bootNow] = now.split(' ');
  return host === hostNow && boot !== bootNow && boot !== '-' && bootNow !== '-';
}
