// The global options: arguments, environment variables and defaults.
import { expect, test } from 'vitest';
import { checkGlobalOptions } from '../../src/cli/global-options.ts';
import { createProgram } from '../../src/cli/program.ts';
import { GLOBAL_OPTIONS } from '../../src/cli/reference.ts';
import { MAX_TIMER_MS } from '../../src/clock.ts';
import { inProcess, world } from '../support/world.ts';

const TIMES = { maxWait: 120_000, timeout: 30_000 };
const DEFAULTS = { json: false, format: 'table', maxRetries: 4, color: true, quiet: false, ...TIMES };
const ENV = { PETSTORE_MAX_WAIT: '1m30s', PETSTORE_MAX_RETRIES: '0', PETSTORE_TIMEOUT: '500ms', PETSTORE_QUIET: '1' };
const EMPTY = Object.fromEntries(GLOBAL_OPTIONS.flatMap(({ variable }) => variable ?? []).map((name) => [name, '']));
const TYPED = ['-p', 'production', '--max-wait', '3', '--max-retries', '999', '--timeout', '30s'];

test.each<[string[], Record<string, string>, object]>([
  [[], {}, {}],
  [[], ENV, { maxWait: 90_000, maxRetries: 0, timeout: 500, quiet: true }],
  [TYPED, ENV, { profile: 'production', maxWait: 3000, maxRetries: 999, quiet: true }],
  [TYPED, { PETSTORE_TIMEOUT: 'x' }, { profile: 'production', maxWait: 3000, maxRetries: 999 }],
  [[], EMPTY, {}],
  [[], { PETSTORE_QUIET: '0' }, {}],
  [[], { PETSTORE_QUIET: 'false' }, {}],
  [['--max-wait', '9999h'], {}, { maxWait: MAX_TIMER_MS }],
  [['--format=json'], {}, { json: true, format: 'json' }],
  [['--json', '--format', 'json'], {}, { json: true, format: 'json' }],
])('the arguments %j and the environment %j change only these defaults: %j', async (args, env, expected) => {
  const program = createProgram(world([]));
  program.parseOptions([...args, 'quota']);
  const options = checkGlobalOptions(program.opts(), env);
  expect(options).toEqual({ ...DEFAULTS, ...expected });
});

test.each([
  [['--timeout='], {}, 'invalid duration "" for --timeout'],
  [['--max-retries', '0x1'], {}, 'invalid number "0x1" for --max-retries'],
  [[], { PETSTORE_MAX_WAIT: 'soon' }, 'invalid duration "soon" for PETSTORE_MAX_WAIT'],
  [[], { PETSTORE_MAX_RETRIES: '1000' }, 'invalid number "1000" for PETSTORE_MAX_RETRIES'],
  [['--json', '--format', 'csv'], {}, '--json and --format csv cannot be combined'],
])('with the arguments %j and the environment %j, `quota` is a usage error: %s', async (args, env, message) => {
  const { code, out, err } = await inProcess([...args, 'quota', '-p', 'sandbox'], { env });
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(message);
});
