// The names of environment variables, which are case-insensitive only on Windows.
import { expect, test } from 'vitest';
import { toEnvironment } from '../src/io.ts';

test('the names of environment variables are case-insensitive on Windows', () => {
  expect(toEnvironment({ petstore_Quiet: '1', Path: 'C:\\' }, 'win32')).toEqual({ PETSTORE_QUIET: '1', PATH: 'C:\\' });
});

test('the names of environment variables are case-sensitive on other systems', () => {
  expect(toEnvironment({ petstore_quiet: '1' }, 'linux')).toEqual({ petstore_quiet: '1' });
});
