// The rows of a program are checked by the rules of a file.
import { expect, test } from 'vitest';
import { checkRows } from '../../src/import/row-validator.ts';

test('rows are read from any iterable, and null is no description', async () => {
  const dog = { id: 7, name: 'dog', description: null };
  async function* rows() {
    yield dog;
    yield { name: 'cat', description: 'Felis' };
  }
  const expected = [{ name: 'dog' }, { name: 'cat', description: 'Felis' }];
  expect(await checkRows(rows())).toMatchObject(expected);
  expect(await checkRows(new Set([dog]))).toMatchObject(expected.slice(0, 1));
  expect(await checkRows([])).toEqual([]);
});

test('all invalid rows of a program are reported in one usage error', async () => {
  const checking = checkRows([{ name: 'a' }, { nam: 'b' }, { name: 'a', description: 'x' }, null]);
  await expect(checking).rejects.toMatchObject({
    kind: 'usage',
    message: expect.stringMatching(/^the input has 3 problems\n {2}row 2: /),
    hint: 'correct the rows',
    details: {
      problems: [
        { row: 2, message: 'name is missing; unknown field "nam"' },
        { row: 3, message: '"a" has a different description in row 1' },
        { row: 4, message: 'expected an object with "name"' },
      ],
    },
  });
});

test.each([[undefined], [null], ['[]'], [{ name: 'dog' }]])('rows that are %j are a usage error', async (rows) => {
  await expect(checkRows(rows as never)).rejects.toMatchObject({ kind: 'usage' });
});
