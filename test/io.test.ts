// Environment variables: their names are case-insensitive on Windows, and only there.
import { expect, test } from 'vitest';
import { toEnvironment } from '../src/io.ts';

test('on Windows a name in any case is found in upper case', () => {
  expect(toEnvironment({ petstore_Quiet: '1', Path: 'C:\\' }, 'win32')).toEqual({ PETSTORE_QUIET: '1', PATH: 'C:\\' });
});

test('elsewhere the case of a name counts', () => {
  expect(toEnvironment({ petstore_quiet: '1' }, 'linux')).toEqual({ petstore_quiet: '1' });
});
