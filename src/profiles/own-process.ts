// What the profile files need of the process itself: ids, and an import that leaves no traces in it.

/** This process's id. */
export const ownPid = process.pid;

/** @returns the user's id; undefined where the platform has none (Windows) */
export function userId(): number | undefined {
  return process.getuid?.();
}

/**
 * Imports a package that listens to signals and asks for the home folder while it loads. When-exit, deep in conf, sends
 * a signal that was caught a second time, so one Ctrl-C would count as two; env-paths throws where there is no home.
 * @param load imports it
 * @returns what it exports; the listeners it added are off again, and the environment is as it was
 */
export async function importQuietly<Exports>(load: () => Promise<Exports>): Promise<Exports> {
  const before = new Map(process.eventNames().map((name) => [name, new Set(process.listeners(name as 'SIGINT'))]));
  const homeless = process.platform !== 'win32' && process.env['HOME'] === undefined;
  if (homeless) process.env['HOME'] = '/';
  try {
    return await load();
  } finally {
    if (homeless) delete process.env['HOME'];
    for (const name of process.eventNames()) {
      for (const listener of process.listeners(name as 'SIGINT')) {
        if (!before.get(name)?.has(listener)) process.removeListener(name, listener);
      }
    }
  }
}
