// Creates a directory and its parents without an endless loop.
import * as nodeFs from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates an absolute directory with mode 0700, and those above it. Node's `recursive: true` never returns if a parent exists
 * but reports ENOENT for what is created in it: `/proc`, an automounted `/home` (measured with Node 20 to 26).
 * @throws errors of the file system as they come
 */
export function mkdirp(dir: string, fs: Pick<typeof nodeFs, 'mkdirSync'> = nodeFs): void {
  if (create(dir, fs)) return;
  mkdirp(dirname(dir), fs);
  if (!create(dir, fs)) {
    throw Object.assign(new Error(`cannot create a directory: ${dir}`), {
      code: 'ENOENT',
      syscall: 'mkdir',
      path: dir,
    });
  }
}

// Returns false if the parent is missing, or reported as missing.
function create(dir: string, fs: Pick<typeof nodeFs, 'mkdirSync'>): boolean {
  try {
    fs.mkdirSync(dir, { mode: 0o700 });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return true;
    if (code === 'ENOENT' && dirname(dir) !== dir) return false;
    throw error;
  }
}
