// Where the sandbox keeps what it knows: from the path a user names to the logs behind it.
import { basename, dirname } from 'node:path';

/** The folder and the names of a sandbox's two logs: its data, and the windows of its keys. */
export interface DataPaths {
  readonly dir: string;
  /** Categories; every record reaches the disk before its create is answered. */
  readonly dataName: string;
  /** Rate limit windows; a power failure may cost some of them. */
  readonly windowsName: string;
}

/**
 * Derives the logs from a data file's path. A log adds its generation to its name, so `X/sandbox.log` and `X/sandbox`
 * both stand for `X/sandbox.1.log` (data) and `X/sandbox.windows.1.log` (windows); naming `X/sandbox.1.log` itself
 * means the same.
 * @param dataFile an absolute path, as `--data` or the sandbox profile gives it
 * @returns folder and log names
 */
export function placeOf(dataFile: string): DataPaths {
  const name =
    basename(dataFile)
      .replace(/\.log$/, '')
      .replace(/\.[1-9]\d*$/, '') || 'sandbox';
  return { dir: dirname(dataFile), dataName: name, windowsName: `${name}.windows` };
}
