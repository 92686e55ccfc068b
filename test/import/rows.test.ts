// Files to rows: every format, every line number, and nothing guessed.
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { NewCategory } from '../../src/api/types.ts';
import { PetstoreError } from '../../src/errors.ts';
import type { RowOptions } from '../../src/import/rows.ts';
import { digestOf, readInputFile, readRows } from '../../src/import/rows.ts';
import { tempDir } from '../support/temp-dir.ts';

type Given = Partial<RowOptions> & { readonly extension?: string };

function read(
  content: string | Uint8Array,
  { extension = '', ...options }: Given = {},
): Promise<readonly NewCategory[]> {
  const file = { label: 'it', id: undefined, extension, bytes: Buffer.from(content) };
  return readRows(file, { delimiter: undefined, ignoreExtra: false, ...options });
}

async function failure(content: string | Uint8Array, given?: Given): Promise<PetstoreError> {
  const error: unknown = await read(content, given).catch((thrown: unknown) => thrown);
  if (!(error instanceof PetstoreError)) throw new Error(`not refused: ${JSON.stringify(error)}`);
  expect(error.kind).toBe('usage');
  return error;
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
  expect(await read(content, given)).toEqual(dogAndCat);
});

test('the same rows name the same import in every format, and others another', async () => {
  const json = await read(JSON.stringify(dogAndCat));
  const csv = await read('name,description\ndog,\ncat,Felis\n');
  const other = await read('name,description\ndog,\ncat,Felix\n');
  const joined = await read('name\ndogcat\n');
  const empty = await read('name,description\ndog,""\ncat,Felis\n');
  expect(digestOf(json)).toBe(digestOf(csv));
  expect(new Set([json, other, joined, empty].map(digestOf)).size).toBe(4);
});

test('quotes, line breaks, tabs, lone CRs and emoji survive CSV', async () => {
  expect(await read('name,description\r\n"a ""b""\r\nc","\r"\r\n👩‍🚀,"\t"\r\n')).toEqual([
    { name: 'a "b"\r\nc', description: '\r' },
    { name: '👩‍🚀', description: '\t' },
  ]);
});

test('every bad row is reported with the line it begins on', async () => {
  const csv = 'name,description\n"two\nlines",ok\n,no name\n\nx\n" ",quoted\nx,y,z\n"fine",""\n';
  const { message, problems } = await failure(csv);
  expect(message).toBe(
    [
      'it has 4 problems; nothing was sent',
      '  line 4 (row 2): name is blank',
      '  line 6 (row 3): has 1 field but the header has 2',
      '  line 7 (row 4): name is blank',
      '  line 8 (row 5): has 3 fields but the header has 2',
    ].join('\n'),
  );
  expect(problems?.[1]).toEqual({ line: 6, row: 3, message: 'has 1 field but the header has 2' });
  const json =
    '[\n{"name":"a"},\n{"name":5},\n\n{"nam":"b"}, {"name":"c","description":[]},{},\n7, {"name":"\\ud800"}]';
  expect((await failure(json)).problems?.map(({ line, row, message }) => [line, row, message])).toEqual([
    [3, 2, 'name must be text'],
    [5, 3, 'unknown field "nam" (allowed with --ignore-extra)'],
    [5, 4, 'description must be text'],
    [5, 5, 'name is missing'],
    [6, 6, 'expected an object with a name'],
    [6, 7, 'name contains half a character (a lone surrogate)'],
  ]);
  expect((await failure('{"name":"a"}\n{"name":"b"\n[1]\n')).problems).toEqual([
    { line: 2, row: 2, message: 'not valid JSON' },
    { line: 3, row: 3, message: 'expected an object with a name' },
  ]);
});

test('the message lists twenty problems and a count, the data all of them', async () => {
  const { message, problems } = await failure(`name\n${'""\n'.repeat(1050)}`);
  expect(message.split('\n')).toHaveLength(22);
  expect(message).toContain('it has 1,050 problems');
  expect(message).toContain('line 21 (row 20): name is blank\n  and 1,030 more');
  expect(problems).toHaveLength(1050);
});

test.each<[string, string | Uint8Array, Given, string]>([
  ['an empty file', '', {}, 'contains no rows'],
  ['blank lines only', ' \n\n', {}, 'contains no rows'],
  ['a single object in a .json file', '{"name":"a"}', { extension: '.json' }, 'line 1: expected an array'],
  ['a cut array', '[{"name":"a"},\n{"name":"b"}', {}, 'line 2: the file ends before the array does'],
  ['a cut text', '[{"name":"a', {}, 'line 1: the file ends before the array does'],
  ['text after the array', '[{"name":"a"}]\n,', {}, 'line 2: unexpected text after the array'],
  ['a comma too many', '[{"name":"a"},\n]', {}, 'line 2: not valid JSON: an extra comma'],
  ['a bracket too many', '[{"name":"a"}}]', {}, 'line 1 (row 1): not valid JSON'],
  ['an unclosed quote', 'name\n"a\nb', {}, 'a quoted field is not closed'],
  ['a quote inside a field', 'name\na"b\n', {}, 'line 2: a quote inside a field'],
  ['text after a quote', 'name\n"a"b\n', {}, 'line 2: text after a closing quote'],
  ['no name column', 'title\na\n', {}, 'line 1: the header has no column "name"'],
  ['another delimiter', 'name;description\na;b\n', {}, 'try --delimiter ";"'],
  ['a column twice', 'name,name\na,b\n', {}, 'the header has two columns "name"'],
  ['an unknown column', 'name,__proto__\na,b\n', {}, 'unknown column "__proto__"'],
  ['an unknown field', '[{"name":"a","__proto__":{}}]', {}, 'unknown field "__proto__"'],
  ['UTF-16', Buffer.from('\ufeffname\na\n', 'utf16le'), {}, 'the file is UTF-16'],
  ['two characters to separate', 'name\na\n', { delimiter: '||' }, '--delimiter must be one character'],
])('%s is refused', async (_what, content, given, message) => {
  expect((await failure(content, given)).message).toContain(message);
});

test('invalid UTF-8 is named with its lines, and never becomes U+FFFD', async () => {
  const bytes = Buffer.concat([
    Buffer.from('name\nž\n'),
    Buffer.from([0x61, 0xff, 0x0a]),
    Buffer.from('🐕\n'),
    Buffer.from([0xf0, 0x9f]),
  ]);
  expect((await failure(bytes)).problems).toEqual([
    { line: 3, message: 'the text is not valid UTF-8' },
    { line: 5, message: 'the text is not valid UTF-8' },
  ]);
});

test('what a file says never reaches the message raw', async () => {
  const { message } = await failure('[{"name":"a","\\u001b[31m":1}]');
  expect(message).toContain('unknown field "␛[31m"');
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
  await expect(readInputFile('none.csv', world)).rejects.toThrow('cannot read none.csv: no such file');
  await expect(readInputFile('folder', world)).rejects.toThrow('folder is not a regular file');
  await expect(readInputFile('-', world)).rejects.toThrow('stdin is a terminal');
  const file = await readInputFile('Some.CSV', world);
  expect(file.id).toMatch(/^[0-9a-f]{32}$/);
  expect(file.extension).toBe('.csv');
  expect(await readRows(file, { delimiter: undefined, ignoreExtra: false })).toEqual([{ name: 'a' }]);
});

test('a file or a pipe of more than 64 MiB is refused before it is read whole', async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'large.csv'), '');
  truncateSync(join(cwd, 'large.csv'), 64 * 1024 * 1024 + 1);
  let chunks = 0;
  const stdin = {
    isTTY: false,
    async *read() {
      for (; ; chunks++) yield new Uint8Array(1024 * 1024);
    },
  };
  await expect(readInputFile('large.csv', { cwd, stdin })).rejects.toThrow('large.csv is larger than 64 MiB');
  await expect(readInputFile('-', { cwd, stdin })).rejects.toThrow('stdin is larger than 64 MiB');
  expect(chunks).toBe(64);
});
