// Where the rows come from: a regular file or stdin, as bytes and with a limit.
import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import type { Input } from '../io.ts';

/** The largest input, in bytes: whatever is endless ends here (fault E1). */
export const MAX_BYTES = 1024 * 1024 * 1024;

/** An input that is open to be read once. */
export interface InputFile {
  /** How messages call it. */
  readonly label: string;
  /** The file's real path; undefined for stdin. */
  readonly path: string | undefined;
  /** The file's extension in lower case with its dot; '' for stdin and where it has none. */
  readonly extension: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/**
 * Opens what FILE names.
 * @param file a path, or `-` for stdin
 * @param world the working folder and stdin
 * @returns the source; nothing is read yet
 * @throws PetstoreError `usage` where it is missing, no regular file, too large, or stdin is a terminal
 */
export async function openInputFile(
  file: string,
  world: { readonly cwd: string; readonly stdin: Input },
): Promise<InputFile> {
  if (file === '-') return fromStdin(world.stdin);
  const path = resolve(world.cwd, file);
  const { real, size } = await inspect(path, escapeControls(file));
  if (size > MAX_BYTES) throw tooLarge(escapeControls(file));
  return {
    label: file,
    path: real,
    extension: extname(path).toLowerCase(),
    bytes: limited(createReadStream(path), file),
  };
}

function fromStdin(stdin: Input): InputFile {
  if (stdin.isTTY) {
    throw new PetstoreError('usage', 'stdin is a terminal, so there are no rows to read', {
      hint: 'pipe the rows in, or name a file: petstore categories import species.csv',
    });
  }
  return { label: 'stdin', path: undefined, extension: '', bytes: limited(stdin.read(), 'stdin') };
}

async function inspect(path: string, shown: string): Promise<{ real: string; size: number }> {
  try {
    const facts = await stat(path);
    if (facts.isFile()) return { real: await realpath(path), size: facts.size };
  } catch (error) {
    throw unreadable(error, shown);
  }
  throw new PetstoreError('usage', `${shown} is no regular file`, { hint: 'to read from a pipe, give - as the file' });
}

async function* limited(bytes: AsyncIterable<Uint8Array>, label: string): AsyncGenerator<Uint8Array> {
  let total = 0;
  try {
    for await (const chunk of bytes) {
      total += chunk.length;
      if (total > MAX_BYTES) throw tooLarge(escapeControls(label));
      yield chunk;
    }
  } catch (error) {
    throw error instanceof PetstoreError ? error : unreadable(error, escapeControls(label));
  }
}

function unreadable(error: unknown, shown: string): PetstoreError {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  const why = code === 'ENOENT' ? 'there is no such file' : code === 'EACCES' ? 'permission denied' : code;
  return new PetstoreError('usage', `${shown} cannot be read: ${why}`, {
    hint: 'check the path and its rights',
    cause: error,
  });
}

function tooLarge(shown: string): PetstoreError {
  return new PetstoreError('usage', `${shown} is larger than ${MAX_BYTES / 1024 / 1024} MB`, {
    hint: 'split it and import the parts one after the other',
  });
}
