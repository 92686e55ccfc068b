// Reading rows: formats, encodings, and the line number of each problem.
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { RowOptions } from '../../../src/cli/rows/rows.ts';
import { readInputFile, readRows } from '../../../src/cli/rows/rows.ts';
import { PetstoreError } from '../../../src/errors.ts';
import type { NewCategory } from '../../../src/public-types.ts';
import { hasDevices } from '../../support/capabilities.ts';
import { tempDir } from '../../support/temp-dir.ts';

type Given = Partial<RowOptions> & { readonly extension?: string };

async function rowsOf(...args: Parameters<typeof readRows>): Promise<readonly NewCategory[]> {
  return (await readRows(...args)).map(({ line: _line, ...row }) => row);
}

function read(content: string | Uint8Array, { extension = '', ...options }: Given = {}) {
  const file = { label: 'it', extension, bytes: Buffer.from(content) };
  return rowsOf(file, { ignoreExtra: false, ...options });
}

async function failure(content: string | Uint8Array, given?: Given): Promise<PetstoreError> {
  const error: unknown = await read(content, given).catch((thrown: unknown) => thrown);
  if (!(error instanceof PetstoreError)) throw new Error(`not rejected: ${JSON.stringify(error)}`);
  expect(error.kind).toBe('usage');
  return error;
}

const dogAndCat = [{ name: 'dog' }, { name: 'cat', description: 'Felis' }];
const MAP = ['name=Art', 'description= text'];
const BRACKETS = ['name=[Art]', 'description=[text]'];
const LONG = ['description=description, long'];

test.each<[string, string, Given]>([
  ['a JSON array', '[{"id":1,"name":"dog"},\n {"name":"cat","description":"Felis"}]\n', {}],
  ['NDJSON', '{"name":"dog","id":9007199254740993}\n\n{"name":"cat","description":"Felis"}', {}],
  ['CSV with the delimiter |', 'name|description\ndog|\ncat|Felis\n', {}],
  ['CSV with `--delimiter`', 'name^description\ndog^\ncat^Felis\n', { delimiter: '^' }],
  ['TSV recognized by its header', 'name\tdescription\ndog\t\ncat\tFelis\n', {}],
  ['a .tsv file with `--delimiter`', 'name;description\ndog;\ncat;Felis\n', { extension: '.tsv', delimiter: ';' }],
  ['TSV with `--delimiter`', 'name\tdescription\ndog\t\ncat\tFelis\n', { delimiter: 'tab' }],
  ['TSV with an escaped `--delimiter`', 'name\tdescription\ndog\t\ncat\tFelis\n', { delimiter: '\\t' }],
  ['CSV with a sep= line and `--delimiter`', 'SEP=,\nname|description\ndog|\ncat|Felis\n', { delimiter: '|' }],
  [
    'CSV with a mapped column whose name contains an equals sign',
    'a=b,text\ndog,\ncat,Felis\n',
    { map: ['name=a=b', 'description=text'] },
  ],
  ['JSON after blank lines', '\n \n[{"name":"dog"},{"name":"cat","description":"Felis"}]', {}],
  ['JSON with ignored fields', '[{"name":"dog","x":[]},{"name":"cat","description":"Felis"}]', { ignoreExtra: true }],
  ['CSV with an ignored column', 'legs,name,description\n4,dog,\n4,cat,Felis\n', { ignoreExtra: true }],
  ['CSV with a header in another case and order', 'DESCRIPTION,Id,NAME\n,1,dog\nFelis,2,cat\n', {}],
  ['CSV with columns named by `--map`', 'Art;Text\ndog;\ncat;Felis\n', { map: MAP }],
  ['CSV with a name column and `--map`', 'Name;Art;Text\nx;dog;\nx;cat;Felis\n', { map: MAP, ignoreExtra: true }],
  ['CSV with empty columns and rows', 'name,description,,\n,,,\ndog,,,\ncat,Felis,"",\n"","",,\n', {}],
  ['CSV with rows of more or fewer empty fields than the header', 'name,description,,\ndog,\ncat,Felis,,,"",\n', {}],
  ['CSV with an unknown column without values', 'legs,name,description\n,dog,\n"",cat,Felis\n', {}],
  [
    'JSON with unknown fields without values',
    '[{"name":"dog","x":""},{"name":"cat","description":"Felis","x":null}]',
    {},
  ],
  ['CSV after a quoted sep= line', '"sep=|"\nname|description\ndog|\ncat|Felis\n', {}],
  ['a .csv file with brackets in the header', '[Art],[text]\ndog,\ncat,Felis\n', { extension: '.csv', map: BRACKETS }],
  ['CSV with a comma in a quoted column name', '"name";"description, long"\ndog;\ncat;Felis\n', { map: LONG }],
])('rows are read from %s', async (_what, content, given) => {
  expect(await read(content, given)).toEqual(dogAndCat);
});

test.each([
  ['stdin', 'check the command that writes to stdin'],
  ['a.csv', 'pass a file with a header line and rows'],
])('the error about an empty %s has the hint "%s"', async (label, hint) => {
  const reading = readRows({ label, extension: '', bytes: Buffer.alloc(0) }, { ignoreExtra: false });
  await expect(reading).rejects.toMatchObject({ message: `${label} is empty`, hint });
});

test('the error about a file lists every invalid row, with the number of its first line unless the file is a JSON array', async () => {
  const csv = 'name,description\n"two\nlines",ok\n,no name\n\nx\n" ",quoted\nx,y,z\n"fine",""\n';
  const { message, details, hint } = await failure(csv);
  expect(hint).toBe('correct the input and run the same command again');
  expect(message).toBe(
    [
      'it has 4 problems',
      '  line 4 (row 2): name is blank',
      '  line 6 (row 3): the row has 1 field, but the header has 2',
      '  line 7 (row 4): name is blank',
      '  line 8 (row 5): the row has 3 fields, but the header has 2',
    ].join('\n'),
  );
  expect(details.problems?.[1]).toEqual({ line: 6, row: 3, message: 'the row has 1 field, but the header has 2' });
  const json = '[{"name":"a"}, {"name":5}, {"nam":"b"}, {"name":"c","description":[]}, {}, 7, {"name":"\\ud800"}]';
  expect((await failure(json)).message).toBe(
    [
      'it has 6 problems',
      '  row 2: name must be a string',
      '  row 3: name is missing; unknown field "nam"',
      '  row 4: description must be a string',
      '  row 5: name is missing',
      '  row 6: expected an object with "name"',
      '  row 7: name contains an unpaired surrogate',
    ].join('\n'),
  );
  expect((await failure('[{"name":""}]')).details.problems).toEqual([{ row: 1, message: 'name is blank' }]);
  expect((await failure('{"name":"a"}\n{"name":"b"\n[1]\n')).details.problems).toEqual([
    { line: 2, row: 2, message: 'not valid JSON' },
    { line: 3, row: 3, message: 'expected an object with "name"' },
  ]);
});

test('the message about more than twenty problems lists twenty of them, and the JSON error lists all', async () => {
  const { message, details } = await failure(`name,description\n${',x\n'.repeat(1050)}a\nb\n`);
  const lines = message.split('\n');
  expect([lines.length, lines[0]]).toEqual([22, 'it has 1,052 problems']);
  expect(lines.slice(-2)).toEqual(['  line 21 (row 20): name is blank', '  and 1,032 other problems']);
  expect(details.problems).toHaveLength(1052);
  expect((await failure(`name\n${'" "\n'.repeat(20)}`)).message).toMatch(/\n {2}line 21 \(row 20\): name is blank$/);
});

const JSON_FILE = { extension: '.json' };

test.each<[string, string, message: string, Given?]>([
  ['a file of blank lines', ' \n\n', 'it is empty'],
  ['an unfinished array', '[{"name":"a"},\n{"name":"b"}', 'it is not valid JSON'],
  ['text after the array', '[{"name":"a"}]\n,', 'it is not valid JSON'],
  ['an indented object', '\n{\n  "name": "a"\n}', 'line 2: expected an array of objects, or one object per line'],
  ['a .json file of one object', '\n{"name":"x","data":[]}', 'it is not a JSON array', JSON_FILE],
  ['a quoted field without its closing quote', 'name\n"c\nd"\n"a""\nb\n', 'line 4: missing closing quote'],
  [
    'a missing closing quote before another quoted field',
    'sep=,\nname,description\n"dog,x\ncat,"y"\n',
    'line 3: missing closing quote, or text after the quote on line 4',
  ],
  ['a file of zero bytes', '\0'.repeat(5), 'it is not a text file'],
  ['a row of zero bytes', `name\na\n${'\0'.repeat(5)}\n`, 'line 3 (row 2): name is blank'],
  [
    'a repeated name with another description',
    'name,description\nfox,Vulpes\n"c\nd",\nfox,Red\n',
    'line 5 (row 3): "fox" has a different description on line 2',
  ],
  ['a repeated name without its description', '[{"name":"a","description":"b"},{"name":"a"}]', 'description in row 1'],
  ['a quote inside an unquoted field', 'name\na"b\n', 'line 2: unquoted field contains a quote'],
  ['text after a closing quote', 'name\n"a"b\n', 'line 2: text after closing quote'],
  ['a duplicate column', 'name,Name\na,b\n', 'duplicate column "name" in the header'],
  ['an unknown column with a value', 'name,__proto__\na,b\n', 'unknown column "__proto__"'],
  ['an unknown field with control characters', '[{"name":"a","\\u001b[31m":1}]', 'unknown field "␛[31m"'],
  ['a blank name beside an unknown field', '{"name":"","x":1}', 'name is blank'],
  ['a value in a column without a name', 'name,\na,b\n', 'the row has a value in a column without a name'],
  ['a delimiter of two characters', 'name\na\n', 'invalid value "||" for --delimiter', { delimiter: '||' }],
  ['`--map` with JSON', '[{"name":"a"}]', '--map requires a CSV or TSV file', { map: ['name=a'] }],
  ['a quoted CSV header in a .jsonl file', '"name"\n', 'expected an object with "name"', { extension: '.jsonl' }],
  ['a quoted CSV header in a .ndjson file', '"name"\n', 'expected an object with "name"', { extension: '.ndjson' }],
  ['`--delimiter` with NDJSON', '{"name":"a"}', '--delimiter cannot be used with a JSON file', { delimiter: ';' }],
  ['`--delimiter` with JSON', '[{"name":"a"}]', '--delimiter cannot be used with a JSON file', { delimiter: ';' }],
  ['`--map` of a missing column', 'name\na\n', 'no column "Notes"; found "name"', { map: ['description=Notes'] }],
  [
    '`--map` of one column to two fields',
    'name\na\n',
    '--map uses the same column for name',
    { map: ['description=name'] },
  ],
  ['a header without names', ',,\na,b,c\n', 'no column "name"; found no names'],
  ['`--map` of two columns to a field', 'a,b\nx,y\n', '--map name is given twice', { map: ['name=a', 'name=b'] }],
  ['an unknown `--encoding`', 'name\na\n', 'invalid encoding "windows" for --encoding', { encoding: 'windows' }],
  ['`--map` of an id', 'Nr,name\n1,a\n', 'invalid value "id=Nr" for --map', { map: ['id=Nr'] }],
  ['`--map` without a column', 'name\na\n', 'invalid value "name=" for --map', { map: ['name='] }],
])('%s is a usage error in an import', async (_what, content, message, given) => {
  expect((await failure(content, given)).message).toContain(message);
});

test('unknown fields are the reason for an error about rows only if the rows have no other problem', async () => {
  expect((await failure('[{"name":"a","x":1}]')).details.reason).toEqual({ is: 'extra_fields' });
  expect((await failure('[{"name":"a","x":1},{"name":""}]')).details.reason).toBeUndefined();
  expect((await failure('[{"name":"","x":1}]')).details.reason).toBeUndefined();
});

// Files from Excel on German Windows: CSV with semicolons, "CSV UTF-8" and "Unicode text".
const GERMAN = 'Name;Beschreibung\r\nGrüne Mamba;"giftig; schön"\r\nÄffchen;\r\n;\r\n';
const german = [{ name: 'Grüne Mamba', description: 'giftig; schön' }, { name: 'Äffchen' }];
const map = ['description=Beschreibung'];

test.each<[string, Uint8Array, Given]>([
  ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${GERMAN}`), {}],
  ['UTF-8 with a sep= line', Buffer.from(`sep=;\r\n${GERMAN}`), {}],
  ['UTF-16 LE', Buffer.from(`\ufeff${GERMAN}`, 'utf16le'), {}],
  ['UTF-16 BE', Buffer.from(`\ufeff${GERMAN}`, 'utf16le').swap16(), {}],
  ['UTF-16 LE with tabs', Buffer.from(`\ufeff${GERMAN.replace(/;(?! )/g, '\t')}`, 'utf16le'), {}],
  ['UTF-8 with classic Mac OS line breaks', Buffer.from(GERMAN.replaceAll('\r\n', '\r')), {}],
  ['Windows-1252 with `--encoding`', Buffer.from(GERMAN, 'latin1'), { encoding: 'windows-1252' }],
  ['UTF-16 with `--encoding` and no byte order mark', Buffer.from(GERMAN, 'utf16le'), { encoding: 'utf-16le' }],
  ['UTF-8 with a byte order mark and a wrong `--encoding`', Buffer.from(`\ufeff${GERMAN}`), { encoding: 'latin1' }],
])('a German spreadsheet is read from %s', async (_what, bytes, given) => {
  expect(await read(bytes, { map, ...given })).toEqual(german);
});

test('a bare carriage return ends a row even in a file whose other rows end with line feeds', async () => {
  expect(await read('name\ndog\rcat\nfox\r\n')).toEqual(['dog', 'cat', 'fox'].map((name) => ({ name })));
  expect((await failure('name\ndog\rcat,x\n')).message).toBe(
    'it, line 3 (row 2): the row has 2 fields, but the header has 1',
  );
});

const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const NO_TEXT = ' is not a text file';
const UTF16 = { encoding: 'utf-16le' };
const NOT_UTF16 = ', line 2: the text is not valid UTF-16LE';
const SAVE_AS_UTF8 = 'save the file as UTF-8 (in Excel: "CSV UTF-8")';
const SAVE_AS_CSV = 'save the data as CSV (in Excel: "CSV UTF-8")';
const DECOMPRESS = 'decompress the file first';
const BADLY_ENCODED = ', line 3: the text is not valid UTF-8';
const USE_ENCODING = 'use --encoding, for example --encoding windows-1252';

test.each<[string, Buffer, string, string, Given?]>([
  ['Windows-1252', latin1(`name\na\n${'é\n'.repeat(200)}`), BADLY_ENCODED, USE_ENCODING],
  ['UTF-16 LE without a byte order mark', utf16('name\na\n'), NO_TEXT, SAVE_AS_CSV],
  ['UTF-16 BE without a byte order mark', utf16('name\na\n').swap16(), NO_TEXT, SAVE_AS_CSV],
  ['a binary format', Buffer.from('7f454c46020100fe', 'hex'), NO_TEXT, SAVE_AS_CSV],
  ['the PDF format', latin1('%PDF-1.7\n'), ' is not CSV, TSV, JSON or NDJSON', SAVE_AS_CSV],
  ['the HTML format', latin1('<!doctype html>\n'), ' is not CSV, TSV, JSON or NDJSON', SAVE_AS_CSV],
  ['UTF-16 that ends inside a character', utf16('\ufeffname\na\n').subarray(0, -1), NOT_UTF16, SAVE_AS_UTF8],
  ['incomplete UTF-16 with `--encoding`', utf16('name\na\n').subarray(0, -1), NOT_UTF16, 'check --encoding', UTF16],
  ['the Excel format', latin1('PK\x03\x04\x14xl/workbook.xml'), ' is an Excel workbook', SAVE_AS_CSV],
  ['the old Excel format', Buffer.from('d0cf11e0a1b11ae100', 'hex'), ' is an Excel workbook', SAVE_AS_CSV],
  ['the ZIP format', latin1('PK\x03\x04\x14'), ' is a ZIP archive', DECOMPRESS],
  ['the gzip format', gzipSync('name\na\n'), ' is compressed with gzip', DECOMPRESS],
])('a file in %s is rejected with one error and a hint', async (_what, bytes, message, hint, given) => {
  const error = await failure(bytes, given);
  expect(error).toMatchObject({ message: `it${message}`, hint });
  const line = /line (\d)/.exec(message)?.[1];
  expect(error.details.problems?.map((problem) => `${problem.line}`)).toEqual(line && [line]);
});

const ADD = 'add a header line with a column "name", or use --map name=COLUMN';
const USE_ONE = 'use one of these columns for --map';
const IGNORE_EXTRA = 'use --ignore-extra to ignore unknown columns and fields';

test.each<[header: string, Given, string, string]>([
  ['Art;Text', {}, 'no column "name"; found "Art", "Text"', ADD],
  ['dog', {}, 'no column "name"; found "dog"', ADD],
  ['name,description', { delimiter: ';' }, 'no column "name"; found "name,description"', ADD],
  ['Name;Beschreibung;Nr', {}, 'unknown columns "Beschreibung", "Nr"', IGNORE_EXTRA],
  ['name,color', {}, 'unknown column "color"', IGNORE_EXTRA],
  ['Name;Text', { map: ['name=Titel'] }, 'no column "Titel"; found "Name", "Text"', USE_ONE],
])('the header "%s" with the options %j is a usage error: %s', async (header, given, message, hint) => {
  expect(await failure(`${header}\na;b;c,d\n`, given)).toMatchObject({ message: `it, line 1: ${message}`, hint });
});

const unreadStdin = {
  isTTY: true,
  read(): AsyncIterable<Uint8Array> {
    throw new Error('stdin was read');
  },
};

const PASS = 'pass a file, or - to read stdin';

test.each<[string, message: string, hint: string]>([
  ['none.csv', 'cannot read "none.csv" (no such file or directory)', 'check the path'],
  ['', 'cannot read "" (no such file or directory)', 'check the path'],
  ['some', '"some" is a directory', PASS],
  ['-', 'stdin is a terminal', 'pass a file, or pipe data to stdin'],
  ['https://x.example/a.csv', '"https://x.example/a.csv" is a URL', 'download the file first'],
  ['http://x.example/a.csv', '"http://x.example/a.csv" is a URL', 'download the file first'],
  ...(hasDevices ? [['/dev/zero', '"/dev/zero" is not a regular file', PASS] as [string, string, string]] : []),
])('an import of %j is rejected: %s', async (file, message, hint) => {
  const cwd = tempDir();
  mkdirSync(join(cwd, 'some'));
  await expect(readInputFile(file, { cwd, stdin: unreadStdin })).rejects.toMatchObject({ message, hint });
});

test('without `--delimiter`, only tabs delimit the columns of a .TSV file', async () => {
  const cwd = tempDir();
  writeFileSync(join(cwd, 'Some.TSV'), 'name\na, b\n');
  const file = await readInputFile('Some.TSV', { cwd, stdin: unreadStdin });
  expect(await rowsOf(file, { ignoreExtra: false })).toEqual([{ name: 'a, b' }]);
});

test('a file of more than 64 MiB is rejected, and so is stdin as soon as it exceeds this size', async () => {
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
  await expect(readInputFile('large.csv', { cwd, stdin })).rejects.toThrow('"large.csv" is larger than 64 MiB');
  await expect(readInputFile('-', { cwd, stdin })).rejects.toThrow('stdin is larger than 64 MiB');
  expect(chunks).toBe(64);
});

test.each([
  ['valid', '{"name":"a"}\n'],
  ['invalid', '{}\n'],
])('a file of more than 500,000 %s rows is rejected', async (_what, row) => {
  const error = { message: 'it has more than 500,000 rows', hint: 'split it into several imports' };
  expect(await failure(row.repeat(500_001))).toMatchObject(error);
});
