// bin/petstore.js with an unsupported version of Node.js.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { BIN } from '../support/program.ts';

test.each([
  [[], /^error: petstore requires Node\.js 20\.18\.1 or newer; this is 20\.18\.0\nhint: update Node\.js\n$/],
  [['--json'], /^\{"error":\{"kind":"usage",.*\}\}\n$/],
])('Node.js 20.18.0 is rejected with the required version (%j)', (format, err) => {
  const preload = "data:text/javascript,Object.defineProperty(process.versions, 'node', { value: '20.18.0' })";
  const run = spawnSync(process.execPath, ['--import', preload, BIN, '--version', ...format], { encoding: 'utf8' });
  expect(run).toMatchObject({ status: 2, stderr: expect.stringMatching(err) });
});
