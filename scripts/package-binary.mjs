// Packs the built program and Node.js into one executable, for machines without Node.js: `npm run package:binary [-- FILE]`.
// Node.js 25.5 and newer can build it (https://nodejs.org/api/single-executable-applications.html).
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';

if (!execFileSync(process.execPath, ['--help']).includes('--build-sea')) {
  process.stderr.write(
    `error: packaging an executable needs Node.js 25.5 or newer; this is ${process.versions.node}\n`,
  );
  process.exit(1);
}
execFileSync(process.execPath, ['build.mjs'], { stdio: 'inherit' });

const [output = join('build', process.platform === 'win32' ? 'petstore.exe' : 'petstore')] = process.argv.slice(2);
const work = join('node_modules', '.cache', 'binary');
const main = join(work, 'petstore.cjs');

// An executable contains one script, so the chunks are bundled into it; their code still runs only when it is needed.
const bundle = await rolldown({ input: join('dist', 'main.cjs'), platform: 'node' });
await bundle.write({ file: main, format: 'cjs', codeSplitting: false, minify: true, comments: false });

mkdirSync(dirname(output), { recursive: true });
const config = join(work, 'config.json');
writeFileSync(config, JSON.stringify({ main, output, useCodeCache: true, disableExperimentalSEAWarning: true }));
execFileSync(process.execPath, ['--build-sea', config], { stdio: ['ignore', 'ignore', 'inherit'] });
// macOS does not run an executable without a valid signature.
if (process.platform === 'darwin') execFileSync('codesign', ['--force', '--sign', '-', output]);
process.stdout.write(`${output}\n`);
