// The global options and the notices of a session.
import { expect, test } from 'vitest';
import { openSession, readGlobalOptions } from '../src/session.ts';
import { world } from './support/world.ts';

test('the global options have the documented defaults', () => {
  expect(readGlobalOptions({}, {})).toEqual({
    profile: undefined,
    json: false,
    format: undefined,
    maxWaitMs: 120_000,
    maxRetries: 4,
    timeoutMs: 30_000,
    quiet: false,
    verbose: false,
    noColor: false,
  });
});

test('global options override environment variables', () => {
  const env = {
    PETSTORE_MAX_WAIT: '1h',
    PETSTORE_MAX_RETRIES: '0',
    PETSTORE_TIMEOUT: '500ms',
    PETSTORE_QUIET: '1',
  };
  expect(readGlobalOptions({}, env)).toMatchObject({
    maxWaitMs: 3_600_000,
    maxRetries: 0,
    timeoutMs: 500,
    quiet: true,
  });
  const options = { profile: 'production', maxWait: '3', maxRetries: '7', timeout: '2m' };
  expect(readGlobalOptions(options, env)).toMatchObject({
    profile: 'production',
    maxWaitMs: 3000,
    maxRetries: 7,
    timeoutMs: 120_000,
  });
});

test.each(['', '0', 'false'])('PETSTORE_QUIET=%s does not set --quiet', (value) => {
  expect(readGlobalOptions({}, { PETSTORE_QUIET: value }).quiet).toBe(false);
});

test('--json equals --format json and cannot be combined with another format', () => {
  expect(readGlobalOptions({ json: true }, {})).toMatchObject({ json: true, format: 'json' });
  expect(readGlobalOptions({ format: 'json' }, {})).toMatchObject({ json: true, format: 'json' });
  expect(() => readGlobalOptions({ json: true, format: 'csv' }, {})).toThrow(
    '--json and --format csv cannot be combined',
  );
});

test.each([
  [{ maxWait: '-1s' }, '--max-wait'],
  [{ timeout: '1e3' }, '--timeout'],
  [{ timeout: '' }, '--timeout'],
  [{ maxRetries: '-1' }, '--max-retries'],
  [{ maxRetries: '0x1' }, '--max-retries'],
])('the invalid options %j are rejected with an error that names %s', (options, name) => {
  expect(() => readGlobalOptions(options, {})).toThrow(name);
});

test('a notice is omitted with --quiet and --json, and a warning is always printed', async () => {
  for (const [flags, notice, warning] of [
    [{}, 'hello\n', 'warning: careful\n'],
    [{ quiet: true }, '', 'warning: careful\n'],
    [{ json: true }, '', '{"warning":{"message":"careful"}}\n'],
  ] as const) {
    const context = world([]);
    const session = openSession(context, readGlobalOptions(flags, {}));
    await session.notice('hello');
    expect(context.stderr.text()).toBe(notice);
    await session.warn('careful');
    expect(context.stderr.text()).toBe(notice + warning);
  }
});

test('control characters in notices and warnings are escaped', async () => {
  const context = world([]);
  const session = openSession(context, readGlobalOptions({}, {}));
  await session.notice('cat \u001b[2J');
  await session.warn('dog\u202e');
  expect(context.stderr.text()).toBe('cat ␛[2J\nwarning: dog<U+202E>\n');
});

test('notices and warnings wrap between words on a terminal', async () => {
  const context = world([], { columns: 20 });
  const session = openSession(context, readGlobalOptions({}, {}));
  await session.notice('a notice of several words');
  await session.warn('a warning of several words');
  expect(context.stderr.text()).toBe('a notice of several\nwords\nwarning: a warning\nof several words\n');
});
