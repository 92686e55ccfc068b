// Suggestions for misspelled words.
import { expect, test } from 'vitest';
import { closestMatch } from '../../src/text/did-you-mean.ts';

test.each([
  ['LI', 'list'],
  ['lsit', 'list'],
  ['crxate', 'create'],
  ['crxaxe', 'create'],
  ['crxxxe', undefined],
  ['donk', 'Donkey'],
  ['do', 'Dog'],
  ['doog', 'Dog'],
  ['', undefined],
])('the word meant by "%s" is %s', (word, meant) => {
  expect(closestMatch(word, ['list', 'create', 'Donkey', 'Dog'])).toBe(meant);
});

test('an empty word means none, even of one known word', () => {
  expect(closestMatch('', ['create'])).toBeUndefined();
});
