// Runs of an import against a service in memory, in virtual time.
import { expect, test, vi } from 'vitest';
import type { Category, NewCategory } from '../../src/api/types.ts';
import type { ErrorKind } from '../../src/errors.ts';
import { PetstoreError } from '../../src/errors.ts';
import { Journal } from '../../src/import/journal.ts';
import type { RunResult } from '../../src/import/run.ts';
import { classifyError } from '../../src/import/run.ts';
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

test('a list that lacks a created category is fetched again after 2 and 4 s, and then nothing is sent', async () => {
  const it = new FakeImport(named('dog', 'cat', 'cow'));
  it.service.add({ name: 'old' });
  it.service.fates.push('ok', 'ok', 'unauthorized');
  await it.run({ concurrency: 1 });
  it.service.show = (all) => all.filter(({ name }) => name !== 'dog');
  await expect(it.run()).rejects.toMatchObject({
    kind: 'service',
    message: expect.stringContaining('lacks 1 category'),
  });
  expect([it.service.sent.length, it.clock.slept]).toEqual([3, [2000, 4000]]);
});

test('--trust-list creates the categories that the list lacks, and later runs succeed without the option', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  it.service.add({ name: 'old' });
  await it.run();
  it.service.categories.splice(1, 1);
  await expect(it.run()).rejects.toMatchObject({ kind: 'service' });
  expect(isComplete(await it.run({ trustList: true }))).toBe(true);
  expect(isComplete(await it.run())).toBe(true);
  expect(namesAt(it)).toEqual(['cat', 'dog', 'old']);
});

test('a list that lacks a category of an earlier list is incomplete only if a row has its name', async () => {
  const it = new FakeImport(named('dog'));
  it.service.add({ name: 'old' });
  it.service.add({ name: 'older' });
  await it.run();
  it.service.categories.shift();
  it.rows = named('dog', 'cat');
  expect(isComplete(await it.run())).toBe(true);
  it.rows = named('dog', 'old');
  await expect(it.run()).rejects.toMatchObject({ kind: 'service' });
  expect(it.service.sent).toHaveLength(2);
});

test('an empty list counts as another account after 6 s, and the first account is recognized later', async () => {
  const it = new FakeImport(named('dog'));
  await it.run();
  const [dog] = it.service.categories.splice(0) as [Category];
  const running = it.run();
  expect(isComplete(await running)).toBe(true);
  expect([it.clock.slept, it.service.sent.length]).toEqual([[2000, 4000], 2]);
  // Show the list of the first account again.
  it.service.categories.splice(0, 1, dog, { id: 7, name: 'cat' });
  it.rows = named('dog', 'cat');
  expect(isComplete(await it.run())).toBe(true);
  expect(it.service.sent).toHaveLength(2);
});

test('an empty list after one that showed the account is not another account', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  await it.run();
  const shown = [1, 1, 0];
  it.service.show = (all) => all.slice(0, shown.shift());
  await expect(it.run()).rejects.toMatchObject({ kind: 'service', message: expect.stringContaining('lacks') });
  expect([it.clock.slept, it.service.sent.length]).toEqual([[2000, 4000], 2]);
});

test('a list cut off after the first categories leaves a row unknown, and the next run sends nothing', async () => {
  const it = new FakeImport(numbered(6));
  it.service.show = (all) => all.slice(0, 2);
  it.service.fates.push('ok', 'ok', 'ok', 'lost');
  const result = await it.run({ concurrency: 1 });
  expect(result?.results.document()).toMatchObject({ unknown: [{ row: 4 }], pending: 0 });
  await expect(it.run()).rejects.toMatchObject({ exitCode: 7 });
  it.service.show = (all) => all;
  expect(isComplete(await it.run())).toBe(true);
  expect(it.service.sent).toHaveLength(6);
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

test('a name that the service altered in its response is recognized in every later run', async () => {
  const it = new FakeImport(named('Dog', 'Cat'));
  it.service.alter = (name) => name.toLowerCase();
  await it.run();
  const result = await it.run();
  expect([isComplete(result), result?.results.altered, it.service.sent.length]).toEqual([true, 2, 2]);
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

test('rows that a killed run had in flight are looked up 10 s after the next run starts', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  it.service.fates.push('ok', 'crash');
  expect(await it.run({ concurrency: 1 })).toBeUndefined();
  expect(isComplete(await it.run())).toBe(true);
  expect([total(it.clock.slept), namesAt(it)]).toEqual([10_000, ['cat', 'dog']]);
});

test('a resumed run waits as long as the timeout for a row that timed out', async () => {
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
    message: 'resent rows may exist twice: "dog" (id 3)',
  });
});

test('a resent row has an unknown outcome if no list shows whether it exists twice', async () => {
  const it = new FakeImport(named('dog'));
  it.service.fates.push('cut');
  it.service.isCached = () => it.service.lists > 2;
  const result = await it.run();
  expect(result?.stop).toMatchObject({
    kind: 'unknown_outcome',
    message: 'cannot check whether resent rows exist twice: "dog"',
  });
});

test('a 201 with a known category, or with that of another row, does not count as created', async () => {
  const it = new FakeImport(named('dog', 'cat', 'cow'));
  it.service.seed({ name: 'old' });
  it.service.fates.push('old', 'ok', 'one');
  expect(isComplete(await it.run({ concurrency: 1 }))).toBe(true);
  expect(namesAt(it)).toEqual(['cat', 'cow', 'dog', 'old']);
});

test('a 201 with the category of a row that could not be recorded does not count as created', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  it.service.fates.push('ok', 'one');
  const { api } = it.service.client();
  const create = async (row: NewCategory): Promise<Category> => {
    const category = await api.create(row);
    it.isDiskFull = row.name === 'dog';
    return category;
  };
  const result = await it.run({ categories: { ...api, create } });
  expect(result?.stop?.kind).toBe('storage');
  expect(result?.results.document()).toMatchObject({ created: [{ name: 'dog' }], unknown: [{ name: 'cat' }] });
  expect(isComplete(await it.run())).toBe(true);
  expect(namesAt(it)).toEqual(['cat', 'dog']);
});

test('a row whose creation is recorded again after it was withdrawn is not sent again', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  const { recordCreated } = Journal.prototype;
  // A state server that loses its data has the attempt restored as uncertain, and then as created.
  vi.spyOn(Journal.prototype, 'recordCreated').mockImplementationOnce(async function (
    this: Journal,
    attempt,
    category,
  ) {
    await recordCreated.call(this, attempt, category);
    const uncertain = this.account.uncertain as Map<string, object>;
    uncertain.set(attempt, { name: 'dog', known: 0 });
    setImmediate(() => uncertain.delete(attempt));
    return false;
  });
  expect(isComplete(await it.run({ concurrency: 1 }))).toBe(true);
  expect([it.service.sent.length, namesAt(it)]).toEqual([2, ['cat', 'dog']]);
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

test('rows stay unknown if the lookup fails, and the next run resolves them', async () => {
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

test('a 201 to a run that was taken over counts as created for the run that took over', async () => {
  const it = new FakeImport(numbered(12));
  const { api } = it.service.client();
  let respond: () => void = () => undefined;
  let second: Promise<RunResult | undefined> | undefined;
  // The first run receives the response to its third create once the second run has sent rows of its own.
  const takeOver = (): Promise<void> => {
    const onProgress = ({ created }: { readonly created: number }): void => (created === 5 ? respond() : undefined);
    second = it.run({ concurrency: 1, onProgress }, 'dead');
    return new Promise((resolve) => {
      respond = resolve;
    });
  };
  const create = async (row: NewCategory): Promise<Category> => {
    const category = await api.create(row);
    if (row.name === 'n2') await takeOver();
    return category;
  };
  const first = await it.run({ concurrency: 1, categories: { ...api, create } });
  expect(first?.stop).toMatchObject({ message: 'another process has taken over this import' });
  expect(isComplete(await second)).toBe(true);
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
  expect(classifyError(interrupted)).toEqual({ means: 'lost', stop: true });
  expect(classifyError(new TypeError('x'))).toEqual({ means: 'lost', stop: true });
});
