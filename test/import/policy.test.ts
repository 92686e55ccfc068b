// What the import concludes: from lists, from failures, from the quota, and how it tells its end.
import { expect, test } from 'vitest';
import type { Category } from '../../src/api/types.ts';
import type { ErrorKind } from '../../src/errors.ts';
import { PetstoreError } from '../../src/errors.ts';
import { TransportError } from '../../src/http/types.ts';
import { dailyNotice, estimate, formatEstimate, formatTime } from '../../src/import/estimate.ts';
import { importError, resumeCommand } from '../../src/import/import-error.ts';
import { matchUnknown } from '../../src/import/lookup.ts';
import type { ImportDocument } from '../../src/import/results.ts';
import { classifyError } from '../../src/import/run.ts';
import type { WindowView } from '../../src/rate-limit/quota-view.ts';

const known = (baseline: readonly string[] | undefined, owned: readonly string[] = []) => ({
  baseline: baseline && new Set(baseline),
  owned: (id: string) => owned.includes(id),
});
const list = (...names: string[]): Category[] => names.map((name, at) => ({ id: at + 1, name }));

test('a new category without an owner is found for one row only', () => {
  const lost = [
    { row: 4, name: 'dog' },
    { row: 6, name: 'dog' },
    { row: 8, name: 'dog' },
  ];
  const found = matchUnknown(lost, list('dog', 'dog', 'dog', 'dog'), known(['1'], ['2']));
  expect([...found.found].map(([row, { id }]) => [row, id])).toEqual([
    [4, 3],
    [6, 4],
  ]);
  expect([found.absent, found.doubtful]).toEqual([[8], []]);
});

test.each<[string, Category, readonly string[]]>([
  ['another description', { id: 1, name: 'dog', description: 'x' }, []],
  ['other spaces and case', { id: 1, name: ' DOG ' }, []],
  ['another form of the same characters', { id: 1, name: 'ｄｏｇ' }, []],
])('%s proves nothing', (_what, category, baseline) => {
  const findings = matchUnknown([{ row: 0, name: 'dog' }], [category], known(baseline));
  expect([findings.found.size, findings.absent, findings.doubtful]).toEqual([0, [], [0]]);
});

test('without a baseline nothing is found', () => {
  const findings = matchUnknown(
    [
      { row: 0, name: 'dog' },
      { row: 1, name: 'cat' },
    ],
    list('dog'),
    known(undefined),
  );
  expect([findings.found.size, findings.absent, findings.doubtful]).toEqual([0, [1], [0]]);
});

test('ids of nineteen digits are distinguished', () => {
  const listed = [9223372036854775806n, 9223372036854775807n].map((id) => ({ id, name: 'dog' }));
  const findings = matchUnknown([{ row: 0, name: 'dog' }], listed, known(['9223372036854775806']));
  expect(findings.found.get(0)?.id).toBe(9223372036854775807n);
});

test.each<[ErrorKind, number | undefined, string, boolean]>([
  ['rejected', 400, 'failed', false],
  ['rejected', 409, 'failed', false],
  ['rejected', 404, 'failed', true],
  ['auth', 401, 'unsent', true],
  ['rate_limited', 429, 'unsent', true],
  ['network', undefined, 'unsent', true],
  ['storage', undefined, 'unsent', true],
  ['service', undefined, 'unsent', true],
  ['service', 302, 'lost', true],
  ['interrupted', undefined, 'lost', true],
  ['internal', undefined, 'lost', true],
])('after %s (%s) the event is %s, and the import stops: %s', (kind, status, event, stop) => {
  expect(classifyError(new PetstoreError(kind, 'x', { status }))).toEqual({ event, stop });
});

test.each<[string, number | undefined, unknown, boolean]>([
  ['a server error', 500, undefined, false],
  ['a connection that was reset', undefined, new TransportError('reset', true, 'x'), false],
  ['a gateway that waited in vain', 504, undefined, true],
  ['a service that waited in vain', 408, undefined, true],
  ['no answer in time', undefined, new TransportError('timeout', true, 'x'), true],
])('after %s the row is unknown, and the import continues', (_what, status, cause, slow) => {
  expect(classifyError(new PetstoreError('unknown_outcome', 'x', { status, cause }))).toEqual({
    event: slow ? 'timeout' : 'lost',
    stop: false,
  });
});

test('an interruption before the request leaves its row unsent; any other surprise leaves it unknown', () => {
  const reason = new PetstoreError('interrupted', 'interrupted');
  expect(classifyError(reason, reason)).toEqual({ event: 'unsent', stop: true });
  expect(classifyError(new TypeError('x'))).toEqual({ event: 'lost', stop: true });
});

const NOW = 1_800_000_000_000;
const window = (limit: number, remaining: number, inMs: number, over = false): WindowView => ({
  limit,
  remaining,
  resetAt: NOW + inMs,
  seenAt: NOW,
  over,
});
const quota = (short?: WindowView, long?: WindowView) => ({ window: short, longWindow: long });

test.each<[string, number, WindowView | undefined, number | undefined, string | undefined]>([
  ['no limit is known', 10, undefined, undefined, undefined],
  ['the window has room for all', 10, window(60, 10, 5000), undefined, '0s (60 requests per minute)'],
  ['more windows are needed', 990, window(60, 59, 58_000), undefined, '16 min (60 requests per minute)'],
  ['the plan has a daily limit', 2000, window(60, 59, 58_000), undefined, '1 day (1,000 requests per day)'],
  ['the window is over', 120, window(60, 0, -1, true), undefined, '1 min (60 requests per minute)'],
  ['a limit that no plan has', 100, window(20, 19, 4200), undefined, '25s (20 requests per 5s)'],
  ['its window was measured', 100, window(20, 19, 4200), 10_000, '45s (20 requests per 10s)'],
  ['a limit per hour', 5000, window(5000, 10, 3_000_000), undefined, '50 min (5,000 requests per hour)'],
  ['hardly a limit', 5000, window(2_000_000, 0, 5000), undefined, undefined],
])('the time that an import takes is estimated where %s', (_what, requests, short, measured, text) => {
  const expected = estimate(requests, quota(short), NOW, measured);
  expect(expected && formatEstimate(expected)).toBe(text);
});

test('a daily limit that does not suffice is known from the plan, and better from the service', () => {
  const planned = estimate(1500, quota(window(60, 60, 5000)), NOW);
  expect(planned).toEqual({ limit: 1000, windowMs: 86_400_000, ms: 86_400_000, isDaily: true });
  expect(dailyNotice(1500, planned)).toBe('1,500 rows exceed the daily limit of 1,000 requests');
  const reported = estimate(150, quota(window(60, 60, 5000), window(1000, 20, 7_200_000)), NOW);
  expect(reported).toMatchObject({ limit: 1000, ms: 7_200_000, isDaily: true });
  expect(dailyNotice(900, estimate(900, quota(window(60, 60, 5000)), NOW))).toBeUndefined();
});

test.each([
  [-5, '0s'],
  [40_001, '41s'],
  [60_000, '1 min'],
  [2_000_000, '34 min'],
  [7_500_000, '2 h 5 min'],
  [7_200_000, '2 h'],
  [86_400_000, '1 day'],
  [270_000_000, '3 days 3 h'],
])('a time of %i ms reads %s', (ms, text) => {
  expect(formatTime(ms)).toBe(text);
});

const document: ImportDocument = {
  created: [{ id: 1, name: 'a' }],
  skipped: [],
  failed: [{ row: 2, name: 'b', message: 'too long', code: 'invalid', status: 400 }],
  unknown: [{ row: 3, name: 'c' }],
  pending: 4,
};

test('the exit code follows from what stopped the import, then unknown rows, then rejected rows', () => {
  const goOn = 'petstore categories import f.csv';
  const error = (kind: ErrorKind) => new PetstoreError(kind, 'why', { hint: 'do', retryAt: 5 });
  const ended = (stop?: PetstoreError, duplicates: Category[] = []) => ({ stop, duplicates });
  const codeOf = (given: Partial<ImportDocument>, stop?: PetstoreError, duplicates?: Category[]) =>
    importError({ ...document, ...given }, ended(stop, duplicates), goOn)?.exitCode;
  expect(codeOf({ unknown: [], failed: [] })).toBeUndefined();
  expect(codeOf({ unknown: [] })).toBe(4);
  expect(codeOf({})).toBe(8);
  expect(codeOf({ unknown: [], failed: [] }, undefined, [{ id: 7, name: 'a' }])).toBe(8);
  expect(codeOf({}, error('auth'))).toBe(3);
  expect(codeOf({}, error('network'))).toBe(8);
  expect(codeOf({ unknown: [] }, error('network'))).toBe(6);
  const redirect = new PetstoreError('service', 'redirects', { status: 302 });
  expect([codeOf({}, error('service')), codeOf({}, redirect)]).toEqual([8, 7]);
  expect(importError(document, ended(error('rate_limited')), goOn)).toMatchObject({
    message: 'why (1 created, 1 rejected, 1 unknown, 4 pending)',
    hint: `do\nto resume: ${goOn}`,
    retryAt: 5,
  });
  const terminated = new PetstoreError('interrupted', 'terminated', { exitCode: 143 });
  expect(importError(document, ended(terminated), goOn)).toMatchObject({ exitCode: 143, hint: `to resume: ${goOn}` });
  expect(importError({ ...document, unknown: [] }, ended(), goOn)).toMatchObject({ code: 'invalid', status: 400 });
});

test('the command that resumes can be pasted into a shell', () => {
  const linux = { platform: 'linux', env: {} };
  expect(resumeCommand({ ...linux, args: ['categories', 'import', "it's.csv", '--restart', '-p', 'x'] }, false)).toBe(
    `petstore categories import 'it'\\''s.csv' -p x`,
  );
  expect(resumeCommand({ ...linux, args: ['categories', 'import', '-'] }, true)).toBe(
    'the same rows | petstore categories import -',
  );
});
