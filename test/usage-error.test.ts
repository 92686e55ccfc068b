// Usage errors: the closest match is suggested, and a misplaced key is not repeated.
import { CommanderError } from 'commander';
import { expect, test } from 'vitest';
import { looksLikeKey } from '../src/redact.ts';
import { usageError } from '../src/usage-error.ts';
import { inProcess } from './support/world.ts';

const wrong = (message: string, args: string[]) => usageError(new CommanderError(1, 'commander.x', message), args);

test('a mistyped option suggests the closest match', () => {
  const error = wrong("error: unknown option '--serch'\n(Did you mean --search?)", ['categories', 'list', '--serch']);
  expect(error).toMatchObject({ kind: 'usage', message: "unknown option '--serch'", hint: 'did you mean --search?' });
});

test('without a close match the hint is --help', () => {
  expect(wrong("error: unknown command 'x'", ['x']).hint).toContain('--help');
});

test.each([
  'sk_live_4eC39HqLyjWDarjtT1zdp7dc',
  'AKIAIOSFODNN7EXAMPLE',
  'x'.repeat(61),
  'sandbox_key',
  'a1b2c3d4e5f6a7b8',
])('the key-shaped word %s is not repeated', (word) => {
  expect(looksLikeKey(word)).toBe(true);
  const error = wrong(`error: unknown option '--key=${word}'`, [`--key=${word}`]);
  expect(error.message + error.hint).not.toContain(word);
});

test.each(['--description', 'categories', '--max-wait', 'list', 'golden-retriever'])(
  'the ordinary word %s is repeated',
  (word) => {
    expect(looksLikeKey(word)).toBe(false);
    expect(wrong(`error: unknown command '${word}'`, [word]).message).toContain(word);
  },
);

test('an argument that was not valid UTF-8 is rejected before anything is sent', async () => {
  const { code, out, err } = await inProcess(['categories', 'create', '--name', 'caf\ufffd', '-p', 'sandbox']);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain('is not valid UTF-8');
});
