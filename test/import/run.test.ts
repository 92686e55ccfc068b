// The import against a service in memory: every row exactly once, whatever becomes of its answer.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Category, NewCategory } from '../../src/api/types.ts';
import { PetstoreError } from '../../src/errors.ts';
import type { RunResult } from '../../src/import/run.ts';
import type { Fate } from './fake-service.ts';
import { FakeImport, named } from './fake-service.ts';

const numbered = (count: number): NewCategory[] => named(...Array.from({ length: count }, (_, at) => `n${at}`));
const namesAt = (it: FakeImport): string[] => it.service.categories.map(({ name }) => name).sort();

test('every row is created, and the document lists them in the order of the file', async () => {
  const it = new FakeImport([
    { name: 'dog', description: 'Canis' },
    { name: 'cat' },
    { name: 'dog', description: 'Canis' },
  ]);
  const result = await it.run();
  expect(result?.results.document()).toEqual({
    created: [
      { id: 1, name: 'dog', description: 'Canis' },
      { id: 2, name: 'cat' },
      { id: 3, name: 'dog', description: 'Canis' },
    ],
    skipped: [],
    failed: [],
    unknown: [],
    pending: 0,
  });
  expect(result?.stop).toBeUndefined();
});

test('the same import again creates nothing, and fetches the list once', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  await it.run();
  const { lists } = it.service;
  const again = await it.run();
  expect(again?.results.document()).toMatchObject({
    created: [],
    skipped: [
      { row: 1, name: 'dog', id: 1 },
      { row: 2, name: 'cat', id: 2 },
    ],
  });
  expect([it.service.lists, it.service.sent.length]).toEqual([lists + 1, 2]);
});

test('a list that lacks what the import created is looked at again, and then nothing is concluded from it', async () => {
  const it = new FakeImport(named('dog', 'cat', 'cow'));
  it.service.add({ name: 'old' });
  it.service.fates.push('ok', 'ok', 'unauthorized');
  await it.run({ concurrency: 1 });
  const [first] = it.service.categories.splice(1, 1);
  const missing = { kind: 'unknown_outcome', hint: expect.stringContaining('add --restart --skip-existing') };
  await expect(it.run()).rejects.toMatchObject(missing);
  it.service.categories.length = 0;
  await expect(it.run()).rejects.toMatchObject(missing);
  expect([it.service.sent.length, it.clock.slept]).toEqual([3, [2000, 4000, 2000, 4000]]);
  it.service.categories.push(first as Category);
  await it.run({ restart: true, skipExisting: true });
  expect(namesAt(it)).toEqual(['cat', 'cow', 'dog']);
});

test('while the list is three seconds behind, no row is taken for absent', async () => {
  const it = new FakeImport(numbered(6));
  it.service.show = (all, ageMs) => all.filter((category) => ageMs(category) >= 3000);
  it.service.fates.push('ok', 'lost-committed', 'lost-committed');
  const result = await it.run({ concurrency: 1 });
  expect(result?.results.document()).toMatchObject({ unknown: [], pending: 0 });
  expect([it.service.sent.length, it.service.categories.length]).toEqual([6, 6]);
});

test('a list that shows the first categories only decides nothing: the row stays unknown, in this run and the next', async () => {
  const it = new FakeImport(numbered(6));
  it.service.show = (all) => all.slice(0, 2);
  it.service.fates.push('ok', 'ok', 'ok', 'lost-committed');
  const result = await it.run({ concurrency: 1 });
  expect(result?.results.document()).toMatchObject({ unknown: [{ row: 4 }], pending: 0 });
  await expect(it.run()).rejects.toMatchObject({ exitCode: 8 });
  expect(it.service.sent.length).toBe(6);
  it.service.show = (all) => all;
  expect((await it.run())?.results.complete).toBe(true);
  expect(it.service.categories.length).toBe(6);
});

test('a run that another one has taken over sends nothing more', async () => {
  const it = new FakeImport(numbered(20));
  let second: Promise<RunResult | undefined> | undefined;
  const result = await it.run({
    concurrency: 1,
    onProgress: (results) => {
      if (results.created === 5) second ??= it.run({}, 'dead');
    },
  });
  expect(result?.stop).toMatchObject({ kind: 'storage', message: 'another run has taken over this import' });
  expect((await second)?.results.complete).toBe(true);
  expect(namesAt(it)).toEqual([...new Set(namesAt(it))]);
  expect(it.service.sent).toHaveLength(20);
});

test('--restart forgets the journal and creates every row again', async () => {
  const it = new FakeImport(named('dog'));
  await it.run();
  await it.run({ restart: true });
  expect(namesAt(it)).toEqual(['dog', 'dog']);
});

test('a rejected row is reported with the message of the service, the others are created, and the next run sends it again', async () => {
  const it = new FakeImport(numbered(6));
  it.service.fates.push('ok', 'rejected');
  const result = await it.run({ concurrency: 1 });
  expect(result?.results.document()).toMatchObject({
    failed: [{ row: 2, name: 'n1', code: 'invalid', message: 'bad name', status: 400 }],
    pending: 0,
  });
  expect(result?.results.created).toBe(5);
  expect((await it.run())?.results.document()).toMatchObject({ created: [{ name: 'n1' }], failed: [], pending: 0 });
});

test.each<[Fate, string, object]>([
  ['unauthorized', 'auth', { pending: 18, failed: [] }],
  ['limited', 'rate_limited', { pending: 18, failed: [] }],
  ['unreachable', 'network', { pending: 18, failed: [] }],
  ['forbidden', 'rejected', { pending: 17, failed: [{ row: 3 }] }],
])('%s stops the import at once, and the next run resumes it', async (fate, kind, document) => {
  const it = new FakeImport(numbered(20));
  it.service.fates.push('ok', 'ok', fate);
  const result = await it.run({ concurrency: 1 });
  expect(result?.stop?.kind).toBe(kind);
  expect(result?.results.document()).toMatchObject({ unknown: [], ...document });
  expect(it.service.sent).toHaveLength(3);
  expect((await it.run())?.stop).toBeUndefined();
  expect(namesAt(it)).toEqual(
    numbered(20)
      .map(({ name }) => name)
      .sort(),
  );
});

test('a row whose response was lost is looked up, and not sent again if it exists', async () => {
  const it = new FakeImport(numbered(5));
  it.service.fates.push('lost-committed', 'ok', 'lost-committed');
  const result = await it.run();
  expect(result?.results.document()).toMatchObject({ unknown: [], pending: 0 });
  expect(result?.results.created).toBe(5);
  expect([it.service.sent.length, it.service.lists]).toEqual([5, 2]);
});

test('an absent row is sent again after a pause that doubles, up to --max-retries', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  it.service.fates.push('lost', 'ok', 'lost', 'lost', 'lost', 'lost');
  const result = await it.run({ concurrency: 1, maxRetries: 2 });
  expect(result?.results.document()).toMatchObject({ created: [{ name: 'cat' }], unknown: [{ row: 1, name: 'dog' }] });
  expect(it.service.sent.filter(({ name }) => name === 'dog')).toHaveLength(3);
  expect(it.clock.slept).toEqual([2000, 4000, 8000]);
});

test('a category of the baseline is never taken for a row, even an equal one', async () => {
  const it = new FakeImport(named('dog', 'dog', 'cat'));
  it.service.add({ name: 'dog' });
  it.service.add({ name: 'dog' });
  it.service.fates.push('lost-committed', 'lost', 'ok');
  const result = await it.run();
  expect(result?.results.document()).toMatchObject({ unknown: [], pending: 0 });
  expect(namesAt(it)).toEqual(['cat', 'dog', 'dog', 'dog', 'dog']);
});

test('a row whose name the service normalized stays unknown and is not sent again', async () => {
  const it = new FakeImport(named('Big  Dog ', 'cat'));
  it.service.tidy = (name) => name.trim().replace(/\s+/g, ' ');
  it.service.fates.push('lost-committed');
  const result = await it.run();
  expect(result?.results.document()).toMatchObject({
    unknown: [{ row: 1, name: 'Big  Dog ' }],
    created: [{ name: 'cat' }],
  });
  expect(it.service.sent).toHaveLength(2);
});

test('after a timeout, a row counts as absent only once the timeout has passed again', async () => {
  for (const [fate, ms] of [
    ['lost', 2000],
    ['too-slow', 45_000],
  ] as const) {
    const it = new FakeImport(named('dog'));
    it.service.fates.push(fate);
    await it.run({ timeoutMs: 45_000 });
    // No single sleep is longer than 30 seconds.
    expect(Math.max(...it.clock.slept)).toBeLessThanOrEqual(30_000);
    expect([fate, it.clock.slept.reduce((all, one) => all + one, 0)]).toEqual([fate, ms]);
    expect(namesAt(it)).toEqual(['dog']);
  }
});

test('the run that resumes knows that a row timed out', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  it.service.fates.push('too-slow', 'unauthorized');
  await it.run({ concurrency: 1 });
  const slept = it.clock.slept.length;
  await it.run({ concurrency: 1 });
  expect(it.clock.slept.slice(slept)).toEqual([30_000]);
  expect(namesAt(it)).toEqual(['cat', 'dog']);
});

test('a request that arrives after the lookup is reported as a duplicate', async () => {
  const it = new FakeImport(named('dog'));
  it.service.fates.push('late');
  const result = await it.run();
  expect(result?.results.document()).toMatchObject({ created: [{ id: 2 }], unknown: [] });
  expect(result?.duplicates).toEqual([{ id: 1, name: 'dog' }]);
});

test('when every response is lost the import looks rows up every few requests, and ends when nothing gets through', async () => {
  const found = new FakeImport(numbered(20));
  found.service.fates.push(...Array<Fate>(20).fill('lost-committed'));
  expect((await found.run())?.results.created).toBe(20);
  expect(found.service.sent).toHaveLength(20);
  const unretried = new FakeImport(numbered(20));
  unretried.service.fates.push(...Array<Fate>(20).fill('lost-committed'));
  expect((await unretried.run({ maxRetries: 0 }))?.results.created).toBe(20);
  const hopeless = new FakeImport(numbered(100));
  hopeless.service.fates.push(...Array<Fate>(1000).fill('lost'));
  const result = await hopeless.run();
  expect(result?.stop?.kind).toBe('unknown_outcome');
  expect(result?.results.document()).toMatchObject({ created: [], pending: 93 });
  expect(hopeless.service.sent.length).toBeLessThan(30);
});

test('when the look-up fails the rows stay unknown, and the next run decides them', async () => {
  const it = new FakeImport(named('dog', 'cat'));
  it.service.fates.push('lost-committed', 'lost');
  it.service.onList = () => {
    if (it.service.lists === 2) throw new PetstoreError('service', 'the service failed (500)', { status: 500 });
  };
  const result = await it.run();
  expect(result?.stop?.kind).toBe('service');
  expect(result?.results.document()).toMatchObject({ created: [], unknown: [{ row: 1 }, { row: 2 }], pending: 0 });
  expect((await it.run())?.results.document()).toMatchObject({
    created: [{ name: 'dog' }, { name: 'cat' }],
    unknown: [],
  });
  expect(namesAt(it)).toEqual(['cat', 'dog']);
});

test('when the first list is refused nothing is created, and every row is pending', async () => {
  const it = new FakeImport(numbered(3));
  it.service.onList = () => {
    throw new PetstoreError('auth', 'the key was not accepted', { status: 401 });
  };
  const result = await it.run();
  expect([result?.stop?.kind, result?.results.document().pending, it.service.sent.length]).toEqual(['auth', 3, 0]);
});

test('after Ctrl-C requests in flight finish and no new one begins', async () => {
  const it = new FakeImport(numbered(50));
  const interrupt = new AbortController();
  const reason = new PetstoreError('interrupted', 'interrupted');
  const result = await it.run({
    signal: interrupt.signal,
    onProgress: (results) => {
      if (results.created === 10) interrupt.abort(reason);
    },
  });
  expect(result?.stop).toBe(reason);
  const { created, unknown, pending } = result?.results.document() ?? {};
  expect(it.service.categories).toHaveLength(created?.length ?? 0);
  expect(it.service.categories.length).toBeLessThan(15);
  expect([unknown?.length, (created?.length ?? 0) + (pending ?? 0)]).toEqual([0, 50]);
  await it.run();
  expect(namesAt(it)).toEqual(
    numbered(50)
      .map(({ name }) => name)
      .sort(),
  );
});

test('--skip-existing skips names of other categories, not of those that this import created', async () => {
  const it = new FakeImport(named('dog', 'cat', 'cow', 'cow'));
  it.service.add({ name: 'dog' });
  it.service.fates.push('crash-committed');
  expect(await it.run({ skipExisting: true, concurrency: 1 })).toBeUndefined();
  const result = await it.run({ skipExisting: true });
  expect(result?.results.document()).toMatchObject({
    skipped: [{ row: 1, name: 'dog', id: 1 }],
    created: [{ name: 'cat' }, { name: 'cow' }, { name: 'cow' }],
  });
  expect(namesAt(it)).toEqual(['cat', 'cow', 'cow', 'dog']);
});

test('the plan counts rows to send and existing names', async () => {
  const it = new FakeImport(named('dog', 'cat', 'cow'));
  it.service.add({ name: 'dog' });
  await it.run();
  expect(it.plans).toEqual([{ send: 3, existing: 1, resumed: 0 }]);
});

test('a second run of the same import is refused and sends nothing', async () => {
  const it = new FakeImport(numbered(30));
  let second: Promise<unknown> | undefined;
  const first = it.run({
    onProgress: () => {
      second ??= it.run().catch((error: unknown) => error);
    },
  });
  await first;
  expect(await second).toMatchObject({ kind: 'usage', exitCode: 2 });
  expect(it.service.sent).toHaveLength(30);
});

const row = fc.record(
  { name: fc.constantFrom('a', 'b', 'c', 'd e'), description: fc.constantFrom('', 'x', 'y') },
  { requiredKeys: ['name'] },
);
const fate = fc.constantFrom<Fate>(
  ...([
    'ok',
    'ok',
    'ok',
    'lost-committed',
    'lost',
    'rejected',
    'limited',
    'crash-committed',
    'crash',
    'unauthorized',
  ] as const),
);

test('a 201 that reaches a run after it was taken over decides its row for the run that took over', async () => {
  const it = new FakeImport(numbered(12));
  const { api } = it.service.client();
  let answer: () => void = () => undefined;
  let second: Promise<RunResult | undefined> | undefined;
  // The first run hears of its third create only once the second run has sent rows of its own.
  const takeOver = (): Promise<void> => {
    second = it.run(
      { concurrency: 1, onProgress: (results) => (results.created === 5 ? answer() : undefined) },
      'dead',
    );
    return new Promise((resolve) => {
      answer = resolve;
    });
  };
  const create = async (row: NewCategory): Promise<Category> => {
    const category = await api.create(row);
    if (row.name === 'n2') await takeOver();
    return category;
  };
  const first = await it.run({ concurrency: 1, categories: { ...api, create } });
  expect(first?.stop).toMatchObject({ message: 'another run has taken over this import' });
  expect((await second)?.results.complete).toBe(true);
  expect(it.service.sent).toHaveLength(12);
});

test('two imports of the same rows at the same time never claim one category', async () => {
  const fates = fc.array(fc.constantFrom<Fate>('ok', 'lost-committed', 'lost', 'crash', 'crash-committed'), {
    maxLength: 20,
  });
  await fc.assert(
    fc.asyncProperty(fates, fc.integer({ min: 1, max: 4 }), async (upcoming, concurrency) => {
      const one = new FakeImport(named('a', 'a', 'b', 'c'));
      const other = new FakeImport(named('a', 'b', 'c', 'd'), one.service, one.stateDir);
      one.service.fates.push(...upcoming);
      const finish = async (it: FakeImport): Promise<void> => {
        for (let runs = 0; !(await it.run({ concurrency }))?.results.complete; runs++) expect(runs).toBeLessThan(60);
      };
      await Promise.all([finish(one), finish(other)]);
      expect(namesAt(one)).toEqual(['a', 'a', 'a', 'b', 'b', 'c', 'c', 'd']);
    }),
    { numRuns: 30 },
  );
});

test('whatever happens, every row is created exactly once in the end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 15 }),
      fc.array(row, { maxLength: 6 }),
      fc.array(fate, { maxLength: 40 }),
      fc.integer({ min: 1, max: 8 }),
      fc.boolean(),
      async (rows, before, fates, concurrency, skipExisting) => {
        const it = new FakeImport(rows);
        for (const there of before) it.service.add(there);
        it.service.fates.push(...fates);
        for (let runs = 0; ; runs++) {
          const document = (await it.run({ concurrency, skipExisting }))?.results.document();
          if (document && document.failed.length + document.unknown.length + document.pending === 0) break;
          expect(runs).toBeLessThan(60);
        }
        const names = new Set(before.map(({ name }) => name));
        const wanted = rows.filter(({ name }) => !(skipExisting && names.has(name)));
        const texts = (all: readonly NewCategory[]): string[] =>
          all.map(({ name, description }) => JSON.stringify([name, description])).sort();
        expect(texts(it.service.categories)).toEqual(texts([...before, ...wanted]));
      },
    ),
    { numRuns: 30 },
  );
});
