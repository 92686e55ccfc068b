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
])('the suggestion for %j is %j', (word, meant) => {
  expect(closestMatch(word, ['list', 'create', 'Donkey', 'Dog'])).toBe(meant);
});

test('an empty word leads to no suggestion, even if only one word is known', () => {
  expect(closestMatch('', ['create'])).toBeUndefined();
});
