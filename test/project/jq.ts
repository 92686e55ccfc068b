// jq compiled to WebAssembly, for machines without jq.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

// Supports only the features that the transcripts use: options, one filter, JSON on stdin.
const SHIM = `
const { text } = require('node:stream/consumers');
const args = process.argv.slice(2);
const filter = args.find((arg) => !arg.startsWith('-'));
const options = args.filter((arg) => arg.startsWith('-'));
text(process.stdin)
  .then((json) => jq.raw(json, filter, options))
  .then((out) => process.stdout.write(out ? out + '\\n' : ''))
  .catch((error) => {
    process.stderr.write(error.message + '\\n');
    process.exitCode = 5;
  });
`;

/**
 * Creates a `jq` program unless the machine has one.
 * @param bin a directory in the PATH of later commands
 */
export function provideJq(bin: string): void {
  if (spawnSync('jq', ['--version']).status === 0) return;
  const module = createRequire(import.meta.url).resolve('jq-wasm');
  const shim = join(bin, 'jq.cjs');
  writeFileSync(shim, `const jq = require(${JSON.stringify(module)});${SHIM}`);
  writeFileSync(join(bin, 'jq'), `#!/bin/sh\nexec '${process.execPath}' '${shim}' "$@"\n`, { mode: 0o755 });
}
