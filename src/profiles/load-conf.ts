// The one door to conf: loaded when something is to be stored, with its signal handlers taken off again.

import { writePrivate } from './private-file.ts';
import type { PrivateFolder } from './private-folder.ts';
import { ensurePrivateFolder } from './private-folder.ts';

/** The part of conf that is used: one file's whole content. */
export interface ConfFile {
  store: Record<string, unknown>;
}

/** Opens one private file through conf. */
export type OpenConf = (folder: PrivateFolder, configName: string) => ConfFile;

interface ConfOptions {
  readonly cwd: string;
  readonly configName: string;
  readonly configFileMode: number;
  readonly accessPropertiesByDotNotation: boolean;
  readonly clearInvalidConfig: boolean;
  readonly deserialize: (text: string) => unknown;
}

let loaded: Promise<OpenConf> | undefined;

/**
 * Loads conf once, safely (faults.md, 4.1): its own write lets a short write pass for success and leaves copies behind.
 * @returns opens one file; what it throws is PetstoreError `storage`
 */
export function loadConf(): Promise<OpenConf> {
  loaded ??= importQuietly().then(makeOpen);
  return loaded;
}

type ConfClass = new (options: ConfOptions) => ConfFile;

// when-exit, deep in conf, sends a signal it catches a second time; without a home folder conf's import throws.
async function importQuietly(): Promise<ConfClass> {
  const before = new Map(process.eventNames().map((name) => [name, new Set(process.listeners(name as 'SIGINT'))]));
  const homeless = process.env['HOME'] === undefined && process.platform !== 'win32';
  if (homeless) process.env['HOME'] = '/';
  try {
    return (await import('conf')).default as unknown as ConfClass;
  } finally {
    if (homeless) delete process.env['HOME'];
    for (const name of process.eventNames()) {
      for (const listener of process.listeners(name as 'SIGINT')) {
        if (!before.get(name)?.has(listener)) process.removeListener(name, listener);
      }
    }
  }
}

function makeOpen(Conf: ConfClass): OpenConf {
  return (folder, configName) => {
    // What conf calls to make its folder and to write its file; private in its types only.
    class SafeConf extends Conf {
      _ensureDirectory(): void {
        ensurePrivateFolder(folder);
      }

      _write(value: unknown): void {
        writePrivate(folder, `${configName}.json`, `${JSON.stringify(value, undefined, 2)}\n`);
      }
    }
    return new SafeConf({
      cwd: folder.dir,
      configName,
      configFileMode: 0o600,
      accessPropertiesByDotNotation: false,
      clearInvalidConfig: false,
      // What is there has been read and checked by the store; it is replaced whole.
      deserialize: () => ({}),
    });
  };
}
