// Damaged files are rejected with an error or read correctly.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NewCategory } from '../../src/api/types.ts';
import { readRows } from '../../src/cli/rows/rows.ts';
import { PetstoreError } from '../../src/errors.ts';
import { mutated } from '../support/mutations.ts';

// FUZZ_SCALE=25 runs 25 times as many cases.
const SCALE = Number(process.env['FUZZ_SCALE'] ?? 1);
const RUNS = 500 * SCALE;
const VALID: Readonly<Record<string, string>> = {
  '.json':
    '[\n {"id": 1, "name": "dog", "description": "a \\"b\\" [c] {d}, e\\\\"},\n {"name": "žluť 🐕"}, {"name":"x","description":null}\n]\n',
  '.ndjson': '{"name":"dog","description":"a\\nb"}\n\n{"id":2,"name":"🐕"}\r\n{"name":"x"}',
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

/** Other parsers of a whole file. */
const PARSERS: Readonly<Record<string, (text: string) => NewCategory[]>> = {
  '.json': (text) => JSON.parse(text),
  '.ndjson': (text) => text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [JSON.parse(line)])),
};

test.each(Object.keys(VALID))('a damaged %s file is rejected, or yields only valid rows', async (extension) => {
  await fc.assert(
    fc.asyncProperty(mutated([VALID[extension] ?? '']), async (bytes) => {
      const rows = await read(bytes, extension);
      const isText = Buffer.from(bytes.toString('utf8')).equals(bytes);
      if (typeof rows === 'string') return;
      expect(isText).toBe(true);
      for (const { name, description } of rows) {
        expect(name.trim()).not.toBe('');
        expect(`${name}${description}`).not.toMatch(/\p{Surrogate}/u);
      }
      const parsed = PARSERS[extension]?.(bytes.toString('utf8').replace(/^\ufeff/, ''));
      const known = parsed?.map(({ name, description }) => ({ name, ...(description != null && { description }) }));
      expect(rows).toEqual(known ?? rows);
    }),
    { numRuns: RUNS },
  );
});
