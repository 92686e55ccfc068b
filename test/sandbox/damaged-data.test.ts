// Damaged sandbox data causes an error that names the file, or valid responses, but no crash.
import * as fs from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withChecksum } from '../../src/append-log/log.ts';
import { PetstoreError } from '../../src/errors.ts';
import { Limiter, PLANS } from '../../src/sandbox/limiter.ts';
import { Store } from '../../src/sandbox/store.ts';
import { mutated } from '../support/mutations.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess } from '../support/world.ts';
import { dataFileWith } from './support.ts';

test.each([
  ['data', `~\n0 ${withChecksum('x')} .\n`],
  ['data.windows', `~\n0 ${withChecksum('x')} .\n`],
  ['data', 'a diary\n'],
  ['data.windows', 'a diary\n'],
])('an unknown record in %s causes exit code 9, even with --reset: %j', async (name, content) => {
  const dir = tempDir();
  const file = join(dir, `${name}.1.log`);
  fs.writeFileSync(file, content);
  for (const option of [[], ['--reset']]) {
    const { code, out, err } = await inProcess(['sandbox', '--port', '0', '--data', join(dir, 'data'), ...option]);
    expect([code, out]).toEqual([9, '']);
    expect(err).toMatch(/^error: .*\nhint: .+\n$/);
    expect(err).toContain(file);
  }
  expect(fs.readFileSync(file, 'utf8')).toBe(content);
});

test('data that is damaged while a sandbox runs is an error from then on, even after a rotation', async () => {
  const file = dataFileWith('c {"name":"dog"}');
  const store = new Store(file, { rotateAtBytes: 10 });
  expect(store.list().toString()).toBe('[{"id":1,"name":"dog"}]');
  fs.appendFileSync(`${file}.1.log`, `0 x .\n0 ${withChecksum('c {"name":"cat"}')} .\n#seal .\n`);
  const damaged = expect.objectContaining({ kind: 'storage' });
  expect(() => store.list()).toThrow(damaged);
  expect(() => store.create({ name: 'bird' })).toThrow(damaged);
  expect(() => new Store(file)).toThrow(damaged);
});

const NOW = Date.parse('2026-11-21T12:00:10Z');

function useData(dir: string): void {
  const store = new Store(join(dir, 'data'), { rotateAtBytes: 2_000 });
  const limiter = new Limiter(join(dir, 'data'), PLANS.free);
  try {
    for (const name of ['dog', 'Žluťoučký 🐕']) {
      expect(JSON.parse(store.create({ name, description: 'x' }))).toMatchObject({ id: expect.any(Number), name });
      const { resetAt } = limiter.admit(`key${name.length}`, NOW);
      expect(resetAt).toBeGreaterThan(NOW);
      expect(resetAt).toBeLessThanOrEqual(NOW + 2 * 86_400_000);
    }
    const category = { id: expect.any(Number), name: expect.any(String) };
    for (const item of JSON.parse(store.list()) as unknown[]) expect(item).toMatchObject(category);
  } finally {
    store.close();
    limiter.close();
  }
}

test('a sandbox with mutated data gives valid responses or an error that names the file', () => {
  const original = tempDir();
  for (let i = 0; i < 20; i++) useData(original);
  const files = fs.readdirSync(original).map((name) => [name, fs.readFileSync(join(original, name))] as const);
  // The damaged file and its new content.
  const damage = fc
    .nat(files.length - 1)
    .chain((at) => mutated([String(files[at]?.[1])]).map((bytes) => ({ at, bytes })));
  let errors = 0;
  const replace = ({ at, bytes }: { at: number; bytes: Buffer }): void => {
    const dir = tempDir();
    for (const [index, [name, whole]] of files.entries())
      fs.writeFileSync(join(dir, name), index === at ? bytes : whole);
    try {
      useData(dir);
    } catch (error) {
      if (!(error instanceof PetstoreError)) throw error;
      expect([error.kind, error.message]).toEqual(['storage', expect.stringContaining(dir)]);
      errors += 1;
    }
  };
  fc.assert(fc.property(damage, replace), { numRuns: 300 });
  expect(errors).toBeGreaterThan(30);
  expect(errors).toBeLessThan(270);
});
