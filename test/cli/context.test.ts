// The names of environment variables on Windows, and whether a stream supports color.
import { expect, test } from 'vitest';
import { supportsColor, toEnvironment } from '../../src/cli/context.ts';

test('the names of environment variables are case-insensitive on Windows only', () => {
  expect(toEnvironment({ petstore_Quiet: '1', Path: 'C:\\' }, 'win32')).toEqual({ PETSTORE_QUIET: '1', PATH: 'C:\\' });
  expect(toEnvironment({ petstore_quiet: '1' }, 'linux')).toEqual({ petstore_quiet: '1' });
});

test.each<[isTTY: boolean, env: Record<string, string>, wanted: boolean, has: boolean]>([
  [true, {}, true, true],
  [false, {}, true, false],
  [true, { TERM: 'dumb' }, true, false],
  [false, { FORCE_COLOR: '1' }, true, true],
  [true, { FORCE_COLOR: '0' }, true, false],
  [true, { FORCE_COLOR: 'false' }, true, false],
  [true, { NO_COLOR: '1', FORCE_COLOR: '1' }, true, false],
  [true, { NO_COLOR: '' }, true, true],
  [true, { FORCE_COLOR: '1' }, false, false],
])('with `isTTY` %s, the environment %j and the color option %s, color is enabled: %s', (isTTY, env, wanted, has) => {
  expect(supportsColor({ isTTY }, env, wanted)).toBe(has);
});
