// The part of `node:fs/promises` that reads an input file, without threads.
import { closeSync, fstatSync, openSync, readFileSync } from './fs.ts';

export async function open(path: string): Promise<object> {
  const fd = openSync(path, 'r');
  return {
    stat: async () => fstatSync(fd),
    createReadStream: async function* () {
      yield readFileSync(path);
      closeSync(fd);
    },
    close: async () => closeSync(fd),
  };
}

export const everything = { open };
