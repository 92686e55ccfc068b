// Each kind of error as text and as JSON, with its exit code (docs/cli.md).
import { expect, test } from 'vitest';
import type { ErrorKind } from '../src/errors.ts';
import { PetstoreError } from '../src/errors.ts';
import { EXIT_CODES } from '../src/reference.ts';
import { reportError } from '../src/report-error.ts';
import { world } from './support/world.ts';

const CODES: Readonly<Record<ErrorKind, number>> = {
  ...{ internal: 1, usage: 2, auth: 3, rejected: 4, rate_limited: 5, network: 6 },
  ...{ service: 7, unknown_outcome: 8, storage: 9, interrupted: 130 },
};
const kinds = Object.keys(EXIT_CODES) as ErrorKind[];
const plain = { json: false, verbose: false, color: false };

async function print(error: unknown, options = plain): Promise<{ code: number; err: string; out: string }> {
  const context = world([]);
  const code = await reportError(error, context, options);
  return { code, err: context.stderr.text(), out: context.stdout.text() };
}

test.each([
  [
    'an error line and a hint line, with control characters escaped',
    new PetstoreError('rejected', 'no\u001b[31m cat', { hint: 'add\u0007 one' }),
    { code: 4, err: 'error: no␛[31m cat\nhint: add␇ one\n' },
  ],
  [
    "the service's code in brackets",
    new PetstoreError('rejected', 'no', { code: 'invalid_name' }),
    { code: 4, err: 'error: no [invalid_name]\n' },
  ],
  ['nothing if it is silent', new PetstoreError('interrupted', 'canceled', { silent: true }), { code: 130, err: '' }],
  [
    'its own exit code',
    new PetstoreError('interrupted', 'terminated', { exitCode: 143 }),
    { code: 143, err: 'error: terminated\n' },
  ],
])('an error is reported with %s', async (_what, error, expected) => {
  expect(await print(error)).toEqual({ ...expected, out: '' });
});

test.each(kinds)('an error of kind %s sets the exit code of its kind', async (kind) => {
  expect(await print(new PetstoreError(kind, 'no'))).toEqual({ code: CODES[kind], err: 'error: no\n', out: '' });
});

test('an error with --json is one line of JSON on stderr', async () => {
  const retryAt = Date.UTC(2026, 10, 21);
  const error = new PetstoreError('rejected', 'no', { hint: 'do', code: 'c', status: 418, retryAt });
  expect((await print(error, { ...plain, json: true })).err).toBe(
    '{"error":{"kind":"rejected","message":"no","hint":"do","code":"c","status":418,"retryAt":"2026-11-21T00:00:00.000Z"}}\n',
  );
});

test('the message of an unexpected error, which may contain secrets, is not printed', async () => {
  const printed = await print(new TypeError('cannot read sk_live_secret'));
  expect(printed.code).toBe(1);
  expect(printed.err).not.toContain('sk_live_secret');
  expect(printed.err).not.toContain('    at ');
});

test('a stack trace is printed only for an internal error with --verbose', async () => {
  const verbose = { ...plain, verbose: true };
  expect((await print(new TypeError('x'), verbose)).err).toContain('    at ');
  for (const kind of kinds.filter((one) => one !== 'internal')) {
    expect((await print(new PetstoreError(kind, 'x'), verbose)).err).not.toContain('    at ');
  }
});

test.each([
  ['ENOSPC', -28, '/x/y', 'cannot access /x/y (no space left on device)\nhint: free some disk space'],
  [
    'EACCES',
    -13,
    'STATE/y',
    'cannot access STATE/y (permission denied)\nhint: set PETSTORE_STATE_DIR to a directory that you can write to',
  ],
  ['EACCES', -13, '/x/y', 'cannot access /x/y (permission denied)'],
])('the file system error %s (%i) at %s is a storage error: %s', async (code, errno, name, text) => {
  const context = world([]);
  const path = name.replace('STATE', context.env['PETSTORE_STATE_DIR'] ?? '');
  const error = Object.assign(new Error(`${code}: ${path}`), { code, errno, syscall: 'open', path });
  expect(await reportError(error, context, plain)).toBe(9);
  expect(context.stderr.text()).toBe(`error: ${text.replace(name, path)}\n`);
});

test('JSON.stringify of an error includes its message and problems', () => {
  const error = new PetstoreError('usage', 'no', { problems: [{ line: 3, row: 2, message: 'name is missing' }] });
  expect(JSON.parse(JSON.stringify(error))).toEqual({
    kind: 'usage',
    message: 'no',
    problems: [{ line: 3, row: 2, message: 'name is missing' }],
  });
});
