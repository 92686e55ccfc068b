// The check of the rows that a program passes to an import.
import { expect, test } from 'vitest';
import { checkRows } from '../../src/import/row-validator.ts';

test('rows are read from any iterable, without their ids and without a description of null', async () => {
  const dog = { id: 7, name: 'dog', description: null };
  async function* rows() {
    yield dog;
    yield { name: 'cat', description: 'Felis' };
  }
  const expected = [{ name: 'dog' }, { name: 'cat', description: 'Felis' }];
  expect(await checkRows(rows())).toEqual(expected);
  expect(await checkRows(new Set([dog]))).toEqual(expected.slice(0, 1));
  expect(await checkRows([])).toEqual([]);
});

test('one usage error lists all invalid rows that a program passes to an import', async () => {
  const [a, c] = [{ name: 'a' }, { name: 'c', description: 'x' }];
  const checking = checkRows([
    a,
    { nam: 'b' },
    { ...a, description: 'x' },
    null,
    c,
    { name: 'c' },
    { ...a, description: '' },
  ]);
  await expect(checking).rejects.toMatchObject({
    kind: 'usage',
    message: expect.stringMatching(/^the input has 4 problems\n {2}row 2: /),
    hint: 'correct the rows',
    details: {
      problems: [
        { row: 2, message: 'name is missing; unknown field "nam"' },
        { row: 3, message: '"a" has a different description in row 1' },
        { row: 4, message: 'expected an object with "name"' },
        { row: 6, message: '"c" has a different description in row 5' },
      ],
    },
  });
});

test.each([[undefined], [null], ['[]'], [{ name: 'dog' }]])(
  'passing %j as the rows of an import causes a usage error',
  async (rows) => {
    await expect(checkRows(rows as never)).rejects.toMatchObject({ kind: 'usage' });
  },
);
