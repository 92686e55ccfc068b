// A folder and those above it, made where they are missing: never an endless loop.
import * as nodeFs from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder with mode 0700, and those above it. Node's own recursive way never returns where a folder is there and what
 * is to be made in it is "not found": `/proc`, an automounted `/home` (measured, Node 20 to 26).
 * @param dir the folder, absolute
 * @param fs the file system
 * @throws errors of the file system as they come; where the name is taken by something else, its use will tell
 */
export function mkdirp(dir: string, fs: Pick<typeof nodeFs, 'mkdirSync'> = nodeFs): void {
  if (made(dir, fs)) return;
  mkdirp(dirname(dir), fs);
  if (!made(dir, fs)) {
    throw Object.assign(new Error(`no folder can be made here: ${dir}`), {
      code: 'ENOENT',
      syscall: 'mkdir',
      path: dir,
    });
  }
}

// False where the folder above is missing, or is said to be.
function made(dir: string, fs: Pick<typeof nodeFs, 'mkdirSync'>): boolean {
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
