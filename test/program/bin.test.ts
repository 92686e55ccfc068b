// bin/petstore.js with an unsupported version of Node.js.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BIN } from '../support/program.ts';
import { tempDir } from '../support/temp-dir.ts';

// Runs petstore with a faked version of Node.js.
function runOn(version: string, ...args: readonly string[]) {
  const preload = join(tempDir(), 'version.cjs');
  writeFileSync(preload, `Object.defineProperty(process.versions, 'node', { value: '${version}' });`);
  const { status, stderr } = spawnSync(process.execPath, ['--require', preload, BIN, ...args]);
  return { status, err: stderr.toString() };
}

test.each(['18.20.8', '20.17.0', '20.18.0'])(
  'Node.js %s is rejected, and the error names the required version',
  (version) => {
    expect(runOn(version, '--version')).toEqual({
      status: 2,
      err: `error: petstore requires Node.js 20.18.1 or newer; this is ${version}\nhint: update Node.js\n`,
    });
    expect(JSON.parse(runOn(version, '--version', '--json').err)).toMatchObject({ error: { kind: 'usage' } });
  },
);
