// Who holds a ticket: a process on a machine, and whether it still runs.
import { currentProcess as currentProcessRef, isAlive } from '../append-log/process-liveness.ts';

/** A process, as other processes can name it in a record. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When the process started, in ticks; 0 where the platform does not say. A pid is used again, this is not. */
  readonly start: number;
  /** Where the pid means something: machine, boot and process namespace, in one word. */
  readonly host: string;
  /**
   * @param pid of a process of the same `host`
   * @param start when it started
   * @returns true only where it certainly ended
   */
  ended(pid: number, start: number): boolean;
}

/** @returns this process */
export function currentProcess(): ProcessIdentity {
  const mark = currentProcessRef();
  const start = /^\d{1,15}$/.test(mark.start) ? Number(mark.start) : 0;
  return {
    pid: mark.pid,
    start,
    host: inOneWord(mark.host),
    ended: (pid, since) => isAlive({ pid, start: since === 0 ? '' : String(since), host: mark.host }) === 'dead',
  };
}

// FNV-1a: names a place among the few that could ever share a folder.
function inOneWord(text: string): string {
  let hash = 0x811c9dc5;
  for (const char of text) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193) >>> 0;
  return hash.toString(36);
}
