// What an import reads: a regular file or stdin, whole.
import { createHash } from 'node:crypto';
import { readFile, realpath, stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import type { Input } from '../io.ts';

/** The largest input, in bytes; at 100,000 requests a day a larger one takes weeks. */
export const MAX_BYTES = 64 * 1024 * 1024;

/** An input, read to its end. */
export interface InputFile {
  /** How messages call it; any characters. */
  readonly label: string;
  /** Identifies the file without showing its path: journals may be kept on a server. Undefined for stdin. */
  readonly id: string | undefined;
  /** In lower case with its dot; '' for stdin and where it has none. */
  readonly extension: string;
  readonly bytes: Buffer;
}

/**
 * @param file a path, or `-` for stdin
 * @throws PetstoreError `usage` where it is missing, not a regular file, too large, or stdin is a terminal
 */
export async function readInputFile(
  file: string,
  { cwd, stdin }: { readonly cwd: string; readonly stdin: Input },
): Promise<InputFile> {
  if (file === '-') return { label: 'stdin', id: undefined, extension: '', bytes: await readStdin(stdin) };
  const path = resolve(cwd, file);
  const shown = escapeControls(file);
  try {
    const stats = await stat(path);
    if (!stats.isFile()) {
      throw new PetstoreError('usage', `${shown} is not a regular file`, {
        hint: 'to read from a pipe, use - as FILE',
      });
    }
    if (stats.size > MAX_BYTES) throw tooLarge(shown);
    const bytes = await readFile(path);
    const id = createHash('sha256')
      .update(await realpath(path))
      .digest('hex')
      .slice(0, 32);
    return { label: file, id, extension: extname(path).toLowerCase(), bytes };
  } catch (error) {
    throw error instanceof PetstoreError ? error : unreadable(error, shown);
  }
}

async function readStdin(stdin: Input): Promise<Buffer> {
  if (stdin.isTTY) {
    throw new PetstoreError('usage', 'stdin is a terminal', {
      hint: 'pipe the rows in, or name a file: petstore categories import species.csv',
    });
  }
  const chunks: Uint8Array[] = [];
  let total = 0;
  try {
    for await (const chunk of stdin.read()) {
      total += chunk.length;
      if (total > MAX_BYTES) throw tooLarge('stdin');
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof PetstoreError ? error : unreadable(error, 'stdin');
  }
  return Buffer.concat(chunks);
}

function unreadable(error: unknown, shown: string): PetstoreError {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  const reason = code === 'ENOENT' ? 'no such file' : code === 'EACCES' ? 'permission denied' : code;
  return new PetstoreError('usage', `cannot read ${shown}: ${reason}`, {
    hint: "check the path and the file's permissions",
    cause: error,
  });
}

function tooLarge(shown: string): PetstoreError {
  return new PetstoreError('usage', `${shown} is larger than 64 MiB`, {
    hint: 'split it and import the parts one after the other',
  });
}
