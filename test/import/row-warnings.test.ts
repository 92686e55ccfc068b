// The warnings of an import about repeated and similar names, and about different descriptions.
import { expect, test } from 'vitest';
import { readRows } from '../../src/cli/rows/rows.ts';
import {
  differingDescriptionsWarning,
  lookAlikesWarning,
  repeatedNamesWarning,
} from '../../src/import/row-warnings.ts';

test('one warning lists up to three pairs of names that differ only in case, spaces or Unicode form', () => {
  const rows = ['cat', 'Cat', 'dog', 'dog\u00a0', 'é', 'e\u0301', 'ant', 'ANT', 'cat', 'bat'].map((name) => ({ name }));
  expect(lookAlikesWarning(rows)).toBe(
    'names that differ only in case, spaces or Unicode form become separate categories: "cat" and "Cat", "dog" and "dog\u00a0", "é" and "e\u0301", and 1 more',
  );
  expect(lookAlikesWarning(rows.slice(0, 1))).toBeUndefined();
});

test.each([
  ['a CSV file', 'name,description\nfox,\ncat,\n"fox",\n\nFox,\n', '1 row repeats a name and is skipped: line 4 "fox"'],
  [
    'a CSV file with line breaks in names',
    'name,description\nfox,Vulpes\n"a\nb",""\nfox,Vulpes\nfox,Vulpes\n"a\nb",\nfox,Vulpes\n',
    '4 rows repeat a name and are skipped: line 5 "fox", line 6 "fox", line 7 "a\nb", and 1 more',
  ],
  [
    'a JSON array',
    '[{"name":"fox"},\n\n{"name":"cat"}, {"name":"fox"\n}]',
    '1 row repeats a name and is skipped: row 3 "fox"',
  ],
])('one warning lists up to three rows that repeat a name in %s', async (_what, content, warning) => {
  const rows = await readRows({ label: 'it', extension: '', bytes: Buffer.from(content) }, { ignoreExtra: false });
  expect(repeatedNamesWarning(rows)).toBe(warning);
});

test('rows with different names cause no warning about repeated names', () => {
  expect(repeatedNamesWarning([{ name: 'fox' }, { name: 'cat' }])).toBeUndefined();
});

test('the warning about different descriptions names at most three categories', () => {
  const warning = '4 existing categories have a different description and cannot be updated: ';
  const skipped = ['cat', 'dog', 'cow', 'elk'].map((name, at) => ({ row: at + 1, name, differs: true }));
  const document = { created: [], skipped: [...skipped, { row: 5, name: 'ant' }], failed: [], unknown: [], pending: 0 };
  expect(differingDescriptionsWarning(document)).toBe(`${warning}"cat", "dog", "cow", and 1 more`);
});
