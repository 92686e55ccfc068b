// The end of an import: exit code, message and hint.
import { expect, test } from 'vitest';
import type { ErrorKind } from '../../src/errors.ts';
import { PetstoreError } from '../../src/errors.ts';
import { classifyError, importError, listLacks } from '../../src/import/import-error.ts';
import type { ImportDocument } from '../../src/import/results.ts';
import { completeHint } from '../../src/report-error.ts';

const DOCUMENT: ImportDocument = {
  created: [{ id: 1, name: 'a' }],
  skipped: [],
  failed: [{ row: 2, name: 'b', message: 'too long', code: 'invalid', status: 400 }],
  unknown: [{ row: 3, name: 'c' }],
  pending: 4,
};
const WORDS = ['categories', 'import', 'my file.csv', '-p', 'staging'];

function ended(given: Partial<ImportDocument>, stopError?: PetstoreError) {
  const stop = stopError && { error: stopError };
  const error = importError({ ...DOCUMENT, ...given }, stop, WORDS);
  return error && completeHint(error, { args: [], env: {}, platform: 'linux' }, { profile: 'staging' });
}

const stopped = (kind: ErrorKind, facts = {}): PetstoreError => new PetstoreError(kind, 'why', facts);

test.each<[string, number, Partial<ImportDocument>, PetstoreError | undefined]>([
  ['every row exists', 0, { unknown: [], failed: [] }, undefined],
  ['rows were rejected', 4, { unknown: [] }, undefined],
  ['rows are unknown', 8, {}, undefined],
  ['the key was rejected', 3, {}, stopped('auth')],
  ['the service cannot be reached', 6, { unknown: [] }, stopped('network')],
  ['the service cannot be reached and rows are unknown', 8, {}, stopped('network')],
  ['the rate limit needs a longer wait', 5, { unknown: [] }, stopped('rate_limited')],
  ['the rate limit prevents a lookup', 8, {}, stopped('rate_limited')],
  ['the lock fails', 9, {}, stopped('storage')],
  ['the service redirects a create', 7, {}, stopped('service', { status: 302 })],
  ['SIGTERM ends the import', 143, {}, stopped('interrupted', { exitCode: 143 })],
])('the exit code if %s is %s', (_what, code, document, stop) => {
  expect(ended(document, stop)?.exitCode ?? 0).toBe(code);
});

test('an interrupted import prints the command that resumes it, quoted and with its profile', () => {
  expect(ended({}, stopped('interrupted', { hint: 'of the create' }))).toMatchObject({
    message: 'interrupted',
    hint: "run `petstore categories import 'my file.csv' -p staging` to resume",
  });
});

test('the outcome of an interrupted import is unknown if rows are unknown, and its hint names no command after a pipe', () => {
  const error = importError(DOCUMENT, { error: stopped('interrupted') }, undefined);
  expect(error).toMatchObject({ outcome: 'unknown', hint: 'run the same command with the same rows to resume' });
  expect(error?.facts.command).toBeUndefined();
  expect(ended({ unknown: [] }, stopped('interrupted'))?.outcome).toBeUndefined();
});

test('an error that stops an import keeps its hint and its time to retry', () => {
  expect(ended({ unknown: [] }, stopped('rate_limited', { hint: 'try again in 5s', retryAt: 5 }))).toMatchObject({
    message: 'why',
    hint: 'try again in 5s',
    retryAt: 5,
  });
});

test("the error about rejected rows has their number and the service's message about the first", () => {
  const failed = [...DOCUMENT.failed, { row: 9, name: 'z', message: 'too short' }];
  expect(ended({ unknown: [], failed })?.message).toBe(
    'the service rejected 2 rows, the first of which is row 2: too long',
  );
  expect(ended({ unknown: [] })).toMatchObject({
    message: 'the service rejected row 2: too long',
    hint: 'correct the rejected rows, then import the file again',
    code: 'invalid',
    status: 400,
  });
});

test('an error after which the same file must not be imported again comes before unknown rows', () => {
  const stop = listLacks(2, true);
  expect(importError(DOCUMENT, stop, WORDS)).toBe(stop.error);
});

test('the error about unknown rows names the category that each may be', () => {
  expect(ended({})).toMatchObject({
    message: '1 row may or may not exist: row 3 "c"',
    hint: "run `petstore categories import 'my file.csv' -p staging` to look it up again",
  });
  expect(ended({ unknown: [{ row: 3, name: 'c', maybe: { id: 7, name: 'C' } }] })).toMatchObject({
    message: '1 row may or may not exist: row 3 "c" (perhaps category 7 "C")',
    hint: 'if a possible match is the row, use its spelling in the file before you run the same command again',
  });
  expect(ended({}, stopped('rate_limited'))?.message).toBe('1 row may or may not exist: row 3 "c" (why)');
  const unknown = Array.from({ length: 1007 }, (_, at) => ({ row: at + 1, name: 'x' }));
  expect(ended({ unknown })?.message).toMatch(/^1,007 rows may .* row 5 "x", and 1,002 more$/);
});

test.each<[ErrorKind, number | undefined, string, boolean]>([
  ['rejected', 400, 'rejected', false],
  ['rejected', 409, 'rejected', false],
  ['rejected', 403, 'rejected', true],
  ['auth', 401, 'unsent', true],
  ['rate_limited', 429, 'unsent', true],
  ['network', undefined, 'unsent', true],
  ['storage', undefined, 'unsent', true],
  ['interrupted', undefined, 'unsent', true],
  ['unknown_outcome', 500, 'lost', false],
  ['internal', undefined, 'lost', true],
])('an error of kind %s (status %s) leaves its row "%s" and stops the import: %s', (kind, status, means, isFatal) => {
  expect(classifyError(new PetstoreError(kind, 'x', { status }))).toEqual({ means, isFatal });
});

test('an error after which the request may have been processed leaves its row "slow", "aborted" or "lost"', () => {
  expect(classifyError(stopped('unknown_outcome', { processed: 'late' }))).toEqual({ means: 'slow', isFatal: false });
  expect(classifyError(stopped('interrupted', { processed: 'perhaps' }))).toEqual({ means: 'aborted', isFatal: true });
  expect(classifyError(new TypeError('x'))).toEqual({ means: 'lost', isFatal: true });
});
