// Directories flushed to the disk: a new file survives a power failure only once its directory does.
import * as nodeFs from 'node:fs';
import { dirname } from 'node:path';

/**
 * Flushes a directory, and `parents` of those above it. Windows has no such operation; there it does nothing.
 * @throws errors of the file system as they come
 */
export function fsyncDir(
  dir: string,
  parents = 0,
  fs: Pick<typeof nodeFs, 'openSync' | 'fsyncSync' | 'closeSync'> = nodeFs,
): void {
  if (process.platform === 'win32') return;
  const fd = fs.openSync(dir, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
  if (parents > 0) fsyncDir(dirname(dir), parents - 1, fs);
}
