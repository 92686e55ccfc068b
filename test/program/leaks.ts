// Searches output for a key: whole, and in the encodings of URLs, headers and JSON.
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const SECRET = 'qZ7xK2mW9vB4nL8tR3yC6jH1';

const encoded = (prefix: string, radix = 16): string =>
  [...SECRET].map((char) => `${prefix}${char.charCodeAt(0).toString(radix)}`).join('');
// Base64 of a text that has the key at its start, second or third byte.
const base64 = [0, 1, 2].map((shift) =>
  Buffer.from(`${'_'.repeat(shift)}${SECRET}`)
    .toString('base64')
    .slice(4, -4),
);
const FORMS = [SECRET, ...base64, encoded(''), encoded('%'), encoded('\\u00')];

/** Returns the first form of the key in a text; line breaks and spaces of a table do not hide it. */
export function leakIn(text: string): string | undefined {
  const joined = text.replace(/\s+/g, '');
  return FORMS.find((form) => joined.includes(form));
}

/** Returns the files below a directory that contain the key, apart from those that may. */
export function leakyFiles(dir: string, except: RegExp): readonly string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => lstatSync(path).isFile() && !except.test(path))
    .filter((path) => leakIn(readFileSync(path, 'latin1')) !== undefined || leakIn(path) !== undefined);
}
