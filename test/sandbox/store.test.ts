// The sandbox's categories: no id is assigned twice and no acknowledged create is lost, through rotations and kill -9.
import * as fs from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { seededRandom } from '../../src/sandbox/faults.ts';
import { Store } from '../../src/sandbox/store.ts';
import type { SandboxProcess } from '../support/processes.ts';
import { startSandbox, until } from '../support/processes.ts';
import { BIN } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

interface Listed {
  readonly id: number;
  readonly name: string;
}

const startShared = (dataFile: string): Promise<SandboxProcess> =>
  startSandbox(BIN, ['--data', dataFile, '--plan', 'enterprise']);

// Rejects unless the response is 201.
async function createAt({ env }: SandboxProcess, name: string): Promise<number> {
  const response = await fetch(`${env['PETSTORE_BASE_URL']}/categories`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${env['PETSTORE_API_KEY']}`,
      'content-type': 'application/json',
      // On a busy machine the server may close an idle connection just as it is used again.
      connection: 'close',
    },
    body: JSON.stringify({ name }),
  });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`status ${response.status}: ${text}`);
  return (JSON.parse(text) as Listed).id;
}

const listOf = (store: Store): Listed[] => JSON.parse(store.list());

test.each(['b', 'b.log', 'b.1.log', 'b.12.log'])('the data file %s is stored as b.1.log', (name) => {
  const dir = tempDir();
  new Store(join(dir, name)).close();
  expect(fs.readdirSync(dir)).toEqual(['b.1.log']);
});

test('a rotation keeps every id, every character and the next id', () => {
  const paths = join(tempDir(), 'data');
  const store = new Store(paths, { rotateAtBytes: 300 });
  const other = new Store(paths, { rotateAtBytes: 300 });
  const names = Array.from({ length: 200 }, (_, i) => `n${i}\n\u2028"🐕`);
  for (const [i, name] of names.entries()) (i % 2 ? store : other).create({ name, description: '\r\n' });
  const expected = names.map((name, i) => ({ id: i + 1, name, description: '\r\n' }));
  expect(listOf(store)).toEqual(expected);
  expect(listOf(other)).toEqual(expected);
  const later = new Store(paths, { rotateAtBytes: 300 });
  expect(listOf(later)).toEqual(expected);
  expect(later.create({ name: 'x' })).toBe('{"id":201,"name":"x"}');
});

test('--reset deletes all categories and reuses no id, even after a rotation', () => {
  const paths = join(tempDir(), 'data');
  const store = new Store(paths, { rotateAtBytes: 300 });
  for (let i = 0; i < 20; i++) store.create({ name: 'dog' });
  const reset = new Store(paths, { rotateAtBytes: 300, reset: true });
  expect([listOf(reset), listOf(store)]).toEqual([[], []]);
  expect(JSON.parse(reset.create({ name: 'cat' }))).toEqual({ id: 21, name: 'cat' });
});

test('fifty clients of four sandbox processes create four hundred categories, each with its own id', async () => {
  const dataFile = join(tempDir(), 'data');
  const sandboxes = await Promise.all([0, 1, 2, 3].map(() => startShared(dataFile)));
  const created = new Map<number, string>();
  let next = 0;
  const clients = Array.from({ length: 50 }, async (_, i) => {
    const sandbox = sandboxes[i % 4] as SandboxProcess;
    while (next < 400) {
      const name = `n${next++}`;
      created.set(await createAt(sandbox, name), name);
    }
  });
  await Promise.all(clients);
  const listed = listOf(new Store(dataFile));
  expect(new Map(listed.map(({ id, name }) => [id, name]))).toEqual(created);
  expect(listed.map(({ id }) => id)).toEqual(Array.from({ length: 400 }, (_, i) => i + 1));
  await Promise.all(sandboxes.map((sandbox) => sandbox.stop()));
}, 60_000);

test('after SIGKILL every acknowledged create exists, and no id was assigned twice', async () => {
  const dataFile = join(tempDir(), 'data');
  const random = seededRandom(1);
  const acknowledged = new Map<string, number>();
  for (let round = 0; round < 4; round++) {
    const sandbox = await startShared(dataFile);
    let number = 0;
    const work = async (): Promise<void> => {
      for (;;) {
        const name = `r${round}n${number++}`;
        acknowledged.set(name, await createAt(sandbox, name));
      }
    };
    const workers = Array.from({ length: 8 }, () => work().catch(() => undefined));
    const enough = acknowledged.size + 1 + random() * 40;
    await until(() => acknowledged.size >= enough);
    await sandbox.stop();
    await Promise.all(workers);
  }
  const listed = listOf(new Store(dataFile));
  const byName = new Map(listed.map(({ name, id }) => [name, id]));
  expect(acknowledged.size).toBeGreaterThan(4);
  for (const [name, id] of acknowledged) expect(byName.get(name)).toBe(id);
  expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length);
}, 60_000);
