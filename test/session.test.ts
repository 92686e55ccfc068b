// The global options and the notices of a session.
import { expect, test } from 'vitest';
import { createProgram } from '../src/program.ts';
import type { GlobalOptions } from '../src/session.ts';
import { Session } from '../src/session.ts';
import { inProcess, world } from './support/world.ts';

/** The global options with which the arguments run `quota`. */
async function optionsOf(args: readonly string[], env: Record<string, string> = {}): Promise<GlobalOptions> {
  const program = createProgram(world([], { env }));
  const quota = program.commands.find((command) => command.name() === 'quota');
  quota?.action(() => undefined);
  await program.parseAsync([...args, 'quota'], { from: 'user' });
  return quota?.optsWithGlobals() as GlobalOptions;
}

test('the global options have the documented defaults', async () => {
  const defaults = { json: false, format: 'table', maxWait: 120_000, maxRetries: 4, timeout: 30_000, color: true };
  expect(await optionsOf([])).toEqual(defaults);
});

const ENV = { PETSTORE_MAX_WAIT: '1h', PETSTORE_MAX_RETRIES: '0', PETSTORE_TIMEOUT: '500ms', PETSTORE_QUIET: '1' };

test('environment variables override the defaults of global options', async () => {
  expect(await optionsOf([], ENV)).toMatchObject({ maxWait: 3_600_000, maxRetries: 0, timeout: 500, quiet: true });
});

test('global options override environment variables, even invalid ones', async () => {
  const args = ['-p', 'production', '--max-wait', '3', '--max-retries', '7', '--timeout', '2m'];
  const options = { profile: 'production', maxWait: 3000, maxRetries: 7, timeout: 120_000 };
  expect(await optionsOf(args, { ...ENV, PETSTORE_TIMEOUT: 'x' })).toMatchObject(options);
});

test.each(['', '0', 'false'])('PETSTORE_QUIET=%s does not set --quiet', async (value) => {
  expect((await optionsOf([], { PETSTORE_QUIET: value })).quiet ?? false).toBe(false);
});

test('--json equals --format json, also as `--format=json` before the command', async () => {
  expect(await optionsOf(['--json'])).toMatchObject({ json: true, format: 'json' });
  expect(await optionsOf(['--format=json'])).toMatchObject({ json: true, format: 'json' });
  expect(await optionsOf(['--json', '--format', 'json'])).toMatchObject({ json: true, format: 'json' });
});

test.each([
  [['--max-wait', '-1s'], {}, 'invalid duration "-1s" for --max-wait'],
  [['--timeout', '1e3'], {}, 'invalid duration "1e3" for --timeout'],
  [['--timeout', '0'], {}, '--timeout must be greater than 0'],
  [['--timeout='], {}, 'invalid duration "" for --timeout'],
  [['--max-retries', '0x1'], {}, 'invalid number "0x1" for --max-retries'],
  [[], { PETSTORE_MAX_WAIT: 'soon' }, 'invalid duration "soon" for PETSTORE_MAX_WAIT'],
  [[], { PETSTORE_MAX_RETRIES: '1000' }, 'invalid number "1000" for PETSTORE_MAX_RETRIES'],
  [['--json', '--format', 'csv'], {}, '--json cannot be used with --format csv'],
])('the invalid options %j with %j are rejected with an error that names them', async (args, env, message) => {
  const { code, out, err } = await inProcess([...args, 'quota', '-p', 'sandbox'], { env });
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(message);
});

const OPTIONS = { json: false, format: 'table', maxWait: 0, maxRetries: 0, timeout: 1, color: true } as const;

test('a notice is omitted with --quiet and --json, and a warning is always printed', async () => {
  for (const [options, notice, warning] of [
    [{}, 'hello\n', 'warning: careful\n'],
    [{ quiet: true }, '', 'warning: careful\n'],
    [{ json: true }, '', '{"warning":{"message":"careful"}}\n'],
  ] as const) {
    const context = world([]);
    const session = new Session(context, { ...OPTIONS, ...options });
    await session.notice('hello');
    expect(context.stderr.text()).toBe(notice);
    await session.warn('careful');
    expect(context.stderr.text()).toBe(notice + warning);
  }
});

test('control characters in notices and warnings are escaped', async () => {
  const context = world([]);
  const session = new Session(context, OPTIONS);
  await session.notice('cat \u001b[2J');
  await session.warn('dog\u202e');
  expect(context.stderr.text()).toBe('cat ␛[2J\nwarning: dog<U+202E>\n');
});
