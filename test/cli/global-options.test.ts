// The global options: environment variables and defaults.
import { expect, test } from 'vitest';
import { checkGlobalOptions } from '../../src/cli/global-options.ts';
import { GLOBAL_OPTIONS } from '../../src/cli/reference.ts';

const variables = GLOBAL_OPTIONS.flatMap(({ variable }) => variable ?? []);
const DEFAULTS = { json: false, format: 'table', maxWait: 120_000, maxRetries: 4, timeout: 30_000, quiet: false };

test('an empty variable counts as not set', () => {
  const env = Object.fromEntries(variables.map((name) => [name, '']));
  expect(checkGlobalOptions({ color: true }, env)).toMatchObject(DEFAULTS);
});

test('a variable sets an option that is not typed', () => {
  const env = { PETSTORE_MAX_WAIT: '1m30s', PETSTORE_MAX_RETRIES: '0', PETSTORE_TIMEOUT: '500ms', PETSTORE_QUIET: '1' };
  const set = { maxWait: 90_000, maxRetries: 0, timeout: 500, quiet: true };
  expect(checkGlobalOptions({ color: true }, env)).toMatchObject(set);
  expect(checkGlobalOptions({ color: true, maxRetries: '2' }, env)).toMatchObject({ ...set, maxRetries: 2 });
});
