// The output formats: none passes a control character to a terminal; test/import/round-trip.test.ts reads them back.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { GlobalOptions } from '../../../src/cli/global-options.ts';
import { loadRenderer } from '../../../src/cli/output/render.ts';
import type { View } from '../../../src/cli/output/view.ts';
import { escapeControls } from '../../../src/text/escape.ts';
import { world } from '../../support/world.ts';

interface Pet {
  readonly id: bigint | number;
  readonly name: string;
}

const view: View<readonly Pet[]> = {
  text: (pets, { table }) => table([{ header: 'name', value: (pet: Pet) => pet.name }], pets),
  tables: true,
  records: {
    columns: () => [
      { header: 'id', value: (pet: Pet) => String(pet.id) },
      { header: 'name', value: (pet: Pet) => pet.name },
    ],
    rows: (pets) => pets,
  },
};
const pets: readonly Pet[] = [
  { id: 9007199254740993n, name: 'dog\u009b' },
  { id: 2, name: '犬' },
];
const pipe = world([]);
const terminal = world([], { columns: 80 });

async function shown(format: GlobalOptions['format'], target = pipe, rows = pets): Promise<string> {
  const render = await loadRenderer(view, target, { format, color: false });
  return [...render(rows)].join('');
}

test.each([
  ['json', '[{"id":9007199254740993,"name":"dog\\u009b"},{"id":2,"name":"犬"}]\n'],
  ['ndjson', '{"id":9007199254740993,"name":"dog\\u009b"}\n{"id":2,"name":"犬"}\n'],
  ['csv', 'id,name\n9007199254740993,dog\u009b\n2,犬\n'],
  ['tsv', 'id\tname\n9007199254740993\tdog\u009b\n2\t犬\n'],
] as const)('`--format %s` prints every digit of an id to a pipe', async (format, text) => {
  expect(await shown(format)).toBe(text);
});

test.each([
  ['without a space', 'a', 'a'],
  ['with a leading space', ' a', '" a"'],
  ['with a trailing space', 'a ', '"a "'],
  ['with a leading no-break space', '\u00a0a', '"\u00a0a"'],
  ['with a trailing ideographic space', 'a\u3000', '"a\u3000"'],
  ['with a byte order mark', '\ufeffa', '"\ufeffa"'],
  ['with an inner space', 'a b', 'a b'],
  ['without a character', '', '""'],
])('a text %s, %j, is the CSV field `%s`', async (_what, name, field) => {
  expect(await shown('csv', pipe, [{ id: 1, name }])).toBe(`id,name\n1,${field}\n`);
});

test('a table on a terminal of unknown width is not shortened', async () => {
  expect(await shown('table', world([], { columns: 0 }))).toBe('NAME\ndog<U+009B>\n犬\n');
});

test('CSV output longer than one page contains every row', async () => {
  const rows = Array.from({ length: 1001 }, (_, id) => ({ id, name: 'x' }));
  expect(await shown('csv', pipe, rows)).toBe(`id,name\n${rows.map(({ id }) => `${id},x\n`).join('')}`);
});

test('JSON on a terminal is indented', async () => {
  const text = await shown('json', terminal);
  expect(text.split('\n').length).toBeGreaterThan(5);
  expect(JSON.parse(text)).toEqual(JSON.parse(await shown('json')));
});

test('no format passes a control character from random text to a terminal', async () => {
  const piece = fc.oneof(
    fc.constantFrom('\u001b[2J', '\u001b]0;x\u0007', '\u009b', '\u202e', '\r', '\n', '\t', '\u2028', '"', ',', '犬'),
    fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code)),
  );
  const text = fc.string({ unit: piece, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 6 }), async (names) => {
      const rows = names.map((name, id) => ({ id, name }));
      for (const format of ['table', 'json', 'ndjson', 'csv', 'tsv'] as const) {
        const shown = [...(await loadRenderer(view, terminal, { format, color: false }))(rows)].join('');
        // TSV separates its columns with tabs.
        const own = (format === 'tsv' ? shown.replaceAll('\t', ' ') : shown).replaceAll('\n', '');
        if (escapeControls(own) !== own) throw new Error(`${format}: ${JSON.stringify(shown)}`);
        if (format === 'json') expect(JSON.parse(shown)).toEqual(JSON.parse(JSON.stringify(rows)));
      }
    }),
    { numRuns: 500 },
  );
});
