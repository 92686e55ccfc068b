// Files to rows: every format, every line number, and nothing guessed.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { NewCategory } from '../../src/api/types.ts';
import { PetstoreError } from '../../src/errors.ts';
import { openInputFile } from '../../src/import/input-file.ts';
import type { RowStore } from '../../src/import/row-store.ts';
import { readRows } from '../../src/import/rows.ts';
import { tempDir } from '../support/temp-dir.ts';

interface Given {
  readonly extension?: string;
  readonly delimiter?: string;
  readonly ignoreExtra?: boolean;
  /** Bytes per piece. */
  readonly pieces?: number;
}

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

function read(content: string | Uint8Array, given: Given = {}): Promise<RowStore> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return readRows(
    { label: 'it', path: undefined, extension: given.extension ?? '', bytes: cut(bytes, given.pieces ?? 7) },
    { delimiter: given.delimiter, ignoreExtra: given.ignoreExtra ?? false },
  );
}

const all = (rows: RowStore): NewCategory[] => Array.from({ length: rows.count }, (_, at) => rows.get(at));
const rowsOf = async (content: string | Uint8Array, given?: Given): Promise<NewCategory[]> =>
  all(await read(content, given));

async function failure(content: string | Uint8Array, given?: Given): Promise<string> {
  const error = await read(content, given).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(PetstoreError);
  expect((error as PetstoreError).kind).toBe('usage');
  return (error as PetstoreError).message;
}

const dogAndCat = [{ name: 'dog' }, { name: 'cat', description: 'Felis' }];

test.each<[string, string, Given]>([
  ['a JSON array', '[{"id":1,"name":"dog"},\n {"name":"cat","description":"Felis"}]\n', {}],
  ['NDJSON', '{"name":"dog","id":9007199254740993}\n\n{"name":"cat","description":"Felis"}', {}],
  ['NDJSON with CRLF', '{"name":"dog"}\r\n{"name":"cat","description":"Felis"}\r\n', { extension: '.jsonl' }],
  ['CSV', 'id,name,description\r\n1,dog,\r\n2,cat,Felis\r\n', {}],
  ['CSV with a byte order mark', '\ufeffname,description\ndog,\n\ncat,Felis', { extension: '.csv' }],
  ['CSV whose columns stand in another order', 'description,id,name\n,1,dog\nFelis,2,cat\n', {}],
  ['CSV with semicolons', 'name;description\ndog;\n"cat";Felis\n', { delimiter: ';' }],
  ['TSV by its header', 'name\tdescription\ndog\t\ncat\tFelis\n', {}],
  ['TSV by --delimiter', 'name\tdescription\ndog\t\ncat\tFelis\n', { delimiter: 'tab', extension: '.csv' }],
  ['JSON with null for nothing', '[{"name":"dog","description":null},{"name":"cat","description":"Felis"}]', {}],
  [
    'extra fields with --ignore-extra',
    '[{"name":"dog","legs":4},{"name":"cat","description":"Felis","x":[]}]',
    { ignoreExtra: true },
  ],
  ['extra columns with --ignore-extra', 'legs,name,description\n4,dog,\n4,cat,Felis\n', { ignoreExtra: true }],
])('%s is read', async (_what, content, given) => {
  expect(await rowsOf(content, given)).toEqual(dogAndCat);
  expect(await rowsOf(content, { ...given, pieces: 1 })).toEqual(dogAndCat);
  expect(await rowsOf(content, { ...given, pieces: 1e6 })).toEqual(dogAndCat);
});

test('the same rows name the same import in every format, and others another', async () => {
  const json = await read(JSON.stringify(dogAndCat));
  const csv = await read('name,description\ndog,\ncat,Felis\n');
  const other = await read('name,description\ndog,\ncat,Felix\n');
  const joined = await read('name\ndogcat\n');
  const empty = await read('name,description\ndog,""\ncat,Felis\n');
  expect(json.digest()).toBe(csv.digest());
  expect(new Set([json, other, joined, empty].map((rows) => rows.digest())).size).toBe(4);
});

test('quotes, line breaks, tabs, lone CRs and emoji survive CSV', async () => {
  expect(await rowsOf('name,description\r\n"a ""b""\r\nc","\r"\r\n👩‍🚀,"\t"\r\n')).toEqual([
    { name: 'a "b"\r\nc', description: '\r' },
    { name: '👩‍🚀', description: '\t' },
  ]);
});

test('every bad row is named with the line it begins on', async () => {
  const csv = 'name,description\n"two\nlines",ok\n,no name\n\nx,y,z\n"",quoted\n"fine",""\n';
  expect(await failure(csv)).toBe(
    [
      'it has 3 problems; nothing was sent',
      '  line 4 (row 2): name is empty',
      '  line 6 (row 3): 3 fields where the header has 2',
      '  line 7 (row 4): name is empty',
    ].join('\n'),
  );
  const json =
    '[\n{"name":"a"},\n{"name":5},\n\n{"nam":"b"}, {"name":"c","description":[]},{},\n7, {"name":"\\ud800"}]';
  expect(await failure(json)).toBe(
    [
      'it has 6 problems; nothing was sent',
      '  line 3 (row 2): name must be text',
      '  line 5 (row 3): unknown field "nam" (--ignore-extra passes over it)',
      '  line 5 (row 4): description must be text',
      '  line 5 (row 5): name is missing',
      '  line 6 (row 6): expected an object with a name',
      '  line 6 (row 7): name holds half a character (a lone surrogate)',
    ].join('\n'),
  );
  expect(await failure('{"name":"a"}\n{"name":"b"\n[1]\n')).toContain(
    '  line 2 (row 2): not valid JSON\n  line 3 (row 3): expected',
  );
});

test('of many bad rows twenty are named, then they are counted', async () => {
  const message = await failure(`name\n${'""\n'.repeat(50)}`);
  expect(message.split('\n')).toHaveLength(22);
  expect(message).toContain('it has 50 problems');
  expect(message).toContain('line 21 (row 20): name is empty\n  and 30 more');
});

test.each<[string, string | Uint8Array, Given, string]>([
  ['an empty file', '', {}, 'holds no rows'],
  ['blank lines only', ' \n\n', {}, 'holds no rows'],
  ['a single object in a .json file', '{"name":"a"}', { extension: '.json' }, 'line 1: expected an array'],
  ['a cut array', '[{"name":"a"},\n{"name":"b"}', {}, 'line 2: the file ends before the array does'],
  ['a cut text', '[{"name":"a', {}, 'line 1: the file ends before the array does'],
  ['something after the array', '[{"name":"a"}]\n,', {}, 'line 2: there is something after the array'],
  ['a comma too many', '[{"name":"a"},\n]', {}, 'line 2: not valid JSON: a comma too many'],
  ['a bracket too many', '[{"name":"a"}}]', {}, 'line 1 (row 1): not valid JSON'],
  ['an unclosed quote', 'name\n"a\nb', {}, 'a quoted field is not closed'],
  ['a quote inside a field', 'name\na"b\n', {}, 'line 2: a quote inside a field'],
  ['text after a quote', 'name\n"a"b\n', {}, 'line 2: something follows a closing quote'],
  ['no name column', 'title\na\n', {}, 'line 1: the header has no column "name"'],
  ['another delimiter', 'name;description\na;b\n', {}, '--delimiter ";" may help'],
  ['a column twice', 'name,name\na,b\n', {}, 'names the column "name" twice'],
  ['an unknown column', 'name,__proto__\na,b\n', {}, 'unknown column "__proto__"'],
  ['an unknown field', '[{"name":"a","__proto__":{}}]', {}, 'unknown field "__proto__"'],
  ['UTF-16', Buffer.from('\ufeffname\na\n', 'utf16le'), {}, 'the file is UTF-16'],
  [
    'a line of more than 1 MB',
    `{"name":"a"}\n{"name":"${'x'.repeat(1_100_000)}"}`,
    { pieces: 65_536 },
    'line 2: a row is',
  ],
  ['an endless CSV field', `name\n"${'x\n'.repeat(600_000)}"`, { pieces: 65_536 }, 'a row is longer than 1 MB'],
  [
    'an endless element',
    `[{"name":"${'x'.repeat(1_100_000)}"}]`,
    { pieces: 65_536 },
    'line 1 (row 1): a row is longer',
  ],
  ['two characters to separate', 'name\na\n', { delimiter: '||' }, '--delimiter takes one character'],
])('%s is refused', async (_what, content, given, message) => {
  expect(await failure(content, given)).toContain(message);
});

test('invalid UTF-8 is named with its lines, and never becomes U+FFFD', async () => {
  const bytes = Buffer.concat([
    Buffer.from('name\nž\n'),
    Buffer.from([0x61, 0xff, 0x0a]),
    Buffer.from('🐕\n'),
    Buffer.from([0xf0, 0x9f]),
  ]);
  for (const pieces of [1, 2, 3, 1000]) {
    const message = await failure(bytes, { pieces });
    expect(message).toContain('has 2 problems');
    expect(message).toContain('line 3: the text is not valid UTF-8\n  line 5: the text is not valid UTF-8');
  }
});

test('what a file says never reaches the message raw', async () => {
  expect(await failure('[{"name":"a","\\u001b[31m":1}]')).toContain('unknown field "␛[31m"');
});

test('repeated names are counted', async () => {
  expect((await read('name,description\na,1\nb,\na,2\na,1\nb,\n')).repeatedNames()).toBe(3);
});

test('a missing file, a folder and a terminal are refused at once', async () => {
  const cwd = tempDir();
  mkdirSync(join(cwd, 'folder'));
  writeFileSync(join(cwd, 'Some.CSV'), 'name\na\n');
  const never = {
    isTTY: true,
    raw: undefined,
    read(): AsyncIterable<Uint8Array> {
      throw new Error('stdin was touched');
    },
  } as never;
  const world = { cwd, stdin: never };
  await expect(openInputFile('none.csv', world)).rejects.toThrow('none.csv cannot be read: there is no such file');
  await expect(openInputFile('folder', world)).rejects.toThrow('folder is no regular file');
  await expect(openInputFile('-', world)).rejects.toThrow('stdin is a terminal');
  const source = await openInputFile('Some.CSV', world);
  expect(source.extension).toBe('.csv');
  expect(all(await readRows(source, { delimiter: undefined, ignoreExtra: false }))).toEqual([{ name: 'a' }]);
});
