// Conclusions from a list: its account and completeness, existing rows, and the outcome of uncertain attempts.
import { expect, test } from 'vitest';
import type { Category } from '../../src/api/types.ts';
import type { Account } from '../../src/import/journal-state.ts';
import { newAccount } from '../../src/import/journal-state.ts';
import {
  accountOf,
  findRows,
  gapOf,
  isAlike,
  labeled,
  matchUncertain,
  nearest,
  settledCreations,
} from '../../src/import/list-proof.ts';
import { named } from './fake-service.ts';

const list = (...names: string[]): Category[] => names.map((name, at) => ({ id: at + 1, name }));

/** An account with known names, created names (with the next ids) and the names of uncertain attempts. */
function account(
  known: readonly string[],
  created: readonly string[] = [],
  uncertain: readonly string[] = [],
): Account {
  const it = newAccount();
  for (const [at, category] of list(...known).entries()) {
    const [id, label] = labeled(category);
    it.known.set(id, { at, label });
  }
  for (const [at, name] of created.entries()) {
    const [id, label] = labeled({ id: known.length + at + 1, name });
    it.created.set(id, { attempt: `c${at}`, name, label });
  }
  for (const [at, name] of uncertain.entries()) it.uncertain.set(`d${at}`, { name, known: known.length });
  return it;
}

test('the account of a list is the one with most of its categories', () => {
  const accounts = [account(['dog', 'cat'], ['cow']), account(['dog'], ['ant'])];
  expect(accountOf(accounts, list('dog', 'ant'))).toBe(1);
  expect(accountOf(accounts, list('dog', 'cat'))).toBe(0);
  expect(accountOf(accounts, list('bee'))).toBe(-1);
  expect(accountOf(accounts, [])).toBe(-1);
});

test('an account is recognized by the names of its uncertain attempts, and an unused account fits any list', () => {
  expect(accountOf([account(['dog']), account(['cat'], [], ['cow'])], list('cow'))).toBe(1);
  expect(accountOf([account(['dog']), newAccount()], list('bee'))).toBe(1);
});

test('a list is incomplete if it omits a created category, or a known category that a row names', () => {
  const accounts = [account(['dog', 'cat'], ['cow', 'ant'])];
  const gap = (rows: readonly string[], ...ids: number[]) =>
    gapOf(
      accounts,
      0,
      list('dog', 'cat', 'cow', 'ant').filter(({ id }) => ids.includes(Number(id))),
      named(...rows),
    );
  expect(gap(['bee'], 1, 2, 3, 4)).toBeUndefined();
  expect(gap(['bee'], 1, 2, 3)).toEqual({ lacking: ['4'], renamed: false });
  expect(gap(['bee'], 2, 3, 4)).toBeUndefined();
  expect(gap(['dog'], 2, 3, 4)).toEqual({ lacking: ['1'], renamed: false });
});

test('a list of created categories under similar names is not taken for another account', () => {
  const accounts = [account([], ['Straße 1', 'Bär & Co'])];
  expect(gapOf(accounts, -1, list('STRASSE 1', 'bar &amp; co').slice(1), [])).toEqual({ lacking: [], renamed: true });
  expect(gapOf(accounts, -1, list('dog', 'cat'), [])).toBeUndefined();
});

test.each([
  ['a very long name', 'a very lo', true],
  ['Bär', 'Bar', true],
  ['Fish & Chips', 'fish &amp; chips', true],
  ['🐟 fish', '? fish', true],
  ['dog', 'cat', false],
  ['🐟', 'cat', false],
])('the names "%s" and "%s" are similar: %s', (sent, name, alike) => {
  expect(isAlike(sent, name)).toBe(alike);
});

test('if the list has n categories of a name, the first n rows with that name exist', () => {
  const findings = findRows(named('dog', 'cat', 'dog', 'dog'), newAccount(), list('dog', 'x', 'dog'));
  expect(findings.map((one) => one && 'category' in one && one.category.id)).toEqual([1, undefined, 3, undefined]);
});

test('a row exists if the list has its name as the service changed it', () => {
  const it = account([], ['Dog']);
  const altered = list('dog');
  it.created.set('1', { attempt: 'c0', name: 'Dog', label: labeled(altered[0] as Category)[1] });
  expect(findRows(named('Dog'), it, altered)).toEqual([{ category: altered[0] }]);
  expect(findRows(named('dog'), it, altered)).toEqual([{ category: altered[0] }]);
});

test('a row with an uncertain attempt is neither missing nor existing', () => {
  expect(findRows(named('dog', 'dog'), account(['dog'], [], ['dog']), list('dog'))).toEqual([
    { category: { id: 1, name: 'dog' } },
    { attempt: 'd0' },
  ]);
});

test('a new category resolves one uncertain attempt of its name, and a known category resolves none', () => {
  const it = account(['dog'], [], ['dog', 'dog', 'cat']);
  const { found, suspects } = matchUncertain(it, list('dog', 'dog', 'kat'));
  expect([...found].map(([attempt, { id }]) => [attempt, id])).toEqual([['d0', 2]]);
  expect(suspects('d2').map(({ name }) => name)).toEqual(['kat']);
});

test('ids of nineteen digits are compared exactly', () => {
  const it = newAccount();
  it.known.set('9223372036854775806', { at: 0, label: labeled({ id: 1, name: 'dog' })[1] });
  it.uncertain.set('d', { name: 'dog', known: 1 });
  const listed = [9223372036854775806n, 9223372036854775807n].map((id) => ({ id, name: 'dog' }));
  expect(matchUncertain(it, listed).found.get('d')?.id).toBe(9223372036854775807n);
});

test('of two attempts with one name, a category belongs to the one that the service no longer processes', () => {
  const it = account([], [], ['dog', 'dog']);
  it.uncertain.set('d0', { name: 'dog', known: 0, slow: true });
  expect([...matchUncertain(it, list('dog')).found.keys()]).toEqual(['d1']);
});

test('the category suggested for an unknown row has a similar name if there is one', () => {
  expect(nearest('Bär & Co', list('dog', 'bar &amp; co'))?.id).toBe(2);
  expect(nearest('Bär & Co', list('dog', 'cat'))?.id).toBe(1);
  expect(nearest('dog', [])).toBeUndefined();
});

test('the oldest creations are settled once a list shows them as sent, but not while an attempt is uncertain', () => {
  const it = account([], ['a', 'b', 'c']);
  expect(settledCreations(it, list('a', 'B', 'c'), 1)).toEqual(['1']);
  expect(settledCreations(it, list('a', 'b', 'c'), 3)).toEqual([]);
  it.uncertain.set('d', { name: 'x', known: 0 });
  expect(settledCreations(it, list('a', 'b', 'c'), 1)).toEqual([]);
});
