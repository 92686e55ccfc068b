// Words in printed commands are quoted for the shell that the user probably uses.
import { expect, test } from 'vitest';
import { formatAssignment, formatCommand, quoteForShell } from '../../src/cli/shell-quote.ts';

const linux = { platform: 'linux', env: {} };
const windows = { platform: 'win32', env: {} };
const gitBash = { platform: 'win32', env: { SHELL: '/usr/bin/bash' } };

test.each([
  ['pets.csv', 'pets.csv', 'pets.csv'],
  ['my pets.csv', `'my pets.csv'`, '"my pets.csv"'],
  ["it's.csv", `'it'\\''s.csv'`, `"it's.csv"`],
  ['C:\\pets\\in.csv', `'C:\\pets\\in.csv'`, 'C:\\pets\\in.csv'],
  ['C:\\my pets\\', `'C:\\my pets\\'`, '"C:\\my pets\\\\"'],
  ['a"b', `'a"b'`, `'a"b'`],
  ['$HOME', `'$HOME'`, `'$HOME'`],
  ['%PATH%', '%PATH%', `'%PATH%'`],
  ['a,b', 'a,b', '"a,b"'],
  ['', `''`, '""'],
])('the word %j is written as %s for a POSIX shell and as %s for PowerShell', (word, posix, win32) => {
  expect(quoteForShell(word, linux)).toBe(posix);
  expect(quoteForShell(word, gitBash)).toBe(posix);
  expect(quoteForShell(word, windows)).toBe(win32);
});

test('an assignment uses `export` in Git Bash and `$env:` in PowerShell', () => {
  expect(formatAssignment('KEY', "it's", gitBash)).toBe(`export KEY='it'\\''s'`);
  expect(formatAssignment('KEY', "it's", windows)).toBe("$env:KEY = 'it''s'");
});

test.each(['-p staging', '-pstaging', '-qp staging', '--profile staging', '--profile=staging'])(
  'a printed command that contains `%s` gets no additional `-p staging`',
  (typed) => {
    const words = ['categories', 'import', 'pets.csv', ...typed.split(' ')];
    expect(formatCommand(words, 'staging', linux)).toBe(`\`petstore categories import pets.csv ${typed}\``);
    expect(formatCommand(['doctor', '--json'], 'staging', linux)).toBe('`petstore doctor --json -p staging`');
  },
);
