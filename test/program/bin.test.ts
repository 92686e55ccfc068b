// bin/petstore.js with an unsupported version of Node.js.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { BIN } from '../support/program.ts';

test('Node.js 20.18.0 is rejected, and the error names the required version', () => {
  const preload = "data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '20.18.0' })";
  const run = (...args: readonly string[]) => spawnSync(process.execPath, ['--import', preload, BIN, ...args]);
  const { status, stderr } = run('--version');
  expect([status, stderr.toString()]).toEqual([
    2,
    'error: petstore requires Node.js 20.18.1 or newer; this is 20.18.0\nhint: update Node.js\n',
  ]);
  expect(JSON.parse(run('--version', '--json').stderr.toString())).toMatchObject({ error: { kind: 'usage' } });
});
