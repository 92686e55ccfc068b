// Each kind of error as text and as JSON, with its exit code (docs/cli.md).
import { expect, test } from 'vitest';
import type { ErrorKind } from '../src/errors.ts';
import { PetstoreError } from '../src/errors.ts';
import { EXIT_CODES } from '../src/reference.ts';
import { reportError } from '../src/report-error.ts';
import { world } from './support/world.ts';

const CODES: Readonly<Record<ErrorKind, number>> = {
  internal: 1,
  usage: 2,
  auth: 3,
  rejected: 4,
  rate_limited: 5,
  network: 6,
  service: 7,
  unknown_outcome: 8,
  storage: 9,
  interrupted: 130,
};
const kinds = Object.keys(EXIT_CODES) as ErrorKind[];
const plain = { json: false, verbose: false, color: false };

async function print(error: unknown, options = plain): Promise<{ code: number; err: string; out: string }> {
  const context = world([]);
  const code = await reportError(error, context, options);
  return { code, err: context.stderr.text(), out: context.stdout.text() };
}

test('an error is printed as an error line and a hint line with control characters escaped', async () => {
  const printed = await print(new PetstoreError('rejected', 'no\u001b[31m cat', { hint: 'add\u0007 one' }));
  expect(printed).toEqual({ code: 4, err: 'error: no␛[31m cat\nhint: add␇ one\n', out: '' });
});

test('a silent error prints nothing but sets the exit code', async () => {
  const error = new PetstoreError('interrupted', 'canceled', { silent: true });
  expect(await print(error)).toEqual({ code: 130, err: '', out: '' });
});

test.each(kinds)(
  'an error of kind %s with --json is one line of JSON on stderr and sets the exit code',
  async (kind) => {
    const error = new PetstoreError(kind, 'no', {
      hint: 'do',
      code: 'c',
      status: 418,
      retryAt: Date.UTC(2026, 10, 21),
    });
    const printed = await print(error, { ...plain, json: true });
    expect([printed.code, printed.out]).toEqual([CODES[kind], '']);
    expect(printed.err.endsWith('\n')).toBe(true);
    expect(JSON.parse(printed.err)).toEqual({
      error: { kind, message: 'no', hint: 'do', code: 'c', status: 418, retryAt: '2026-11-21T00:00:00.000Z' },
    });
  },
);

test('the JSON of an error omits absent fields', async () => {
  const printed = await print(new PetstoreError('network', 'no'), { ...plain, json: true });
  expect(printed.err).toBe('{"error":{"kind":"network","message":"no"}}\n');
});

test("the service's code follows the message in brackets", async () => {
  expect((await print(new PetstoreError('rejected', 'no', { code: 'invalid_name' }))).err).toBe(
    'error: no [invalid_name]\n',
  );
});

test('the exitCode of an error overrides that of its kind', async () => {
  expect((await print(new PetstoreError('interrupted', 'terminated', { exitCode: 143 }))).code).toBe(143);
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

test('a file system error is a storage error that names the path', async () => {
  const error = Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC', syscall: 'write', path: '/x/y' });
  const printed = await print(error);
  expect(printed.code).toBe(9);
  expect(printed.err).toContain('/x/y');
});

test('JSON.stringify of an error includes its message and problems', () => {
  const error = new PetstoreError('usage', 'no', { problems: [{ line: 3, row: 2, message: 'name is missing' }] });
  expect(JSON.parse(JSON.stringify(error))).toEqual({
    kind: 'usage',
    message: 'no',
    problems: [{ line: 3, row: 2, message: 'name is missing' }],
  });
});
