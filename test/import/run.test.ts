// Runs of an import against a service in memory, in virtual time.
import { expect, test } from 'vitest';
import type { Category, NewCategory } from '../../src/api/types.ts';
import type { ErrorKind } from '../../src/errors.ts';
import { PetstoreError } from '../../src/errors.ts';
import { classifyError } from '../../src/import/import-error.ts';
import type { Fate } from './fake-service.ts';
import { FakeImport, isComplete, named } from './fake-service.ts';

const numbered = (count: number): NewCategory[] => named(...Array.from({ length: count }, (_, at) => `n${at}`));
const namesOf = (rows: readonly NewCategory[]): string[] => rows.map(({ name }) => name).sort();
const namesAt = (it: FakeImport): string[] => namesOf(it.service.categories);
const total = (waits: readonly number[]): number => waits.reduce((sum, ms) => sum + ms, 0);

test('an import creates every row and lists them in the order of the file', async () => {
  const it = new FakeImport([{ name: 'dog', description: 'Canis' }, { name: 'cat' }, { name: 'dog' }]);
  const result = await it.run();
  expect(result?.results.document()).toEqual({
    created: [
      { id: 1, name: 'dog', description: 'Canis' },
      { id: 2, name: 'cat' },
      { id: 3, name: 'dog' },
    ],
    skipped: [],
    failed: [],
    unknown: [],
    pending: 0,
  });
  expect(result?.stop).toBeUndefined();
});

test('an import that is run again creates nothing and fetches the list once', async () => {
  const it = new FakeImport([{ name: 'dog', description: 'Canis' }, { name: 'cat' }]);
  await it.run();
  const { lists } = it.service;
  it.rows = [{ name: 'dog', description: 'other' }, { name: 'cat' }];
  const again = await it.run();
  expect(again?.results.document()).toMatchObject({
    created: [],
    skipped: [
      { row: 1, name: 'dog', id: 1, differs: true },
      { row: 2, name: 'cat', id: 2 },
    ],
  });
  expect([it.service.lists, it.service.sent.length]).toEqual([lists + 1, 2]);
});

test('a name that occurs three times in the file and once in the list is created twice', async () => {
  const it = new FakeImport(named('dog', 'cat', 'dog', 'dog'));
  it.service.add({ name: 'dog' });
  const result = await it.run();
  expect(result?.results.document()).toMatchObject({ skipped: [{ row: 1, name: 'dog', id: 1 }], pending: 0 });
  expect(namesAt(it)).toEqual(['cat', 'dog', 'dog', 'dog']);
});

test('nothing is sent if the first list comes from a cache', async () => {
  const it = new FakeImport(named('dog'));
  it.service.isCached = () => true;
  await expect(it.run()).rejects.toMatchObject({ exitCode: 7, message: expect.stringContaining('cache') });
  expect([it.service.sent, it.clock.slept]).toEqual([[], [2000, 4000]]);
});

test('categories that were deleted are created again', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  await it.run();
  it.service.categories.shift();
  expect(isComplete(await it.run())).toBe(true);
  expect(namesAt(it)).toEqual(['cat', 'dog']);
});

test('uncertain rows stay unknown if the list lacks categories that were just created, or listed before', async () => {
  const it = new FakeImport(numbered(6));
  it.service.show = (all) => all.slice(0, 2);
  it.service.fates.push('ok', 'ok', 'ok', 'lost');
  const result = await it.run({ concurrency: 1 });
  expect(result?.results.document()).toMatchObject({ unknown: [{ row: 4 }], pending: 0 });
  expect(result?.stop).toMatchObject({ message: 'the list lacks 3 categories that were just created' });
  const other = new FakeImport(named('dog'));
  for (const name of ['old', 'older']) other.service.add({ name });
  other.service.show = (all) => (other.service.lists > 1 ? all.slice(1) : all);
  other.service.fates.push('cut');
  const again = await other.run();
  expect(again?.results.document()).toMatchObject({ unknown: [{ row: 1 }] });
  expect(again?.stop).toMatchObject({ message: 'the list lacks 1 category that were listed before' });
});

test.each<[string, Fate, string, object]>([
  ['is unauthorized', 'unauthorized', 'auth', { pending: 18, failed: [] }],
  ['exceeds the rate limit', 'limited', 'rate_limited', { pending: 18, failed: [] }],
  ['cannot be sent', 'unreachable', 'network', { pending: 18, failed: [] }],
  ['is forbidden', 'forbidden', 'rejected', { pending: 17, failed: [{ row: 3 }] }],
])('a create that %s stops the import, and the next run creates the rest', async (_what, fate, kind, document) => {
  const it = new FakeImport(numbered(20));
  it.service.fates.push('ok', 'ok', fate);
  const result = await it.run({ concurrency: 1 });
  expect(result?.stop?.kind).toBe(kind);
  expect(result?.results.document()).toMatchObject({ unknown: [], ...document });
  expect(it.service.sent).toHaveLength(3);
  expect(isComplete(await it.run())).toBe(true);
  expect(namesAt(it)).toEqual(namesOf(numbered(20)));
});

test('a row whose response was lost is looked up and not sent again if it exists', async () => {
  const it = new FakeImport(numbered(5));
  it.service.fates.push('lost', 'ok', 'lost');
  expect(isComplete(await it.run())).toBe(true);
  expect([it.service.sent.length, it.service.lists]).toEqual([5, 2]);
});

test('an absent row is resent up to --max-retries times', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  it.service.fates.push('cut', 'ok', 'cut', 'cut', 'cut');
  const result = await it.run({ concurrency: 1, maxRetries: 2 });
  expect(result?.results.document()).toMatchObject({ created: [{ name: 'cat' }], unknown: [{ row: 1, name: 'dog' }] });
  expect(it.service.sent.filter(({ name }) => name === 'dog')).toHaveLength(3);
});

test('a category that existed before is never taken for a row whose response was lost', async () => {
  const it = new FakeImport(named('dog', 'dog', 'dog'));
  it.service.add({ name: 'dog' });
  it.service.fates.push('cut', 'lost');
  expect(isComplete(await it.run())).toBe(true);
  expect([it.service.sent.length, it.service.categories.length]).toEqual([3, 3]);
});

test('a row whose name the service altered stays unknown, and the category that it may be is named', async () => {
  const it = new FakeImport(named('Big  Dog ', 'cat'));
  it.service.alter = (name) => name.trim().replace(/\s+/g, ' ');
  it.service.fates.push('lost');
  const result = await it.run();
  expect(result?.results.document()).toMatchObject({
    unknown: [{ row: 1, name: 'Big  Dog ', maybe: { id: 1, name: 'Big Dog' } }],
    created: [{ name: 'cat' }],
  });
  it.rows = named('Big Dog', 'cat');
  expect(isComplete(await it.run())).toBe(true);
  expect(it.service.sent).toHaveLength(2);
});

test('an import stops if a 201 shows that the service changes names, and the file with its spelling is complete', async () => {
  const it = new FakeImport(named('Dog', 'Cat', 'Cow'));
  it.service.alter = (name) => name.toLowerCase();
  const result = await it.run({ concurrency: 2 });
  expect(result?.stop).toMatchObject({
    exitCode: 7,
    message: 'the service changed the name "Dog" to "dog"',
    hint: "use the service's spelling of all names in the file: another import would create them twice",
  });
  expect(result?.results.document()).toMatchObject({ created: [{ name: 'dog' }, { name: 'cat' }], pending: 1 });
  it.rows = named('dog', 'cat');
  expect(isComplete(await it.run())).toBe(true);
  expect(it.service.sent).toHaveLength(2);
});

test('an import stops if a list shows other names than the responses did', async () => {
  const it = new FakeImport(named('Dog'));
  it.service.show = (all) => all.map((one) => ({ ...one, name: one.name.toLowerCase() }));
  const result = await it.run();
  expect(result?.stop?.message).toBe('the service changed the name "Dog" to "dog"');
});

test('a changed name is reported although the import ends for another reason', async () => {
  const it = new FakeImport(named('Dog', 'Cat'));
  it.service.alter = (name) => name.toLowerCase();
  it.service.fates.push('unauthorized');
  expect((await it.run())?.stop?.message).toBe('the service changed the name "Cat" to "cat"');
});

test('after a changed name, rows without a response are looked up before the import ends', async () => {
  const it = new FakeImport(named('Dog', 'Cat', 'Cow'));
  it.service.alter = (name) => name.toLowerCase();
  it.service.fates.push('lost', 'cut');
  const result = await it.run();
  expect(result?.results.document()).toMatchObject({
    created: [{ name: 'cow' }],
    unknown: [
      { row: 1, maybe: { name: 'dog' } },
      { row: 2, maybe: { name: 'dog' } },
    ],
  });
  expect(it.service.sent).toHaveLength(3);
});

test('a list that lacks categories that were just created is an error', async () => {
  const it = new FakeImport(numbered(5));
  it.service.show = (all) => all.slice(0, 3);
  const result = await it.run();
  expect(result?.stop).toMatchObject({ exitCode: 7, message: 'the list lacks 2 categories that were just created' });
  expect(it.clock.slept).toEqual([2000, 4000]);
});

test('the list is not fetched again after the last create if the quota is used up', async () => {
  const it = new FakeImport(numbered(5));
  expect(isComplete(await it.run({ hasQuota: () => false }))).toBe(true);
  expect(it.service.lists).toBe(1);
});

test('a row that another client creates while the import looks up others is not sent', async () => {
  const it = new FakeImport(numbered(6));
  it.service.fates.push('cut', 'cut', 'cut', 'cut');
  it.service.onList = () => {
    if (it.service.lists === 2) it.service.add({ name: 'n5' });
  };
  expect(isComplete(await it.run({ concurrency: 1 }))).toBe(true);
  expect(namesAt(it)).toEqual(namesOf(numbered(6)));
});

test.each<[string, number, Fate]>([
  ['whose response was lost', 2000, 'cut'],
  ['that timed out', 45_000, 'slow'],
])('the absence of a row %s is proved by a list that is fetched after %i ms', async (_what, ms, fate) => {
  const it = new FakeImport(named('dog'));
  it.service.fates.push(fate);
  await it.run({ timeoutMs: 45_000 });
  expect(it.clock.monotonic()).toBe(ms);
  expect(namesAt(it)).toEqual(['dog']);
});

test('after a run was killed, the next one fetches its list 10 s later', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  it.service.fates.push('ok', 'crash');
  expect(await it.run({ concurrency: 1 })).toBeUndefined();
  expect(isComplete(await it.run())).toBe(true);
  expect([total(it.clock.slept), namesAt(it)]).toEqual([10_000, ['cat', 'dog']]);
});

test('a run waits as long as the timeout of a create that timed out in the last one', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  it.service.fates.push('slow', 'unauthorized');
  await it.run({ concurrency: 1, timeoutMs: 40_000 });
  const from = it.clock.monotonic();
  expect(isComplete(await it.run({ concurrency: 1, timeoutMs: 40_000 }))).toBe(true);
  expect(it.clock.monotonic() - from).toBe(40_000);
  expect(namesAt(it)).toEqual(['cat', 'dog']);
});

test('a create that is processed after its row was resent is reported as a duplicate', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  it.service.fates.push('cut', 'ok', 'ok');
  let lists = 0;
  it.service.onList = () => {
    if (++lists === 3) it.service.add({ name: 'dog' });
  };
  const result = await it.run({ concurrency: 1 });
  expect(result?.stop).toMatchObject({
    kind: 'unknown_outcome',
    message: 'the list shows more categories than rows: "dog"',
  });
});

test('a row of an earlier run that is processed after it was sent again is reported as a duplicate', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  it.service.fates.push('ok', 'lost');
  it.service.onList = () => {
    if (it.service.lists === 2) it.service.add({ name: 'cat' });
  };
  expect((await it.run({ concurrency: 1 }))?.stop?.message).toBe('the list shows more categories than rows: "cat"');
});

test('a 201 with a known category, or with that of another row, does not count as created', async () => {
  const it = new FakeImport(named('dog', 'cat', 'cow'));
  it.service.seed({ name: 'old' });
  it.service.fates.push('old', 'ok', 'one');
  expect(isComplete(await it.run({ concurrency: 1 }))).toBe(true);
  expect(namesAt(it)).toEqual(['cat', 'cow', 'dog', 'old']);
});

test('rows are looked up after several lost responses in a row, and the import stops if none exists', async () => {
  const found = new FakeImport(numbered(20));
  found.service.fate = () => 'lost';
  expect(isComplete(await found.run({ maxRetries: 0 }))).toBe(true);
  expect(found.service.sent).toHaveLength(20);
  const hopeless = new FakeImport(numbered(100));
  hopeless.service.fate = () => 'cut';
  const result = await hopeless.run();
  expect(result?.stop?.kind).toBe('unknown_outcome');
  expect(hopeless.service.sent.length).toBeLessThan(30);
});

test('rows stay unknown if the lookup fails, and the next run creates those that the list lacks', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  it.service.fates.push('lost', 'cut');
  it.service.onList = () => {
    if (it.service.lists === 2) throw new PetstoreError('service', 'server error (500)', { status: 500 });
  };
  const result = await it.run();
  expect(result?.stop?.kind).toBe('service');
  expect(result?.results.document()).toMatchObject({ created: [], unknown: [{ row: 1 }, { row: 2 }], pending: 0 });
  expect(isComplete(await it.run())).toBe(true);
  expect(namesAt(it)).toEqual(['cat', 'dog']);
});

test('an import sends nothing if its first list fails', async () => {
  const it = new FakeImport(numbered(3));
  it.service.onList = () => {
    throw new PetstoreError('auth', 'the key was rejected', { status: 401 });
  };
  await expect(it.run()).rejects.toMatchObject({ kind: 'auth' });
  expect(it.service.sent).toEqual([]);
});

test('a run that was taken over sends nothing more, and the other one creates the rest', async () => {
  const it = new FakeImport(numbered(12));
  const { api } = it.service.client();
  const create = async (row: NewCategory, beforeSend?: () => void): Promise<Category> => {
    if (row.name === 'n3') expect(isComplete(await it.run({}, 'dead'))).toBe(true);
    return api.create(row, beforeSend);
  };
  const first = await it.run({ concurrency: 1, categories: { ...api, create } });
  expect(first?.stop).toMatchObject({ message: 'another process has taken over this import' });
  expect(it.service.sent).toHaveLength(12);
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
])('an error of kind %s (status %s) leaves its row "%s" and stops the import: %s', (kind, status, means, stop) => {
  expect(classifyError(new PetstoreError(kind, 'x', { status }))).toEqual({ means, stop });
});

test('an error after which the request may have been processed leaves its row "slow" or "lost"', () => {
  const late = new PetstoreError('unknown_outcome', 'x', { processed: 'late' });
  expect(classifyError(late)).toEqual({ means: 'slow', stop: false });
  const interrupted = new PetstoreError('interrupted', 'x', { processed: 'perhaps' });
  expect(classifyError(interrupted)).toEqual({ means: 'aborted', stop: true });
  expect(classifyError(new TypeError('x'))).toEqual({ means: 'lost', stop: true });
});
