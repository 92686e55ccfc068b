// Tests the single executable on a PATH without Node.js.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodePath, say } from './report.ts';

const STEPS: readonly (readonly [args: string, shows: RegExp])[] = [
  ['--version', /^\d+\.\d+\.\d+\n$/],
  ['-p sandbox categories create --name dog', /dog/],
  ['-p sandbox categories import in.csv --yes --json', /"name":"cat"/],
  ['-p sandbox categories list', /Felis catus/],
  ['-p sandbox categories list --json', /"name":"dog"/],
  ['auth status', /production/],
  ['completion bash', /complete .*-F _petstore petstore/],
  ['__complete -- categories li', /^list\b/],
  ['doctor -p sandbox', /Node/],
];

/** `npm run bench -- binary` */
export async function run(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'petstore-binary-'));
  try {
    const binary = join(dir, 'bin', 'petstore');
    execFileSync(nodePath('26'), ['scripts/package-binary.mjs', binary], { stdio: ['ignore', 'ignore', 'inherit'] });
    const [files, directories] = [join(dir, 'files'), { PATH: join(dir, 'bin'), HOME: join(dir, 'home') }];
    for (const directory of [files, directories.HOME]) mkdirSync(directory, { mode: 0o700 });
    writeFileSync(join(files, 'in.csv'), 'name,description\ncat,Felis catus\n');
    for (const [args, shows] of STEPS) {
      const { status, stdout, stderr } = spawnSync('petstore', args.split(' '), {
        cwd: files,
        env: directories,
        encoding: 'utf8',
      });
      if (status !== 0 || !shows.test(stdout)) throw new Error(`petstore ${args}: exit ${status}\n${stdout}${stderr}`);
    }
    say(`${STEPS.length} commands without Node on the PATH: as expected`);
    say(`size: ${(statSync(binary).size / 2 ** 20).toFixed(0)} MiB`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
