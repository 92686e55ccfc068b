// Damaged sandbox data causes an error that names the file, or valid responses, but no crash.
import * as fs from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withChecksum } from '../../src/append-log/log.ts';
import { PetstoreError } from '../../src/errors.ts';
import { Limiter } from '../../src/sandbox/limiter.ts';
import { PLANS } from '../../src/sandbox/plans.ts';
import { Store } from '../../src/sandbox/store.ts';
import { mutated } from '../support/mutations.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess } from '../support/world.ts';
import { dataFileWith } from './support.ts';

const CATEGORY = '{"name":"dog"}';

test.each([
  'c {"name":7}',
  'c {"name":"dog"',
  'c {"id":7,"name":"dog"}',
  'c {"name":"dog","description":null}',
  'c {"name":"dog","color":"brown"}',
  'n twelve',
  'x',
])(
  'the damaged data record `%s` causes exit code 9 and an error that names the file, even with --reset',
  async (record) => {
    const file = dataFileWith(`c ${CATEGORY}`, record);
    const before = fs.readFileSync(`${file}.1.log`);
    for (const option of [[], ['--reset']]) {
      const { code, out, err } = await inProcess(['sandbox', '--port', '0', '--data', file, ...option]);
      expect([code, out]).toEqual([9, '']);
      expect(err).toMatch(/^error: .*[\\/]data\.1\.log is damaged\nhint: .+\n$/);
    }
    expect(fs.readFileSync(`${file}.1.log`)).toEqual(before);
  },
);

test.each(['s key {}', 's key {"windows":{"60000":null}}', 'r key soon 60/60000', 'r key 1 60', 'r'])(
  'the damaged window record `%s` causes exit code 9 for a command with the profile "sandbox"',
  async (record) => {
    const dir = tempDir();
    expect((await inProcess(['categories', 'list', '-p', 'sandbox'], { dir })).code).toBe(0);
    const directory = join(dir, 'state', 'sandbox');
    const file = join(directory, fs.readdirSync(directory).find((name) => name.includes('windows')) ?? '');
    fs.appendFileSync(file, `0 ${withChecksum(record)} .\n`);
    const { code, err } = await inProcess(['categories', 'list', '-p', 'sandbox'], { dir });
    expect([code, err]).toEqual([9, expect.stringContaining(`error: ${file} is damaged\n`)]);
  },
);

test('data that is damaged while a sandbox runs is an error from then on, even after a rotation', async () => {
  const file = dataFileWith(`c ${CATEGORY}`);
  const store = new Store(file, { rotateAtBytes: 10 });
  expect(store.list().toString()).toBe('[{"id":1,"name":"dog"}]');
  fs.appendFileSync(`${file}.1.log`, `0 x .\n0 ${withChecksum('c {"name":"cat"}')} .\n#seal .\n`);
  const damaged = expect.objectContaining({ kind: 'storage' });
  expect(() => store.list()).toThrow(damaged);
  expect(() => store.create({ name: 'bird' })).toThrow(damaged);
  expect(() => new Store(file)).toThrow(damaged);
});

const NOW = Date.parse('2026-11-21T12:00:10Z');

async function useData(dir: string): Promise<void> {
  const paths = join(dir, 'data');
  const store = new Store(paths, { rotateAtBytes: 2_000 });
  const limiter = new Limiter(paths, PLANS.free);
  try {
    for (const name of ['dog', 'Žluťoučký 🐕']) {
      const created = JSON.parse(store.create({ name, description: 'x' }));
      expect(created).toMatchObject({ id: expect.any(Number), name });
      const { status } = limiter.admit(`key${name.length}`, NOW);
      expect(status.resetAt).toBeGreaterThan(NOW);
      expect(status.resetAt).toBeLessThanOrEqual(NOW + 2 * 86_400_000);
    }
    const listed = JSON.parse(store.list().toString()) as unknown[];
    for (const item of listed) expect(item).toMatchObject({ id: expect.any(Number), name: expect.any(String) });
  } finally {
    store.close();
    limiter.close();
  }
}

test('a sandbox with mutated data gives valid responses or an error that names the file (1,000 mutations)', async () => {
  const original = tempDir();
  for (let i = 0; i < 20; i++) await useData(original);
  const files = fs.readdirSync(original).map((name) => [name, fs.readFileSync(join(original, name))] as const);
  const seeds = files.map(([, bytes]) => bytes.toString());
  // The damaged file and its new content.
  const damage = fc.nat(files.length - 1).chain((at) => mutated([seeds[at] ?? '']).map((bytes) => ({ at, bytes })));
  const dir = tempDir();
  let errors = 0;
  const replace = async ({ at, bytes }: { at: number; bytes: Buffer }): Promise<void> => {
    for (const name of fs.readdirSync(dir)) fs.unlinkSync(join(dir, name));
    for (const [index, [name, whole]] of files.entries())
      fs.writeFileSync(join(dir, name), index === at ? bytes : whole);
    try {
      await useData(dir);
    } catch (error) {
      if (!(error instanceof PetstoreError)) throw error;
      expect([error.kind, error.message]).toEqual(['storage', expect.stringContaining(dir)]);
      errors += 1;
    }
  };
  await fc.assert(fc.asyncProperty(damage, replace), { numRuns: 1000 });
  expect(errors).toBeGreaterThan(100);
  expect(errors).toBeLessThan(900);
}, 60_000);
