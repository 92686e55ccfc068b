// Runs of an import against an in-memory service, in virtual time.
import { expect, test } from 'vitest';
import { exitCodeOf } from '../../src/cli/report-error.ts';
import { PetstoreError } from '../../src/errors.ts';
import type { RunOptions } from '../../src/import/run.ts';
import type { Category, NewCategory } from '../../src/public-types.ts';
import type { Fate, Script } from './fake-service.ts';
import { FakeImport, FakeService, isComplete, named } from './fake-service.ts';

const numbered = (count: number): NewCategory[] => named(...Array.from({ length: count }, (_, at) => `n${at}`));
const lower = (name: string): string => name.toLowerCase();

function importOf(rows: readonly NewCategory[], script: Script = {}, ...fates: readonly Fate[]): FakeImport {
  return new FakeImport(rows, new FakeService(undefined, { fate: (at) => fates[at], ...script }));
}

const stopOf = async (it: FakeImport, options?: Partial<RunOptions>) => (await it.run(options))?.stop?.error;
const documentOf = async (it: FakeImport, options?: Partial<RunOptions>) => (await it.run(options))?.results.document();

const namesOf = (rows: readonly NewCategory[]): string[] => rows.map(({ name }) => name).sort();
const namesAt = (it: FakeImport): string[] => namesOf(it.service.items);

test('an import creates each missing category once and skips repeated names, with two lists and without a wait', async () => {
  const it = importOf(named('cat', 'cat', 'dog', 'dog', 'Dog'));
  it.service.add({ name: 'dog' });
  it.service.add({ name: 'dog' });
  expect(await documentOf(it)).toEqual({
    created: [
      { id: 3, name: 'cat' },
      { id: 4, name: 'Dog' },
    ],
    skipped: [
      { row: 2, name: 'cat', id: 3, repeats: 1 },
      { row: 3, name: 'dog', id: 1 },
      { row: 4, name: 'dog', id: 1, repeats: 3 },
    ],
    ...{ failed: [], unknown: [], pending: 0 },
  });
  expect([namesAt(it), it.service.lists, it.clock.slept]).toEqual([['Dog', 'cat', 'dog', 'dog'], 2, []]);
});

test('a row that repeats a rejected, an unknown or a pending name is skipped without an id', async () => {
  const it = importOf(named('dog', 'cat', 'cow', 'dog', 'cat', 'cow'), {}, 'rejected', 'cut', 'unauthorized');
  const document = await documentOf(it, { concurrency: 1, maxRetries: 0 });
  const unknown = [{ row: 2, reason: 'the service returned 500' }];
  expect(document).toMatchObject({ created: [], failed: [{ row: 1 }], unknown, pending: 1 });
  expect(document?.skipped).toEqual(['dog', 'cat', 'cow'].map((name, at) => ({ row: at + 4, name, repeats: at + 1 })));
});

test('uncertain rows stay unknown if a list lacks known categories, and the error says whether the run created these categories', async () => {
  const it = importOf(numbered(6), { show: (all) => all.slice(0, 2) }, 'ok', 'ok', 'ok', 'lost');
  const result = await it.run({ concurrency: 1 });
  expect(result?.results.document()).toMatchObject({ unknown: [{ row: 4 }], pending: 0 });
  const created = 'the list lacks 3 categories that were just created';
  expect(result?.stop?.error).toMatchObject({ kind: 'service', message: created });
  const other = importOf(named('dog'), { show: (all, at) => (at > 0 ? all.slice(1) : all) }, 'cut');
  for (const name of ['old', 'older']) other.service.add({ name });
  const again = await other.run();
  expect(again?.results.document()).toMatchObject({ unknown: [{ row: 1 }] });
  const listed = 'cannot determine which categories exist: the list lacks 1 category that was listed before';
  expect(again?.stop?.error).toMatchObject({ kind: 'unknown_outcome', message: listed });
});

test('an uncertain row whose category the list lacks is resent at most `maxRetries` times', async () => {
  const it = importOf(named('dog', 'cat'), {}, 'cut', 'ok', 'cut', 'cut', 'cut');
  const document = await documentOf(it, { concurrency: 1, maxRetries: 2 });
  expect(document).toMatchObject({ created: [{ name: 'cat' }], unknown: [{ row: 1, name: 'dog' }] });
  expect(it.service.sent.filter(({ name }) => name === 'dog')).toHaveLength(3);
});

test('an import stops if a 201 shows a changed name, and the next import is complete if its rows have the spelling of the service', async () => {
  const it = importOf(named('Dog', 'Cat', 'Cow'), { alter: lower });
  const result = await it.run({ concurrency: 2 });
  expect(result?.stop?.error).toMatchObject({
    kind: 'service',
    message: 'the service changed the name "Dog" to "dog"',
    hint: "use the service's spelling of all names in the rows before you import them again",
  });
  expect(result?.results.document()).toMatchObject({ created: [{ name: 'dog' }, { name: 'cat' }], pending: 1 });
  it.rows = named('dog', 'cat');
  expect(isComplete(await it.run())).toBe(true);
  expect(it.service.sent).toHaveLength(2);
});

test('an import reports the first of two fatal errors, unless a 201 shows a changed name', async () => {
  const two = importOf(named('dog', 'cat'), {}, 'unauthorized', 'unreachable');
  expect((await stopOf(two, { concurrency: 2 }))?.kind).toBe('auth');
  const other = importOf(named('Dog', 'Cat'), { alter: lower }, 'unauthorized');
  expect((await stopOf(other))?.message).toBe('the service changed the name "Cat" to "cat"');
});

test('an import fails if only its last list shows a changed name', async () => {
  const it = importOf(named('Dog', 'Cat'), { alter: lower, echoes: true });
  expect((await stopOf(it))?.message).toBe('the service changed the name "Dog" to "dog"');
});

test('after a changed name, an import looks up its uncertain rows but resends none', async () => {
  const it = importOf(named('Dog', 'Cat', 'Cow'), { alter: lower }, 'lost', 'cut');
  expect(await documentOf(it)).toMatchObject({
    created: [{ name: 'cow' }],
    unknown: [{ row: 1 }, { row: 2 }],
    unexplained: [{ id: 1, name: 'dog' }],
  });
  expect(it.service.sent).toHaveLength(3);
});

test('a new category that no row explains keeps an uncertain row unknown, but is not reported if no row is unknown', async () => {
  const addsOthers = (it: FakeImport): FakeImport => {
    it.service.script.onList = () => void it.service.add({ name: 'zebra' });
    return it;
  };
  const document = await documentOf(addsOthers(importOf(named('dog'), {}, 'cut')));
  expect(document).toMatchObject({ unknown: [{ row: 1 }], unexplained: [{ id: 2, name: 'zebra' }] });
  expect(await documentOf(addsOthers(importOf(named('dog'))))).not.toHaveProperty('unexplained');
});

test('an import fails if its last list lacks a category that it created, but requests no last list without quota', async () => {
  // The quota allows one request after the creates.
  const hasQuota = (): boolean => it.service.lists === 1;
  const it: FakeImport = importOf(numbered(5), { show: (all) => all.slice(0, 4), hasQuota });
  expect(await stopOf(it)).toMatchObject({
    kind: 'service',
    message: 'the list lacks 1 category that was just created',
    hint: 'compare the list of categories with the rows first, because another import would create that category twice',
  });
  expect(it.clock.slept).toEqual([2000, 4000]);
  const other = importOf(numbered(5), { hasQuota: () => false });
  expect(isComplete(await other.run())).toBe(true);
  expect(other.service.lists).toBe(1);
});

test('an import is complete even if its last list fails, unless the import is interrupted', async () => {
  for (const kind of ['service', 'interrupted'] as const) {
    const it = importOf(numbered(2));
    it.service.script.onList = () => {
      if (it.service.sent.length > 0) throw new PetstoreError(kind, 'failed');
    };
    expect((await stopOf(it))?.kind).toBe(kind === 'service' ? undefined : kind);
  }
});

test('an import that looks up lost rows does not send a row whose category another client creates meanwhile', async () => {
  const it = importOf(numbered(6), {}, 'cut', 'cut', 'cut', 'cut');
  it.service.script.onList = () => {
    if (it.service.lists === 1) it.service.add({ name: 'n5' });
  };
  expect(isComplete(await it.run({ concurrency: 1 }))).toBe(true);
  expect(namesAt(it)).toEqual(namesOf(numbered(6)));
});

test.each<[string, number, Fate]>([
  ['whose response was lost', 2000, 'cut'],
  ['that timed out', 45_000, 'slow'],
])('a create %s is looked up after %i ms and sent again', async (_what, ms, fate) => {
  const it = importOf(named('dog'), {}, fate);
  await it.run({ timeoutMs: 45_000 });
  expect(it.clock.monotonic()).toBe(ms);
  expect(namesAt(it)).toEqual(['dog']);
});

test.each<[string, number, Fate[]]>([
  ['was killed', 13_000, ['ok', 'crash']],
  ['ended while a create that timed out could still arrive', 40_000, ['slow', 'unauthorized']],
  ['was killed after a create that timed out', 40_000, ['slow', 'crash']],
  ['was interrupted during a create', 10_000, ['interrupted']],
])('if a run %s, the next run waits %i ms before its list, and a third run does not wait', async (_what, ms, fates) => {
  const it = importOf(named('dog', 'cat', 'cow'), {}, ...fates);
  await it.run({ concurrency: 1, timeoutMs: 40_000 });
  expect(it.clock.monotonic()).toBe(0);
  expect(isComplete(await it.run({ concurrency: 1, timeoutMs: 40_000 }))).toBe(true);
  expect(isComplete(await it.run())).toBe(true);
  expect([it.clock.monotonic(), namesAt(it)]).toEqual([ms, ['cat', 'cow', 'dog']]);
});

test('with its lock on a state server, an import waits 4 s before its first create, and not at all if none is needed', async () => {
  const it = importOf(named('dog'));
  it.isOnServer = true;
  it.service.add({ name: 'dog' });
  expect([isComplete(await it.run()), it.clock.monotonic()]).toEqual([true, 0]);
  it.rows = named('dog', 'cat');
  expect([isComplete(await it.run()), it.clock.monotonic(), namesAt(it)]).toEqual([true, 4000, ['cat', 'dog']]);
});

test('if another run takes back its lost lock before the first create, an import lists again', async () => {
  const it = importOf(named('dog'));
  it.isOnServer = true;
  const lost = { run: 'lost', process: { pid: 99, start: '', host: 'here' }, term: 1, at: 5, drainMs: 0 };
  it.service.script.onList = () => {
    if (it.service.lists > 0) return;
    // The other run creates the category after this list was read.
    setImmediate(() => it.service.add({ name: 'dog' }));
    it.log.append(JSON.stringify({ kind: 'beat', ...lost }));
  };
  expect(await documentOf(it)).toMatchObject({ created: [], skipped: [{ name: 'dog' }] });
  expect([it.service.sent, it.service.lists]).toEqual([[], 2]);
});

test('a create that is processed late is reported as a duplicate, whether this run or an earlier one sent it', async () => {
  const it = importOf(named('dog', 'cat'), {}, 'cut', 'ok', 'ok');
  it.service.script.onList = () => {
    if (it.service.lists === 2) it.service.add({ name: 'dog' });
  };
  const message = 'the list shows several categories named "dog"';
  expect(await stopOf(it, { concurrency: 1 })).toMatchObject({ kind: 'unknown_outcome', message });
  const other = importOf(named('dog', 'cat'));
  other.service.script.onList = () => {
    if (other.service.lists === 1) other.service.add({ name: 'cat' });
  };
  expect((await stopOf(other))?.message).toBe('the list shows several categories named "cat"');
});

test('a row is resent if its 201 has the id of an existing category or of an earlier 201', async () => {
  const it = importOf(named('dog', 'cat', 'cow'), {}, 'ok', 'old', 'latest');
  it.service.add({ name: 'old' });
  expect(isComplete(await it.run({ concurrency: 1 }))).toBe(true);
  expect(namesAt(it)).toEqual(['cat', 'cow', 'dog', 'old']);
});

test('an import fails if another category gets the id of a false 201, and the next import is complete', async () => {
  const it = importOf(named('dog', 'cat', 'cow'), {}, 'next');
  expect(await stopOf(it, { concurrency: 1 })).toMatchObject({
    message: 'the service changed the name "dog" to "cat"',
    hint: 'compare the list of categories with the rows before you import them again',
  });
  expect(isComplete(await it.run())).toBe(true);
  expect(namesAt(it)).toEqual(['cat', 'cow', 'dog']);
});

test('after several consecutive lost responses, an import looks up the rows and stops if none of their categories exists', async () => {
  const found = importOf(numbered(20), { fate: () => 'lost' });
  expect(isComplete(await found.run({ maxRetries: 0 }))).toBe(true);
  expect(found.service.sent).toHaveLength(20);
  const hopeless = importOf(numbered(100), { fate: () => 'cut' });
  expect((await stopOf(hopeless))?.kind).toBe('unknown_outcome');
  expect(hopeless.service.sent.length).toBeLessThan(30);
});

test('a run that was taken over sends nothing more, and the other run creates the rest', async () => {
  const it = importOf(numbered(12));
  const { api } = it.service.client();
  const create = async (row: NewCategory, beforeSend?: () => void): Promise<Category> => {
    if (row.name === 'n3') expect(isComplete(await it.run({}, 'dead'))).toBe(true);
    return api.create(row, beforeSend);
  };
  const error = await stopOf(it, { concurrency: 1, categories: { ...api, create } });
  expect(error?.message).toBe('another process has taken over this import');
  expect(it.service.sent).toHaveLength(12);
});

const TAKEN_OVER = new PetstoreError('storage', 'another process has taken over this import');

test.each<[string, number, Script, number, PetstoreError?]>([
  ['a 401', 3, { fate: () => 'unauthorized' }, 1],
  ['a changed name', 7, { alter: lower }, 1],
  ['Ctrl-C during a create', 130, { fate: () => 'interrupted' }, 1],
  ['a lost lock', 9, {}, 0, TAKEN_OVER],
])('%s ends an import with exit code %i, and waiting rows are not sent', async (_what, code, script, sent, lost) => {
  // The wait of a row ends in virtual time, after the first row's response.
  const it = importOf(named('Dog', 'Cat', 'Cow'), { ...script, draw: (ms) => ms });
  const { api } = it.service.client();
  const create: typeof api.create = async (row, beforeSend, stop) => {
    if (row.name !== 'Dog') await it.clock.sleep(60_000, stop);
    else if (lost) throw lost;
    return api.create(row, beforeSend);
  };
  const error = await stopOf(it, { concurrency: 3, categories: { ...api, create } });
  expect([error && exitCodeOf(error), it.service.sent.length]).toEqual([code, sent]);
});

test('the last list of an import is requested without retries, because no row depends on it', async () => {
  const it = importOf(named('dog', 'cat'), {}, 'cut');
  const { api } = it.service.client();
  const asked: (boolean | undefined)[] = [];
  const listFresh: typeof api.listFresh = (once) => {
    asked.push(once);
    return api.listFresh();
  };
  expect(isComplete(await it.run({ categories: { ...api, listFresh } }))).toBe(true);
  expect(asked).toEqual([false, false, true]);
});

test('a row that was not sent is skipped if another client creates its category', async () => {
  const alter = (name: string): string => (name === 'Dog' ? 'dog' : name);
  const it = importOf(named('Dog', 'Cat', 'Cow'), { alter, draw: (ms) => ms }, 'ok', 'cut');
  it.service.script.onList = () => {
    if (it.service.lists === 1) it.service.add({ name: 'Cow' });
  };
  const { api } = it.service.client();
  const create: typeof api.create = async (row, beforeSend, stop) => {
    if (row.name === 'Cow') await it.clock.sleep(60_000, stop);
    return api.create(row, beforeSend);
  };
  const document = await documentOf(it, { concurrency: 3, categories: { ...api, create } });
  expect(document).toMatchObject({ created: [{ name: 'dog' }], skipped: [{ row: 3, name: 'Cow' }], pending: 1 });
});
