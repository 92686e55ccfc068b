// Directories of configuration and state, on every platform and without a home directory.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Environment } from '../../src/io.ts';
import { configDir, sandboxDataFile, stateDir } from '../../src/profiles/paths.ts';

const linux = (env: Environment, homeDir: string | undefined = '/home/ann') => ({ env, platform: 'linux', homeDir });

describe('on Linux', () => {
  test('keys are kept in ~/.config/petstore and state in ~/.local/state/petstore', () => {
    expect(configDir(linux({}))).toBe('/home/ann/.config/petstore');
    expect(stateDir(linux({}))).toBe('/home/ann/.local/state/petstore');
  });

  test('XDG directories override the home directory unless they are relative or empty', () => {
    expect(configDir(linux({ XDG_CONFIG_HOME: '/x/c' }))).toBe('/x/c/petstore');
    expect(stateDir(linux({ XDG_STATE_HOME: '/x/s' }))).toBe('/x/s/petstore');
    expect(configDir(linux({ XDG_CONFIG_HOME: 'rel' }))).toBe('/home/ann/.config/petstore');
    expect(configDir(linux({ XDG_CONFIG_HOME: '' }))).toBe('/home/ann/.config/petstore');
  });

  test('PETSTORE_CONFIG_DIR and PETSTORE_STATE_DIR override everything', () => {
    expect(configDir(linux({ PETSTORE_CONFIG_DIR: '/own', XDG_CONFIG_HOME: '/x/c' }))).toBe('/own');
    expect(stateDir(linux({ PETSTORE_STATE_DIR: '/own/state' }))).toBe('/own/state');
  });

  test.each([[undefined], [''], ['relative/home']])(
    'a home directory of %j is an error unless PETSTORE_CONFIG_DIR is set',
    (home) => {
      expect(() => configDir({ env: {}, platform: 'linux', homeDir: home })).toThrow(
        expect.objectContaining({ kind: 'storage', hint: expect.stringContaining('PETSTORE_CONFIG_DIR') }),
      );
      expect(() => stateDir({ env: {}, platform: 'linux', homeDir: home })).toThrow(
        expect.objectContaining({ kind: 'storage' }),
      );
      expect(configDir({ env: { PETSTORE_CONFIG_DIR: '/own' }, platform: 'linux', homeDir: home })).toBe('/own');
    },
  );
});

test('on macOS keys are kept in Library/Preferences and state in Library/Application Support', () => {
  const place = { env: {}, platform: 'darwin', homeDir: '/Users/ann' };
  expect(configDir(place)).toBe('/Users/ann/Library/Preferences/petstore');
  expect(stateDir(place)).toBe('/Users/ann/Library/Application Support/petstore');
});

test('on Windows keys are in APPDATA and state in LOCALAPPDATA, or below the home directory if these are unset', () => {
  const env = { APPDATA: 'C:\\Users\\ann\\Roaming', LOCALAPPDATA: 'C:\\Users\\ann\\Local' };
  expect(configDir({ env, platform: 'win32', homeDir: undefined })).toBe('C:\\Users\\ann\\Roaming\\petstore\\Config');
  expect(stateDir({ env, platform: 'win32', homeDir: undefined })).toBe('C:\\Users\\ann\\Local\\petstore\\State');
  expect(configDir({ env: {}, platform: 'win32', homeDir: 'C:\\Users\\ann' })).toBe(
    'C:\\Users\\ann\\AppData\\Roaming\\petstore\\Config',
  );
  const homeless = { env: {}, platform: 'win32', homeDir: undefined };
  expect(() => stateDir(homeless)).toThrow(
    expect.objectContaining({ hint: expect.stringMatching(/^set LOCALAPPDATA/) }),
  );
});

test('the data of the sandbox is kept in the state directory', () => {
  expect(sandboxDataFile('/s')).toBe(join('/s', 'sandbox', 'data'));
});
