// Folders brought to the disk, for files that are to survive a power failure.
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a new file survive a power failure: it does so only once its folders are on the disk too.
 * @param dir the file's folder, synced with the two above it; nothing is done on Windows, which knows no such thing
 */
export function fsyncDirs(dir: string): void {
  if (process.platform === 'win32') return;
  for (const folder of [dir, dirname(dir), dirname(dirname(dir))]) {
    const fd = openSync(folder, 'r');
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  }
}
