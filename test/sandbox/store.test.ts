// Data as a fold over a log: many processes, many generations, kill -9; no id twice, nothing acknowledged lost.
import * as fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LogFs } from '../../src/append-log/generations.ts';
import { seededRandom } from '../../src/sandbox/faults.ts';
import { placeOf } from '../../src/sandbox/paths.ts';
import { dataFormat, Store } from '../../src/sandbox/store.ts';
import { tempDir } from '../support/temp-dir.ts';
import { CHILD_KEY, Creator, killDuringCreates, startChild } from './child.ts';
import { startTest } from './support.ts';

interface Listed {
  readonly id: number;
  readonly name: string;
}

const listOf = (store: Store): Listed[] => JSON.parse(store.list().toString());

test('a data file is named with or without its ending, or by one of its generations', () => {
  const place = { dir: '/a', dataName: 'b', windowsName: 'b.windows' };
  for (const path of ['/a/b', '/a/b.log', '/a/b.1.log', '/a/b.12.log']) expect(placeOf(path)).toEqual(place);
  expect(placeOf('/a/b.json')).toMatchObject({ dataName: 'b.json' });
  expect(placeOf('/a/.log')).toMatchObject({ dataName: 'sandbox' });
});

test('data survives rotation, with every id, every character and the next id', async () => {
  const place = placeOf(join(tempDir(), 'data'));
  const store = new Store(place, { rotateAtBytes: 300 });
  const other = new Store(place, { rotateAtBytes: 300 });
  const names = Array.from({ length: 200 }, (_, i) => `n${i}\n\u2028"🐕`);
  for (const [i, name] of names.entries()) await (i % 2 ? store : other).create({ name, description: '\r\n' });
  const expected = names.map((name, i) => ({ id: i + 1, name, description: '\r\n' }));
  expect(listOf(store)).toEqual(expected);
  expect(listOf(other)).toEqual(expected);
  const later = new Store(place, { rotateAtBytes: 300 });
  expect(listOf(later)).toEqual(expected);
  expect(await later.create({ name: 'x' })).toBe('{"id":201,"name":"x"}');
});

test('creates that run at once, while the log rotates under their flush, are all answered', async () => {
  const place = placeOf(join(tempDir(), 'data'));
  const stores = [0, 1].map(() => new Store(place, { rotateAtBytes: 2_000 }));
  const work = Array.from({ length: 400 }, (_, i) => (stores[i % 2] as Store).create({ name: `n${i}` }));
  const ids = (await Promise.all(work)).map((json) => (JSON.parse(json ?? '') as Listed).id);
  expect(new Set(ids).size).toBe(400);
  expect(listOf(stores[0] as Store)).toHaveLength(400);
});

test('a create is answered when it is on the disk, and not before', async () => {
  let flushed = (): void => undefined;
  const slow: LogFs = {
    ...fs,
    fdatasync: ((_fd: number, done: fs.NoParamCallback) => {
      flushed = () => done(null);
    }) as LogFs['fdatasync'],
  };
  const sandbox = await startTest({ fs: slow });
  let answered = false;
  const created = sandbox.create({ name: 'dog' }).finally(() => {
    answered = true;
  });
  while ((await sandbox.list()).json.length === 0);
  await sandbox.list();
  expect(answered).toBe(false);
  flushed();
  expect((await created).status).toBe(201);
});

test('a full disk refuses creates with 507, creates nothing, and is fine again when there is room', async () => {
  let full = false;
  const filling: LogFs = {
    ...fs,
    writeSync: ((fd: number, bytes: Buffer, from: number, count: number, at: null) =>
      fs.writeSync(fd, bytes, from, full ? count - 3 : count, at)) as LogFs['writeSync'],
  };
  const { create, list } = await startTest({ fs: filling, limits: [] });
  await create({ name: 'before' });
  full = true;
  const refused = await create({ name: 'lost' });
  expect([refused.status, refused.json.code]).toEqual([507, 'storage_full']);
  full = false;
  expect((await create({ name: 'after' })).json.id).toBe(2);
  expect((await list()).json.map(({ name }: Listed) => name)).toEqual(['before', 'after']);
});

test('an id is not given again after a reset, even where the log was rotated', async () => {
  const place = placeOf(join(tempDir(), 'data'));
  const store = new Store(place, { rotateAtBytes: 300 });
  for (let i = 0; i < 20; i++) await store.create({ name: 'dog' });
  const reset = new Store(place, { rotateAtBytes: 300, reset: true });
  expect(listOf(reset)).toEqual([]);
  expect(JSON.parse((await reset.create({ name: 'cat' })) ?? '')).toEqual({ id: 21, name: 'cat' });
});

test('categories are bounded: what does not fit any more is not created', () => {
  const data = dataFormat.initial();
  const fields = JSON.stringify({ name: 'x'.repeat(1024 * 1024) });
  let created = 0;
  while (dataFormat.apply(data, `c ${fields}`) !== undefined) created += 1;
  expect(created).toBe(256);
  expect([data.items.length, data.next]).toEqual([256, 257n]);
  dataFormat.apply(data, 'reset');
  expect(dataFormat.apply(data, 'c {"name":"dog"}')).toBe('{"id":257,"name":"dog"}');
});

test('the first id is a floor: it never makes ids go back', async () => {
  const place = placeOf(join(tempDir(), 'data'));
  expect(await new Store(place, { firstId: 1000n }).create({ name: 'a' })).toBe('{"id":1000,"name":"a"}');
  expect(await new Store(place, { firstId: 5n }).create({ name: 'b' })).toBe('{"id":1001,"name":"b"}');
});

test('fifty creators in four processes create two thousand categories, each with an id of its own', async () => {
  const dataFile = join(tempDir(), 'data');
  const children = await Promise.all([0, 1, 2, 3].map(() => startChild(dataFile)));
  const created = new Map<number, string>();
  let next = 0;
  const creators = Array.from({ length: 50 }, async (_, i) => {
    const creator = new Creator(children[i % 4]?.port ?? 0);
    while (next < 2000) {
      const name = `n${next++}`;
      created.set(await creator.create(name), name);
    }
    creator.close();
  });
  await Promise.all(creators);
  const { list } = await startTest({ dataFile, keys: [CHILD_KEY] });
  const listed: Listed[] = (await list({ key: CHILD_KEY })).json;
  expect(new Map(listed.map(({ id, name }) => [id, name]))).toEqual(created);
  expect(listed).toHaveLength(2000);
  expect(new Set(listed.map(({ name }) => name)).size).toBe(2000);
  expect(listed.map(({ id }) => id)).toEqual(Array.from({ length: 2000 }, (_, i) => i + 1));
  await Promise.all(children.map((child) => child.kill()));
}, 60_000);

test('what was answered 201 is there after SIGKILL, and no id was given twice', async () => {
  const dataFile = join(tempDir(), 'data');
  const { acknowledged } = await killDuringCreates(dataFile, 8, seededRandom(1));
  const listed = listOf(new Store(placeOf(dataFile)));
  const byName = new Map(listed.map(({ name, id }) => [name, id]));
  expect(acknowledged.size).toBeGreaterThan(8);
  for (const [name, id] of acknowledged) expect(byName.get(name)).toBe(id);
  expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length);
}, 60_000);
