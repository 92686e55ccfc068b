// The global options and the notices of a session.
import { expect, test } from 'vitest';
import { checkGlobalOptions } from '../../src/cli/global-options.ts';
import { createProgram, run } from '../../src/cli/program.ts';
import { Session } from '../../src/cli/session.ts';
import { until } from '../support/processes.ts';
import { inProcess, world } from '../support/world.ts';

const TIMES = { maxWait: 120_000, timeout: 30_000 };
const DEFAULTS = { json: false, format: 'table', maxRetries: 4, color: true, quiet: false, ...TIMES };
const ENV = { PETSTORE_MAX_WAIT: '1h', PETSTORE_MAX_RETRIES: '0', PETSTORE_TIMEOUT: '500ms', PETSTORE_QUIET: '1' };
const TYPED = ['-p', 'production', '--max-wait', '3', '--max-retries', '7', '--timeout', '30s'];

test.each<[string[], Record<string, string>, object]>([
  [[], {}, {}],
  [[], ENV, { maxWait: 3_600_000, maxRetries: 0, timeout: 500, quiet: true }],
  [TYPED, ENV, { profile: 'production', maxWait: 3000, maxRetries: 7, quiet: true }],
  [TYPED, { PETSTORE_TIMEOUT: 'x' }, { profile: 'production', maxWait: 3000, maxRetries: 7 }],
  [[], { PETSTORE_QUIET: '0' }, {}],
  [[], { PETSTORE_QUIET: 'false' }, {}],
  [['--format=json'], {}, { json: true, format: 'json' }],
  [['--json', '--format', 'json'], {}, { json: true, format: 'json' }],
])('the global options of %j with the environment %j are the defaults except %j', async (args, env, expected) => {
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
])('the invalid options %j with %j are rejected with an error that names them', async (args, env, message) => {
  const { code, out, err } = await inProcess([...args, 'quota', '-p', 'sandbox'], { env });
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(message);
});

const OPTIONS = { json: false, format: 'table', maxWait: 0, maxRetries: 0, timeout: 1, color: true } as const;

test.each([
  [{}, 'cat ␛[2J\n', 'warning: dog<U+202E>\n'],
  [{ quiet: true }, '', 'warning: dog<U+202E>\n'],
  [{ json: true }, '', '{"warning":{"message":"dog\\u202e"}}\n'],
])('with the options %j, a notice is shown as %j and a warning as %j', async (given, notice, warning) => {
  const context = world([]);
  const session = new Session(context, { ...OPTIONS, ...given });
  await session.notice('cat \u001b[2J');
  expect(context.stderr.text()).toBe(notice);
  await session.warn('dog\u202e');
  expect(context.stderr.text()).toBe(notice + warning);
});

test('the password of the state server is redacted as soon as it is used', async () => {
  const context = world([], { env: { PETSTORE_STATE_URL: 'redis://user:the-password@127.0.0.1:1' } });
  await new Session(context, OPTIONS).stateServer();
  for (const cleanup of context.cleanups) await cleanup();
  expect(context.redactor.redact('not the-password')).toBe('not [redacted]');
});

test('a command ends after its cleanups, the latest first, and a failed cleanup does not change the exit code', async () => {
  const context = world(['--version']);
  const cleaned: string[] = [];
  context.cleanups.push(
    async () => void cleaned.push('state server'),
    () => Promise.reject(new Error('not cleaned')),
    () => new Promise<void>((done) => setImmediate(done)).then(() => void cleaned.push('ledger')),
  );
  expect([await run(context), cleaned]).toEqual([0, ['ledger', 'state server']]);
});

test('a command with the profile "sandbox" stops its server', async () => {
  const servers = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length;
  const before = servers();
  expect(await inProcess(['categories', 'list', '-p', 'sandbox'])).toMatchObject({ code: 0 });
  await until(() => servers() === before);
});

test('an empty PETSTORE_STATE_URL counts as unset', async () => {
  const context = world([], { env: { PETSTORE_STATE_URL: '' } });
  expect(await new Session(context, OPTIONS).stateServer()).toBeUndefined();
});
