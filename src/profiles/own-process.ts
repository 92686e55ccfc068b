// What the profile files need to know of this process and of others: ids and whether one lives.

/** This process's id. */
export const ownPid = process.pid;

/** @returns the user's id; undefined where the platform has none (Windows) */
export function userId(): number | undefined {
  return process.getuid?.();
}

/**
 * @param pid a process id
 * @returns whether such a process lives on this machine, whoever it belongs to
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
