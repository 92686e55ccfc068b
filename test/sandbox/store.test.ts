// The sandbox's categories: no id is assigned twice and no acknowledged create is lost, through rotations and `kill -9`.
import { once } from 'node:events';
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { seededRandom } from '../../src/sandbox/faults.ts';
import { Store } from '../../src/sandbox/store.ts';
import { withChecksum } from '../../src/shared-log/framing.ts';
import { place, until } from '../support/processes.ts';
import { start } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess } from '../support/world.ts';
import { dataFileWith, send } from './support.ts';

/** Starts a sandbox in its own process. */
async function startShared(dataFile: string) {
  const child = start(place(), ['sandbox', '--json', '--port', '0', '--data', dataFile, '--plan', 'enterprise']);
  const [line] = await once(child.stdout as Readable, 'data');
  const { url, key } = JSON.parse(String(line)) as { url: string; key: string };
  // On a busy machine, the server may close an idle connection just as it is used again.
  const headers = { 'content-type': 'application/json', connection: 'close' };
  const create = async (name: string): Promise<number> => {
    const body = JSON.stringify({ name });
    const { status, json } = await send(Number(new URL(url).port), 'POST', '/v1/categories', { key, headers, body });
    expect(status).toBe(201);
    return json.id;
  };
  const stop = (): Promise<unknown> => {
    child.kill('SIGKILL');
    return once(child, 'exit');
  };
  return { create, stop };
}

const listOf = (store: Store): { id: number; name: string }[] => JSON.parse(store.list());

test.each([...['b', 'b.log', 'b.1.log', 'b.12.log'].map((name) => [name, 'b.1.log']), ['.log', 'sandbox.1.log']])(
  'a sandbox with the data path "%s" saves its data in "%s", and fails if the directory does not exist',
  (name, file) => {
    const dir = tempDir();
    new Store(join(dir, name)).close();
    expect(readdirSync(dir)).toEqual([file]);
    expect(() => new Store(join(dir, 'missing', name))).toThrow('ENOENT');
  },
);

test('a rotation keeps all categories, the windows and the next id, and a reset keeps only the next id', () => {
  const paths = join(tempDir(), 'data');
  const store = new Store(paths, { rotateAtBytes: 300 });
  const other = new Store(paths, { rotateAtBytes: 300 });
  const limits = [{ count: 9, windowMs: 60_000 }];
  expect(store.admit('key', 0, limits).remaining).toBe(8);
  const names = Array.from({ length: 200 }, (_, i) => `n${i}\n\u2028"🐕`);
  for (const [i, name] of names.entries()) (i % 2 ? store : other).create({ name, description: '\r\n' });
  const expected = names.map((name, i) => ({ id: i + 1, name, description: '\r\n' }));
  const later = new Store(paths, { rotateAtBytes: 300 });
  for (const one of [store, other, later]) expect(listOf(one)).toEqual(expected);
  expect(later.admit('key', 0, limits).remaining).toBe(7);
  expect(later.admit('key', 0, [{ count: 1, windowMs: 60_000 }]).remaining).toBe(0);
  const reset = new Store(paths, { rotateAtBytes: 300, reset: true });
  expect([listOf(reset), listOf(store)]).toEqual([[], []]);
  expect(store.admit('key', 0, limits).remaining).toBe(8);
  expect(reset.create({ name: 'x' })).toBe('{"id":201,"name":"x"}');
});

const unknown = ['later', '{"later":{}}', '{"create":null}', '{"request":7}', 'null'];
test.each(['~\n0 x .\n', ...unknown.map((record) => `~\n0 ${withChecksum(record)} .\n`), 'a diary\n'])(
  'a sandbox with the damaged data %j exits with code 9, even with `--reset`',
  async (content) => {
    const dir = tempDir();
    const file = join(dir, 'data.1.log');
    writeFileSync(file, content);
    for (const option of [[], ['--reset']]) {
      const { code, out, err } = await inProcess(['sandbox', '--port', '0', '--data', join(dir, 'data'), ...option]);
      expect([code, out]).toEqual([9, '']);
      expect(err).toMatch(/^error: .*\nhint: .+\n$/);
      expect(err).toContain(file);
    }
    expect(readFileSync(file, 'utf8')).toBe(content);
  },
);

test('data that is damaged while a sandbox runs causes a storage error from then on, even after a rotation', () => {
  const file = dataFileWith({ create: { name: 'dog' } });
  const store = new Store(file, { rotateAtBytes: 10 });
  expect(listOf(store)).toEqual([{ id: 1, name: 'dog' }]);
  appendFileSync(`${file}.1.log`, `0 x .\n0 ${withChecksum('{"create":{"name":"cat"}}')} .\n#seal .\n`);
  const damaged = expect.objectContaining({ kind: 'storage' });
  expect(() => store.list()).toThrow(damaged);
  expect(() => store.create({ name: 'bird' })).toThrow(damaged);
  expect(() => new Store(file)).toThrow(damaged);
});

test('if two pairs of sandbox processes with one data file are killed in turn, no acknowledged create is lost and no id is assigned twice', async () => {
  const dataFile = join(tempDir(), 'data');
  const random = seededRandom(1);
  const acknowledged = new Map<string, number>();
  for (let round = 0; round < 2; round++) {
    const sandboxes = await Promise.all([startShared(dataFile), startShared(dataFile)]);
    const work = async (client: number): Promise<void> => {
      for (let number = 0; ; number++) {
        const name = `round ${round}, client ${client}, number ${number}`;
        acknowledged.set(name, await sandboxes[client % 2 === 0 ? 0 : 1].create(name));
      }
    };
    const clients = Array.from({ length: 20 }, (_, client) => work(client).catch(() => undefined));
    const enough = acknowledged.size + 20 + random() * 80;
    await until(() => acknowledged.size >= enough);
    await Promise.all(sandboxes.map((sandbox) => sandbox.stop()));
    await Promise.all(clients);
  }
  const listed = listOf(new Store(dataFile));
  const byName = new Map(listed.map(({ name, id }) => [name, id]));
  expect(acknowledged.size).toBeGreaterThan(40);
  for (const [name, id] of acknowledged) expect(byName.get(name)).toBe(id);
  expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length);
}, 60_000);
