// Errors as text and as JSON, with their exit codes; test/cli/hints.test.ts follows their hints.
import { expect, test } from 'vitest';
import { reportError } from '../../src/cli/report-error.ts';
import { PetstoreError } from '../../src/errors.ts';
import { world } from '../support/world.ts';

const plain = { json: false, verbose: false, color: false };

async function print(error: unknown, options = plain): Promise<{ code: number; err: string }> {
  const context = world([], { env: { PETSTORE_STATE_DIR: '/home/state' } });
  const code = await reportError(error, context, options);
  expect(context.stdout.text()).toBe('');
  return { code, err: context.stderr.text() };
}

test.each([
  ['no\u001b[31m cat', { hint: 'add\u0007 one' }, 4, 'error: no␛[31m cat\nhint: add␇ one\n'],
  ['bad name', { code: 'bad', status: 400 }, 4, 'error: bad name [bad]\n'],
  ['no', { code: 'not_found' }, 4, 'error: no\n'],
  ['canceled', { silent: true }, 4, ''],
  ['ended', { exitCode: 143 }, 143, 'error: ended\n'],
])('the error %j with the details %j causes exit code %i and the stderr %j', async (message, details, code, err) => {
  expect(await print(new PetstoreError('rejected', message, details))).toEqual({ code, err });
});

test('with `--json`, an error is one line of JSON on stderr, with control characters escaped', async () => {
  const problems = [{ line: 3, row: 2, message: 'name is missing' }];
  const facts = { hint: 'do', code: 'c', status: 418, retryAt: Date.UTC(2026, 10, 21), problems };
  const error = new PetstoreError('rejected', 'no\u009b', facts);
  expect((await print(error, { ...plain, json: true })).err).toBe(
    '{"error":{"kind":"rejected","message":"no\\u009b","hint":"do","code":"c","status":418,"retryAt":"2026-11-21T00:00:00.000Z","problems":[{"line":3,"row":2,"message":"name is missing"}]}}\n',
  );
});

test('only `--verbose` shows the message and stack of an unexpected error, because they may contain secrets', async () => {
  const unexpected = new TypeError('cannot read sk_live_secret');
  const printed = await print(unexpected);
  expect(printed.code).toBe(1);
  expect(printed.err).not.toMatch(/sk_live_secret|^ {4}at /m);
  const verbose = { ...plain, verbose: true };
  expect((await print(unexpected, verbose)).err).toMatch(/^ {4}at .*sk_live_secret.*^ {6}at /ms);
  expect((await print(new PetstoreError('storage', 'no'), verbose)).err).toBe('error: no\n');
});

const STATE = 'hint: set PETSTORE_STATE_DIR to a directory that you can write to';

const open = (path: string) => ({ syscall: 'open', path });

test.each([
  ['ENOSPC', open('/x/y'), 'cannot access "/x/y" (no space left on device)\nhint: free some disk space'],
  ['EMFILE', open('/x'), 'cannot access "/x" (too many open files)\nhint: raise the open file limit with `ulimit -n`'],
  ['EACCES', open('/home/state/y'), `cannot access "/home/state/y" (permission denied)\n${STATE}`],
  ['EACCES', open('/home'), `cannot access "/home" (permission denied)\n${STATE}`],
  ['EACCES', open('/x/y'), 'cannot access "/x/y" (permission denied)'],
  ['ENOENT', { syscall: 'uv_cwd' }, 'cannot access the current directory (no such file or directory)'],
  ['EIO', { syscall: 'fsync' }, 'cannot access a file (i/o error)'],
])('the error %s of the system call %j is a storage error with the text %j', async (code, call, text) => {
  const error = Object.assign(new Error(code), { code, ...call });
  expect(await print(error)).toEqual({ code: 9, err: `error: ${text}\n` });
});
