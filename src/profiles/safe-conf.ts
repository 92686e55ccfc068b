// The one door to conf: loaded when something is to be stored, with its signal handlers taken off again.
import { importQuietly } from './own-process.ts';
import { writePrivate } from './secure-file.ts';
import type { PrivateFolder } from './secure-folder.ts';
import { ensurePrivateFolder } from './secure-folder.ts';

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

type ConfClass = new (options: ConfOptions) => ConfFile;

let loaded: Promise<OpenConf> | undefined;

/**
 * Loads conf once, safely: its own write lets a short write pass for success and leaves copies behind.
 * @returns opens one file; what it throws is PetstoreError `storage`
 */
export function loadConf(): Promise<OpenConf> {
  loaded ??= importQuietly(() => import('conf')).then((module) => makeOpen(module.default as unknown as ConfClass));
  return loaded;
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
