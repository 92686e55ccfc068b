// Names of environment variables, and color support of streams.
import { expect, test } from 'vitest';
import { supportsColor, toEnvironment } from '../../src/cli/context.ts';

test('the names of environment variables are case-insensitive on Windows only', () => {
  expect(toEnvironment({ petstore_Quiet: '1', Path: 'C:\\' }, 'win32')).toEqual({ PETSTORE_QUIET: '1', PATH: 'C:\\' });
  expect(toEnvironment({ petstore_quiet: '1' }, 'linux')).toEqual({ petstore_quiet: '1' });
});

test.each<[isTTY: boolean, env: Record<string, string>, wanted: boolean, color: string]>([
  [true, {}, true, 'enabled'],
  [false, {}, true, 'disabled'],
  [true, { TERM: 'dumb' }, true, 'disabled'],
  [false, { FORCE_COLOR: '1' }, true, 'enabled'],
  [true, { FORCE_COLOR: '0' }, true, 'disabled'],
  [true, { FORCE_COLOR: 'false' }, true, 'disabled'],
  [true, { NO_COLOR: '1', FORCE_COLOR: '1' }, true, 'disabled'],
  [true, { NO_COLOR: '' }, true, 'enabled'],
  [true, { FORCE_COLOR: '1' }, false, 'disabled'],
])('with `isTTY` %s, the environment %j and the color option %s, color is %s', (isTTY, env, wanted, color) => {
  expect(supportsColor({ isTTY }, env, wanted)).toBe(color === 'enabled');
});
