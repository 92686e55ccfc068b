// A damaged installation: missing, truncated and replaced files of the built program.
import { cpSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { Outcome } from '../support/processes.ts';
import { ended, place, runProgram, startProgram, startSandbox } from '../support/processes.ts';
import { BIN } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

// A copy of the program to damage.
function copy(): { readonly bin: string; readonly dist: string; readonly chunks: () => string[] } {
  const root = tempDir();
  cpSync(dirname(dirname(BIN)), root, { recursive: true, verbatimSymlinks: true });
  const dist = join(root, 'dist');
  const chunks = (): string[] => readdirSync(join(dist, 'chunks')).map((file) => join(dist, 'chunks', file));
  return { bin: join(root, 'bin', 'petstore.js'), dist, chunks };
}

const run = (bin: string, args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> =>
  runProgram(bin, place(env), args);

const LIST = ['-p', 'sandbox', 'categories', 'list'];

test.each<[string, (it: ReturnType<typeof copy>) => void]>([
  ['without main.cjs', ({ dist }) => rmSync(join(dist, 'main.cjs'))],
  ['with an empty main.cjs', ({ dist }) => truncateSync(join(dist, 'main.cjs'))],
  [
    'with truncated chunks',
    ({ chunks }) => chunks().forEach((file) => void truncateSync(file, statSync(file).size >> 1)),
  ],
])(
  'petstore %s reports that it could not be loaded, with a stack trace only after --verbose',
  async (_what, damage) => {
    const it = copy();
    damage(it);
    const text = await run(it.bin, LIST);
    expect(text).toMatchObject({ code: 1, out: '' });
    expect(text.err).toMatch(/^error: petstore could not be loaded\nhint: reinstall petstore.*\n$/);
    const json = await run(it.bin, [...LIST, '--json']);
    expect(json).toMatchObject({ code: 1, out: '' });
    expect(JSON.parse(json.err)).toMatchObject({
      error: { kind: 'internal', message: 'petstore could not be loaded' },
    });
    expect((await run(it.bin, [...LIST, '--verbose'])).err).toMatch(/hint: [\s\S]*Error[\s\S]*\n {4}at /);
  },
);

test('a create prints its result even if petstore is uninstalled before the response', async () => {
  const sandbox = await startSandbox(BIN, ['--fault', 'latency=700ms', '--json']);
  const it = copy();
  const child = startProgram(it.bin, place(sandbox.env), ['-v', 'categories', 'create', '--name', 'dog']);
  await new Promise<void>((sent) => child.stderr?.on('data', (text) => /^> POST/m.test(String(text)) && sent()));
  rmSync(it.dist, { recursive: true });
  const { code, out, err } = await ended(child);
  await sandbox.stop();
  expect([code, err]).toEqual([0, expect.not.stringContaining('error')]);
  expect(out).toContain('dog');
});
