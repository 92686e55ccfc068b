// Searches output for a key: whole, in pieces, and as URLs, headers and JSON encode it.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** No eight characters of it occur in anything else. */
export const SECRET = 'qZ7xK2mW9vB4nL8tR3yC6jH1';

const PIECE = 8;

/**
 * @param key a key
 * @returns the forbidden texts: every piece of eight characters, and the pieces of its encoded forms
 */
export function formsOf(key: string): readonly string[] {
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.from(`${'_'.repeat(shift)}${key}`)
      .toString('base64')
      .slice(4, -4),
  );
  const hex = Buffer.from(key).toString('hex');
  const escaped = [...key].map((char) => `%${char.charCodeAt(0).toString(16)}`).join('');
  const json = [...key].map((char) => `\\u00${char.charCodeAt(0).toString(16)}`).join('');
  const whole = [key, ...base64, encodeURIComponent(key), JSON.stringify(key).slice(1, -1)];
  const pieces = whole.flatMap((form) =>
    Array.from({ length: form.length - PIECE + 1 }, (_, at) => form.slice(at, at + PIECE)),
  );
  return [...new Set([...pieces, hex, escaped, json])];
}

/**
 * @param bytes anything that was written
 * @param key the key that may not be in it
 * @returns the first forbidden piece; undefined if there is none
 */
export function leakIn(bytes: Uint8Array | string, key: string = SECRET): string | undefined {
  const text = typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('latin1');
  return formsOf(key).find((form) => text.includes(form));
}

/**
 * @param dir a directory, read with everything below it
 * @param except names of files that may hold the key
 * @param key the key
 * @returns the files that hold a piece of it
 */
export function leakyFiles(dir: string, except: RegExp, key: string = SECRET): readonly string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => lstatSync(path).isFile() && !except.test(path))
    .filter((path) => leakIn(readFileSync(path), key) !== undefined || leakIn(path, key) !== undefined);
}
