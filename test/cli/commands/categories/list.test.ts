// `categories list`: --search, --sort and --columns, empty and incomplete lists.
import { expect, test } from 'vitest';
import { filterAndSort } from '../../../../src/cli/commands/categories/list.ts';
import { stringifyJson } from '../../../../src/text/json.ts';
import { inProcess, serving } from '../../../support/world.ts';

const categories = [
  { id: 9223372036854775807n, name: 'élan', description: 'moose' },
  { id: 2, name: 'Zebra' },
  { id: 10, name: 'cat', description: 'Felis CATUS' },
  { id: 1, name: 'Elephant' },
];

test.each<[string, Parameters<typeof filterAndSort>[1], string[]]>([
  ["without options keeps the service's order", {}, ['élan', 'Zebra', 'cat', 'Elephant']],
  ['with `--search` ignores case', { search: 'CAT' }, ['cat']],
  ['with `--search` also searches descriptions', { search: 'catus' }, ['cat']],
  ['with `--search` ignores the Unicode normalization form', { search: 'e\u0301LAN' }, ['élan']],
  ['with `--search` lists nothing if nothing matches', { search: 'dog' }, []],
  ['with `--sort name` uses English collation', { sort: 'name' }, ['cat', 'élan', 'Elephant', 'Zebra']],
  ['with `--sort id` compares numbers, even above 2^53', { sort: 'id' }, ['Elephant', 'Zebra', 'cat', 'élan']],
])('`categories list` %s', (_what, options, names) => {
  expect(filterAndSort(Object.freeze(categories), options).map(({ name }) => name)).toEqual(names);
});

test('`categories list --sort name` sorts categories of the same name by id', () => {
  const cats = [2, 1, 3].map((id) => ({ id, name: 'cat' }));
  expect(filterAndSort(cats, { sort: 'name' }).map(({ id }) => id)).toEqual([1, 2, 3]);
});

test('an empty list prints "No categories found" on stderr, `[]` on stdout with `--json`, or nothing with `--quiet`', async () => {
  const list = ['categories', 'list', '-p', 'sandbox'];
  const { code, out, err } = await inProcess(list);
  expect({ code, out }).toEqual({ code: 0, out: '' });
  expect(err).toMatch(/^No categories found\nquota \(sandbox\): /);
  expect(await inProcess([...list, '--json'])).toEqual({ code: 0, out: '[]\n', err: '' });
  expect(await inProcess([...list, '--quiet'])).toEqual({ code: 0, out: '', err: '' });
});

test('global options are accepted before, between and after the words of a command', async () => {
  const run = await inProcess('--quiet categories --format=csv list -p sandbox'.split(' '));
  expect(run).toEqual({ code: 0, out: 'id,name,description\n', err: '' });
});

test('a list that is one page of several is printed with a warning', async () => {
  const headers = { link: '</v1/categories?page=2>; rel="next"' };
  const { env } = await serving(() => ({ body: [{ id: 1, name: 'cat' }], headers }));
  const err = 'warning: the list is incomplete: the service sent only one page\n';
  const run = await inProcess(['categories', 'list', '--format', 'csv', '-q'], { env });
  expect(run).toEqual({ code: 0, out: 'id,name,description\n1,cat,\n', err });
});

/** Categories with fields that petstore does not know. */
const withExtras = [
  { id: 9223372036854775807n, name: 'cat', description: 'x', tags: ['a', 'b'], size: 3 },
  { id: 2, name: 'dog', size: null },
];

test.each([
  ['id,name', 'id,name\n9223372036854775807,cat\n2,dog\n'],
  ['name, id', 'name,id\ncat,9223372036854775807\ndog,2\n'],
  ['name,tags,size', 'name,tags,size\ncat,"[""a"",""b""]",3\ndog,,\n'],
])('`list --columns %s` prints these fields of the response as a table, CSV and TSV', async (names, csv) => {
  const { env } = await serving(() => ({ body: stringifyJson(withExtras) }));
  const run = async (...more: string[]) =>
    (await inProcess(['categories', 'list', '-q', '--columns', names, ...more], { env })).out;
  expect(await run('--format', 'csv')).toBe(csv);
  const [header, , dog] = csv.split('\n');
  expect(await run('--format', 'csv', '--search', 'dog')).toBe(`${header}\n${dog}\n`);
  const lines = (await run('--format', 'tsv')).split('\n');
  expect([lines[0], lines[2]]).toEqual([header, dog].map((line) => line?.replaceAll(',', '\t')));
  const table = (await run()).split('\n');
  expect(table[0]?.trim().split(/\s+/)).toEqual(header?.toUpperCase().split(','));
  expect(table[2]).toContain('dog');
});

test.each([
  ['--columns id,nam', 'invalid column "nam" for --columns', 'use id, name, description, tags or size'],
  ['--columns constructor', 'invalid column "constructor" for --columns', 'use id, name, description, tags or size'],
  ['--columns=', 'invalid column "" for --columns', 'use id, name, description, tags or size'],
  ['--columns id --json', '--columns and --format json cannot be combined', 'use --format csv instead of JSON'],
  [
    '--columns id --format ndjson',
    '--columns and --format ndjson cannot be combined',
    'use --format csv instead of JSON',
  ],
])('`list %s` is a usage error: %s', async (line, message, hint) => {
  const { env } = await serving(() => ({ body: stringifyJson(withExtras) }));
  const { code, out, err } = await inProcess(['categories', 'list', ...line.split(' ')], { env });
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain(message);
  expect(err).toContain(hint);
});
