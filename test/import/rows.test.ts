// Reading rows: formats, encodings, and the line number of each problem.
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { NewCategory } from '../../src/api/types.ts';
import { PetstoreError } from '../../src/errors.ts';
import type { RowOptions } from '../../src/import/rows.ts';
import { readInputFile, readRows } from '../../src/import/rows.ts';
import { hasDevices } from '../support/capabilities.ts';
import { tempDir } from '../support/temp-dir.ts';

type Given = Partial<RowOptions> & { readonly extension?: string };

function read(
  content: string | Uint8Array,
  { extension = '', ...options }: Given = {},
): Promise<readonly NewCategory[]> {
  const file = { label: 'it', extension, bytes: Buffer.from(content) };
  return readRows(file, { delimiter: undefined, ignoreExtra: false, ...options });
}

async function failure(content: string | Uint8Array, given?: Given): Promise<PetstoreError> {
  const error: unknown = await read(content, given).catch((thrown: unknown) => thrown);
  if (!(error instanceof PetstoreError)) throw new Error(`not rejected: ${JSON.stringify(error)}`);
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
  ['CSV with columns in another order', 'description,id,name\n,1,dog\nFelis,2,cat\n', {}],
  ['CSV with semicolons', 'name;description\ndog;\n"cat";Felis\n', {}],
  ['CSV with --delimiter', 'name|description\ndog|\ncat|Felis\n', { delimiter: '|' }],
  ['TSV recognized by its header', 'name\tdescription\ndog\t\ncat\tFelis\n', {}],
  ['TSV with --delimiter', 'name\tdescription\ndog\t\ncat\tFelis\n', { delimiter: 'tab', extension: '.csv' }],
  ['JSON with a description of null', '[{"name":"dog","description":null},{"name":"cat","description":"Felis"}]', {}],
  [
    'JSON with extra fields and --ignore-extra',
    '[{"name":"dog","legs":4},{"name":"cat","description":"Felis","x":[]}]',
    { ignoreExtra: true },
  ],
  [
    'CSV with an extra column and --ignore-extra',
    'legs,name,description\n4,dog,\n4,cat,Felis\n',
    { ignoreExtra: true },
  ],
])('rows are read from %s', async (_what, content, given) => {
  expect(await read(content, given)).toEqual(dogAndCat);
});

test('CSV rows keep quotes, line breaks, tabs, lone CRs and emoji', async () => {
  expect(await read('name,description\r\n"a ""b""\r\nc","\r"\r\n👩‍🚀,"\t"\r\n')).toEqual([
    { name: 'a "b"\r\nc', description: '\r' },
    { name: '👩‍🚀', description: '\t' },
  ]);
});

test('an empty stdin and an empty file have hints of their own', async () => {
  const hintFor = (label: string) =>
    readRows({ label, extension: '', bytes: Buffer.alloc(0) }, { delimiter: undefined, ignoreExtra: false });
  await expect(hintFor('stdin')).rejects.toMatchObject({ hint: 'check the command that writes to stdin' });
  await expect(hintFor('a.csv')).rejects.toMatchObject({ hint: expect.stringContaining('NDJSON') });
});

test('every bad row is reported with its first line', async () => {
  const csv = 'name,description\n"two\nlines",ok\n,no name\n\nx\n" ",quoted\nx,y,z\n"fine",""\n';
  const { message, problems } = await failure(csv);
  expect(message).toBe(
    [
      'it has 4 problems',
      '  line 4 (row 2): name is blank',
      '  line 6 (row 3): the row has 1 field, but the header has 2',
      '  line 7 (row 4): name is blank',
      '  line 8 (row 5): the row has 3 fields, but the header has 2',
    ].join('\n'),
  );
  expect(problems?.[1]).toEqual({ line: 6, row: 3, message: 'the row has 1 field, but the header has 2' });
  const json =
    '[\n{"name":"a"},\n{"name":5},\n\n{"nam":"b"}, {"name":"c","description":[]},{},\n7, {"name":"\\ud800"}]';
  expect((await failure(json)).problems?.map(({ line, row, message }) => [line, row, message])).toEqual([
    [3, 2, 'name must be a string'],
    [5, 3, 'unknown field "nam"'],
    [5, 4, 'description must be a string'],
    [5, 5, 'name is missing'],
    [6, 6, 'expected an object with "name"'],
    [6, 7, 'name contains an unpaired surrogate'],
  ]);
  expect((await failure('{"name":"a"}\n{"name":"b"\n[1]\n')).problems).toEqual([
    { line: 2, row: 2, message: 'not valid JSON' },
    { line: 3, row: 3, message: 'expected an object with "name"' },
  ]);
});

test('the message about more than twenty problems names twenty, and the JSON error all of them', async () => {
  const { message, problems } = await failure(`name,description\n${',x\n'.repeat(1050)}a\nb\n`);
  const lines = message.split('\n');
  expect([lines.length, lines[0]]).toEqual([22, 'it has 1,052 problems']);
  expect(lines.slice(-2)).toEqual(['  line 21 (row 20): name is blank', '  and 1,032 other problems']);
  expect(problems).toHaveLength(1052);
});

test.each<[string, string | Uint8Array, Given, string]>([
  ['an empty file', '', {}, 'contains no rows'],
  ['a file of blank lines', ' \n\n', {}, 'contains no rows'],
  ['a single object in a .json file', '{"name":"a"}', { extension: '.json' }, 'line 1: expected an array'],
  ['an unfinished array', '[{"name":"a"},\n{"name":"b"}', {}, 'line 2: unexpected end of file (missing "]")'],
  ['an unfinished string', '[{"name":"a', {}, 'line 1: unexpected end of file'],
  ['text after the array', '[{"name":"a"}]\n,', {}, 'line 2: unexpected text after the array'],
  ['a trailing comma', '[{"name":"a"},\n]', {}, 'line 2: not valid JSON (trailing comma)'],
  ['an extra bracket', '[{"name":"a"}}]', {}, 'line 1 (row 1): not valid JSON'],
  ['a quoted field without its closing quote', 'name\n"a\nb', {}, 'missing closing quote'],
  ['a quote inside an unquoted field', 'name\na"b\n', {}, 'line 2: quote inside an unquoted field'],
  ['text after a closing quote', 'name\n"a"b\n', {}, 'line 2: text after closing quote'],
  ['a duplicate column', 'name,Name\na,b\n', {}, 'duplicate column "name" in the header'],
  ['an unknown column', 'name,__proto__\na,b\n', {}, 'unknown column "__proto__"'],
  ['an unknown field', '[{"name":"a","__proto__":{}}]', {}, 'unknown field "__proto__"'],
  [
    'a value in a column without a name',
    'name,\na,b\n',
    {},
    'line 2 (row 1): the row has a value in a column without a name',
  ],
  ['a delimiter of two characters', 'name\na\n', { delimiter: '||' }, 'invalid value "||" for --delimiter'],
  ['--map with JSON', '[{"name":"a"}]', { map: ['name=a'] }, '--map requires a CSV or TSV file'],
  ['--map of an id', 'Nr,name\n1,a\n', { map: ['id=Nr'] }, 'invalid value "id=Nr" for --map'],
  ['--map without a column', 'name\na\n', { map: ['name='] }, 'invalid value "name=" for --map'],
])('%s is a usage error of an import', async (_what, content, given, message) => {
  expect((await failure(content, given)).message).toContain(message);
});

// Files from Excel on a German Windows: its semicolon CSV, "CSV UTF-8" and "Unicode text".
const GERMAN = 'Name;Beschreibung\r\nGrüne Mamba;"giftig; schön"\r\nÄffchen;\r\n;\r\n';
const german = [{ name: 'Grüne Mamba', description: 'giftig; schön' }, { name: 'Äffchen' }];
const map = ['description=Beschreibung'];

test.each<[string, Uint8Array, Given]>([
  ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${GERMAN}`), {}],
  ['UTF-8 with a sep= line', Buffer.from(`sep=;\r\n${GERMAN}`), { extension: '.csv' }],
  ['UTF-16 LE', Buffer.from(`\ufeff${GERMAN}`, 'utf16le'), { extension: '.csv' }],
  ['UTF-16 BE', Buffer.from(`\ufeff${GERMAN}`, 'utf16le').swap16(), { extension: '.txt' }],
  ['UTF-16 LE with tabs', Buffer.from(`\ufeff${GERMAN.replace(/;(?! )/g, '\t')}`, 'utf16le'), { extension: '.csv' }],
  ['UTF-8 with the line breaks of an old Macintosh', Buffer.from(GERMAN.replaceAll('\r\n', '\r')), {}],
])('a German spreadsheet is read from %s', async (_what, bytes, given) => {
  expect(await read(bytes, { map, ...given })).toEqual(german);
});

test('a file in Windows-1252 causes one error that names the first bad line, with a hint to save it as UTF-8', async () => {
  const rows = Array.from({ length: 200 }, (_, at) => `Schlüssel ${at};\r\n`).join('');
  const error = await failure(Buffer.from(`Name;Beschreibung\r\nMamba;\r\n${rows}`, 'latin1'), { map });
  expect(error.message).toBe('it, line 3: the text is not valid UTF-8');
  expect(error.hint).toBe('save the file as UTF-8 (in Excel: "CSV UTF-8")');
  expect(error.problems).toEqual([{ line: 3, message: 'the text is not valid UTF-8' }]);
});

test.each([
  ['UTF-16 without a byte order mark', Buffer.from('name\na\n', 'utf16le'), 'line 1: the text is not valid UTF-8'],
  [
    'UTF-16 that ends inside a character',
    Buffer.from('\ufeffname\na\n', 'utf16le').subarray(0, -1),
    'line 2: the text is not valid UTF-16',
  ],
  ['UTF-32', Buffer.from('\ufeff\0n\0a\0m\0e\0', 'utf16le'), 'line 1: the text is not valid UTF-16'],
  [
    'the format of an Excel workbook',
    Buffer.from('PK\x03\x04\x14\0\x06\0\x08\0\0\0!\0\xdf', 'latin1'),
    'line 1: the text is not valid UTF-8',
  ],
])('a file in %s is rejected', async (_what, bytes, message) => {
  expect((await failure(bytes)).message).toContain(message);
});

test('a U+FFFD character in a file is kept', async () => {
  expect(await read('name\na\ufffd\n')).toEqual([{ name: 'a\ufffd' }]);
});

test.each<[string, string, Given, string, string]>([
  [
    'without a name column',
    'Art;Beschreibung\na;b\n',
    {},
    'it, line 1: no column "name"; found "Art", "Beschreibung"',
    'choose the column with `--map name=Art`',
  ],
  [
    'with a space in a column',
    'Art des Tiers;Name des Halters\na;b\n',
    {},
    'it, line 1: no column "name"; found "Art des Tiers", "Name des Halters"',
    'choose the column with `--map "name=Art des Tiers"`',
  ],
  [
    'with a column that a shell would expand',
    '$(id),b\na;b\n',
    {},
    'it, line 1: no column "name"; found "$(id)", "b"',
    'choose the column with `--map name=COLUMN`',
  ],
  [
    'with an unknown column',
    'Name;Beschreibung;Nr\na;b;1\n',
    {},
    'it, line 1: unknown columns "Beschreibung", "Nr"',
    'choose the column with `--map description=Beschreibung`',
  ],
  [
    'with an unknown column beside a description',
    'name,description,color\na,b,c\n',
    {},
    'it, line 1: unknown column "color"',
    'use --ignore-extra to ignore unknown columns and fields',
  ],
  [
    'without the column of --map',
    'Name;Beschreibung\na;b\n',
    { map: ['name=Titel'] },
    'it, line 1: no column "Titel"; found "Name", "Beschreibung"',
    'use one of these columns for --map',
  ],
])('a header %s is an error that lists the columns found', async (_what, content, given, message, hint) => {
  expect(await failure(content, given)).toMatchObject({ message, hint });
});

test.each<[string, string, Given]>([
  ['in capitals and another order', 'DESCRIPTION,Id,NAME\nFelis,2,cat\n', {}],
  ['with the columns named by --map', 'Art;Text\ncat;Felis\n', { map: ['name=Art', 'description=text'] }],
  [
    'with a column "name" that --map overrides',
    'Name;Art;Text\nx;cat;Felis\n',
    { map: ['name=Art', 'description=Text'], ignoreExtra: true },
  ],
  ['with empty columns and rows', 'name,description,,\n,,,\ncat,Felis,,\n,,,\n', {}],
  ['after a quoted sep= line', '"sep=|"\nname|description\ncat|Felis\n', {}],
  ['with a quoted heading', '"name";"description, long"\ncat;Felis\n', { map: ['description=description, long'] }],
])('a header %s is read', async (_what, content, given) => {
  expect(await read(content, given)).toEqual([{ name: 'cat', description: 'Felis' }]);
});

test('a sep= line counts as a line of the file', async () => {
  expect((await failure('sep=;\nname;description\na;b;c\n')).problems).toEqual([
    { line: 3, row: 1, message: 'the row has 3 fields, but the header has 2' },
  ]);
});

test('control characters of a file are escaped in the error', async () => {
  const { message } = await failure('[{"name":"a","\\u001b[31m":1}]');
  expect(message).toContain('unknown field "␛[31m"');
});

const unreadStdin = {
  isTTY: true,
  read(): AsyncIterable<Uint8Array> {
    throw new Error('stdin was read');
  },
};

test('a missing file, a directory and a terminal are rejected, and the case of a file extension does not matter', async () => {
  const cwd = tempDir();
  mkdirSync(join(cwd, 'some'));
  writeFileSync(join(cwd, 'Some.CSV'), 'name\na\n');
  const world = { cwd, stdin: unreadStdin };
  await expect(readInputFile('none.csv', world)).rejects.toThrow('cannot read none.csv (no such file or directory)');
  await expect(readInputFile('some', world)).rejects.toThrow('some is a directory');
  await expect(readInputFile('-', world)).rejects.toThrow('stdin is a terminal');
  const file = await readInputFile('Some.CSV', world);
  expect(file.extension).toBe('.csv');
  expect(await readRows(file, { delimiter: undefined, ignoreExtra: false })).toEqual([{ name: 'a' }]);
});

test.runIf(hasDevices)('a device instead of a file is rejected', async () => {
  const reading = readInputFile('/dev/zero', { cwd: '/', stdin: unreadStdin });
  await expect(reading).rejects.toThrow('/dev/zero is not a regular file');
});

test('a file or a pipe of more than 64 MiB is rejected before it is read whole', async () => {
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
