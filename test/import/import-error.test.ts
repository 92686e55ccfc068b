// The exit code, message and hint at the end of an import, and the effect of a failed create.
import { expect, test } from 'vitest';
import { withHint } from '../../src/cli/hints.ts';
import { exitCodeOf } from '../../src/cli/report-error.ts';
import type { ErrorKind } from '../../src/errors.ts';
import { PetstoreError } from '../../src/errors.ts';
import { classifyError, importError, incompleteListError } from '../../src/import/import-error.ts';
import type { ImportDocument } from '../../src/public-types.ts';
import { world } from '../support/world.ts';

const DOCUMENT: ImportDocument = {
  created: [{ id: 1, name: 'a' }],
  skipped: [],
  failed: [{ row: 2, name: 'b', message: 'too long', code: 'invalid', status: 400 }],
  unknown: [{ row: 3, name: 'c', reason: 'the service returned 500' }],
  pending: 4,
};

const ARGS = ['categories', 'import', 'my file.csv', '-p', 'staging'];

function ended(given: Partial<ImportDocument>, stopError?: PetstoreError) {
  const stop = stopError && { error: stopError, rerunUnsafe: false };
  const error = importError({ ...DOCUMENT, ...given }, stop);
  return error && withHint(error, world(ARGS, { platform: 'linux' }), 'staging');
}

const stopped = (kind: ErrorKind, facts = {}): PetstoreError => new PetstoreError(kind, 'why', facts);
const limited = stopped('rate_limited', { hint: 'try again in 5s', retryAt: 5 });
const interrupted = stopped('interrupted', { hint: 'of the create', exitCode: 130 });
const KNOWN = { unknown: [] };
const TWICE = { unknown: [], failed: [...DOCUMENT.failed, ...DOCUMENT.failed] };
const MANY = { unknown: Array.from({ length: 1007 }, (_, at) => ({ row: at + 1, name: 'x', reason: 'no reply' })) };
const MAYBE = { unexplained: [{ id: 7, name: 'C' }] };

test.each<[string, number, Partial<ImportDocument>, PetstoreError | undefined, RegExp]>([
  ['a row was rejected', 4, KNOWN, undefined, /^the service rejected row 2: too long\ncorrect the rejected rows, then/],
  ['several rows were rejected', 4, TWICE, undefined, /^the service rejected 2 rows; row 2: too long\n/],
  [
    'a row is unknown',
    8,
    {},
    undefined,
    /^1 category may or may not exist: "c" \(row 3\) \(the service returned 500\)\nrun .* -p staging` to look up the category again$/,
  ],
  [
    'many rows are unknown',
    8,
    MANY,
    undefined,
    /^1,007 categories may .* "x" \(row 5\), and 1,002 more \(no reply\)\nrun .* to look up the categories again/,
  ],
  [
    'a new category may belong to an unknown row',
    8,
    MAYBE,
    undefined,
    /; new in the list: "C" \(id 7\)\nif a new category belongs .* its spelling/,
  ],
  ['the API key was rejected', 3, {}, stopped('auth'), /^why\nrun/],
  ['the service cannot be reached', 6, KNOWN, stopped('network'), /^why\nrun/],
  ['the service cannot be reached and a row is unknown', 8, {}, stopped('network'), /^1 category may/],
  ['the wait for the rate limit is too long', 5, KNOWN, limited, /^why\ntry again in 5s$/],
  ['the rate limit prevents a lookup', 8, {}, limited, /^1 category may or may not exist: "c" \(row 3\) \(why\)\nrun/],
  ['petstore has a bug', 1, {}, stopped('internal'), /^why\nrun the command again with --verbose/],
  ['a storage error occurs', 9, {}, stopped('storage'), /^why\nrun/],
  ['the service redirects a create', 7, {}, stopped('service', { status: 302 }), /^why\nrun/],
  ['SIGINT arrives', 130, {}, interrupted, /^interrupted\nrun `petstore .* 'my file.csv' -p staging` to resume$/],
  ['SIGTERM arrives', 143, {}, stopped('interrupted', { exitCode: 143 }), /^terminated\nrun .* to resume$/],
])('if %s, an import ends with exit code %i, a message and a hint', (_what, code, document, stop, text) => {
  const error = ended(document, stop) ?? expect.unreachable();
  expect(exitCodeOf(error)).toBe(code);
  expect(`${error.message}\n${error.hint}`).toMatch(text);
});

test('an import without failed or unknown rows ends without an error', () => {
  expect(ended({ ...KNOWN, failed: [] })).toBeUndefined();
});

test('the error of an import has the code, status and retry time of its cause', () => {
  expect(ended(KNOWN)).toMatchObject({ code: 'invalid', status: 400 });
  expect(ended(KNOWN, limited)?.retryAt).toBe(5);
  const cause = stopped('rejected', { code: 'blocked', status: 403 });
  expect(ended({}, cause)).toMatchObject({ kind: 'unknown_outcome', code: 'blocked', status: 403, cause });
});

test('the error of an interrupted import has the outcome "unknown" only if a row is unknown', () => {
  expect([ended({}, interrupted)?.outcome, ended(KNOWN, interrupted)?.outcome]).toEqual(['unknown', undefined]);
});

test('the hint to resume an import whose rows came from stdin names no command', async () => {
  const error = importError(DOCUMENT, { error: interrupted, rerunUnsafe: false }) ?? expect.unreachable();
  const context = world(ARGS);
  await context.stdin.read()[Symbol.asyncIterator]().next();
  expect(withHint(error, context, undefined).hint).toBe('run the same command with the same rows to resume');
});

test('an error after which the same file must not be imported again takes precedence over unknown rows', () => {
  const error = incompleteListError(2, true);
  expect(importError(DOCUMENT, { error, rerunUnsafe: true })).toBe(error);
});

test.each<[string, string, string, ErrorKind, object]>([
  ['a 400', 'rejected', 'not fatal', 'rejected', { status: 400 }],
  ['a 403', 'rejected', 'fatal', 'rejected', { status: 403 }],
  ['a failed connection', 'unsent', 'fatal', 'network', {}],
  ['an abort before the request was sent', 'unsent', 'fatal', 'interrupted', {}],
  ['an abort while the request was in flight', 'aborted', 'fatal', 'interrupted', { processed: 'perhaps' }],
  ['a 500', 'lost', 'not fatal', 'unknown_outcome', { status: 500 }],
  ['a timeout', 'slow', 'not fatal', 'unknown_outcome', { processed: 'late' }],
  ['an internal error', 'lost', 'fatal', 'internal', {}],
])('a create that ends with %s is classified as %s and %s', (_what, outcome, effect, kind, facts) => {
  expect(classifyError(stopped(kind, facts))).toEqual({ outcome, isFatal: effect === 'fatal' });
});

test('a create that ends with a TypeError is classified as lost and fatal', () => {
  expect(classifyError(new TypeError('x'))).toEqual({ outcome: 'lost', isFatal: true });
});
