// Searches output for a key: whole, in pieces, and in the encodings of URLs, headers and JSON.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A key; none of its eight-character pieces occurs elsewhere. */
export const SECRET = 'qZ7xK2mW9vB4nL8tR3yC6jH1';

const PIECE = 8;

// Every piece of eight characters of a key and of its encoded forms.
function formsOf(key: string): string[] {
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

const FORMS = formsOf(SECRET);

/** Returns the first piece of the key in a text. */
export function leakIn(text: string): string | undefined {
  return FORMS.find((form) => text.includes(form));
}

/** Returns the files below a directory that contain a piece of the key, apart from those that may. */
export function leakyFiles(dir: string, except: RegExp): readonly string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => lstatSync(path).isFile() && !except.test(path))
    .filter((path) => leakIn(readFileSync(path, 'latin1')) !== undefined || leakIn(path) !== undefined);
}
