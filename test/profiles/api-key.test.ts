// The rule for API keys (docs/cli.md, keys), as a table.
import { expect, test } from 'vitest';
import { checkKey, LONGEST_KEY } from '../../src/profiles/credential-rules.ts';

test.each([['k'], ['!'], ['~'], ['sk_live_0123456789'], ['"quoted"\\'], ['x'.repeat(LONGEST_KEY)]])(
  'printable ASCII is a key',
  (key) => {
    expect(checkKey(key, 'standard input')).toBe(key);
  },
);

test.each([
  ['', 'is empty'],
  [' ', 'a space'],
  ['sekret key', 'a space'],
  ['sekret\n', 'a line break'],
  ['sekret\r', 'a line break'],
  ['sekret\tkey', 'a tab'],
  ['sekret\u0000', 'a control character'],
  ['sekret\u007f', 'a control character'],
  ['\u201csekret\u201d', 'non-ASCII'],
  ['\ufeffsekret', 'non-ASCII'],
  ['sekret\u00a0', 'non-ASCII'],
  ['sekret'.repeat(1000), 'longer than'],
])('the key %j is rejected without showing it', (key, word) => {
  let message = '';
  expect(() => checkKey(key, 'PETSTORE_API_KEY')).toThrow(
    expect.objectContaining({ kind: 'auth', message: expect.stringContaining(word) }),
  );
  try {
    checkKey(key, 'PETSTORE_API_KEY');
  } catch (error) {
    message = String(error);
  }
  expect(message).toContain('PETSTORE_API_KEY');
  expect(message).not.toContain('sekret');
});
