// Directories of configuration and state, on every platform and without a home directory.
import { expect, test } from 'vitest';
import { configDir, stateDir } from '../../src/settings/paths.ts';

const WINDOWS = { APPDATA: 'C:\\Ann\\Roaming', LOCALAPPDATA: 'C:\\Ann\\Local' };

test.each([
  ['linux', '/home/ann', {}, '/home/ann/.config/petstore', '/home/ann/.local/state/petstore'],
  ['linux', '/home/ann', { XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s' }, '/c/petstore', '/s/petstore'],
  ['linux', '/h', { XDG_CONFIG_HOME: 'rel', XDG_STATE_HOME: '' }, '/h/.config/petstore', '/h/.local/state/petstore'],
  [
    'linux',
    '/h',
    { PETSTORE_CONFIG_DIR: '', PETSTORE_STATE_DIR: '' },
    '/h/.config/petstore',
    '/h/.local/state/petstore',
  ],
  ['linux', undefined, { PETSTORE_CONFIG_DIR: '/own', PETSTORE_STATE_DIR: '/own/state' }, '/own', '/own/state'],
  ['darwin', '/Users/a', {}, '/Users/a/Library/Preferences/petstore', '/Users/a/Library/Application Support/petstore'],
  ['win32', undefined, WINDOWS, 'C:\\Ann\\Roaming\\petstore\\Config', 'C:\\Ann\\Local\\petstore\\State'],
  ['win32', 'C:\\A', {}, 'C:\\A\\AppData\\Roaming\\petstore\\Config', 'C:\\A\\AppData\\Local\\petstore\\State'],
])('on %s with home %j and the environment %j, keys are in %s and state in %s', (platform, homeDir, env, ...dirs) => {
  const context = { platform, homeDir, env };
  expect([configDir(context), stateDir(context)]).toEqual(dirs);
});

test.each([
  ['linux', '', 'HOME', 'HOME'],
  ['linux', 'relative/home', 'HOME', 'HOME'],
  ['win32', undefined, 'APPDATA', 'LOCALAPPDATA'],
])('on %s, a missing or relative home directory (%j) is an error', (platform, homeDir, config, state) => {
  const error = (...names: string[]) =>
    expect.objectContaining({ kind: 'storage', hint: `set ${names.join(' or ')} to a writable directory` });
  expect(() => configDir({ platform, homeDir, env: {} })).toThrow(error(config, 'PETSTORE_CONFIG_DIR'));
  expect(() => stateDir({ platform, homeDir, env: {} })).toThrow(error(state, 'PETSTORE_STATE_DIR'));
});
