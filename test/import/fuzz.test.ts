// Damaged files: each is rejected with a usage error or yields only valid rows.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readRows } from '../../src/cli/rows/rows.ts';
import { PetstoreError } from '../../src/errors.ts';
import type { NewCategory } from '../../src/public-types.ts';
import { mutated } from '../support/mutations.ts';

// FUZZ_SCALE=25 runs 25 times as many cases.
const SCALE = Number(process.env['FUZZ_SCALE'] ?? 1);
const RUNS = 500 * SCALE;
const VALID: Readonly<Record<string, string>> = {
  '.json':
    '[\n {"id": 1, "name": "dog", "description": "a \\"b\\" [c] {d}, e\\\\"},\n {"name": "žluť 🐕"}, {"name":"x","description":null}\n]\n',
  '.ndjson': '{"name":"dog","description":"a\\nb"}\n \r\n{"id":2,"name":"🐕"}\r\n{"name":"x"}',
  '.csv': 'id,name,description\r\n1,dog,"a ""b"",\r\nc"\r\n2,🐕,\r\n3,x,""\r\n',
  '.tsv': 'id\tname\tdescription\n1\tdog\t"a\tb"\n2\tž\t\n',
};

async function read(bytes: Buffer, extension: string): Promise<readonly NewCategory[] | string> {
  try {
    const rows = await readRows({ label: 'it', extension, bytes }, { ignoreExtra: true });
    return rows.map(({ line: _line, ...row }) => row);
  } catch (error) {
    expect(error).toBeInstanceOf(PetstoreError);
    expect((error as PetstoreError).kind).toBe('usage');
    return (error as PetstoreError).message;
  }
}

/** A reference parser for each JSON format. */
const PARSERS: Readonly<Record<string, (text: string) => unknown>> = {
  '.json': (text) => JSON.parse(text),
  '.ndjson': (text) => text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [JSON.parse(line)])),
};

// The rows that the reference parser finds; undefined if the file is invalid.
function expected(text: string, extension: string): NewCategory[] | undefined {
  try {
    const values = PARSERS[extension]?.(text);
    // `list --json` prints an empty list as []; an NDJSON file without rows is an error.
    if (!Array.isArray(values) || (values.length === 0 && extension !== '.json')) return undefined;
    const descriptions = new Map<string, unknown>();
    return values.map((value: unknown) => {
      const { name, description } = value as Record<string, unknown>;
      if (Array.isArray(value) || typeof name !== 'string' || /^[\s\0]*$/.test(name)) throw new TypeError('no row');
      if ((descriptions.get(name) ?? description ?? '') !== (description ?? ''))
        throw new TypeError('two descriptions');
      descriptions.set(name, description ?? '');
      if (/\p{Surrogate}/u.test(`${name}${description}`)) throw new TypeError('half a character');
      if (description === undefined || description === null) return { name };
      if (typeof description !== 'string') throw new TypeError('no text');
      return { name, description };
    });
  } catch {
    return undefined;
  }
}

test.each(Object.keys(VALID))('a damaged %s file is rejected or yields only valid rows', async (extension) => {
  await fc.assert(
    fc.asyncProperty(mutated([VALID[extension] ?? '']), async (bytes) => {
      const rows = await read(bytes, extension);
      const isText = Buffer.from(bytes.toString('utf8')).equals(bytes);
      if (PARSERS[extension]) {
        const right = isText ? expected(bytes.toString('utf8').replace(/^\ufeff/, ''), extension) : undefined;
        expect(rows).toEqual(right ?? expect.any(String));
      } else if (typeof rows !== 'string') {
        expect(isText).toBe(true);
        for (const { name, description } of rows) {
          expect(name.trim()).not.toBe('');
          expect(`${name}${description}`).not.toMatch(/\p{Surrogate}/u);
        }
      }
    }),
    { numRuns: RUNS },
  );
});
