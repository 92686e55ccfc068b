// Suggestions for misspelled words.
import { expect, test } from 'vitest';
import { closestMatch } from '../../src/text/did-you-mean.ts';

const KNOWN = ['list', 'create', 'Donkey', 'Dog', '7'];

test.each([
  ['LI', 'list'],
  ['lsit', 'list'],
  ['crxate', 'create'],
  ['crxaxe', 'create'],
  ['donk', 'Donkey'],
  ['do', 'Dog'],
  ['doog', 'Dog'],
])('the suggestion for "%s" is "%s"', (word, meant) => {
  expect(closestMatch(word, KNOWN)).toBe(meant);
});

test.each(['crxxxe', 'a', ''])('the word %j has no suggestion', (word) => {
  expect(closestMatch(word, KNOWN)).toBeUndefined();
});

test('an empty word has no suggestion, even if only one word is known', () => {
  expect(closestMatch('', ['create'])).toBeUndefined();
});
