// Tests the single executable on a PATH without Node.js, and compares its start-up with `node bin/petstore.js`.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median, nodePath, say } from './report.ts';

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
const COMMANDS = ['--version', '--help', '--help --json'];

/** `npm run bench -- binary [ROUNDS]`: 20 rounds by default. */
export async function run([rounds = '20']: readonly string[]): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'petstore-binary-'));
  try {
    const binary = join(dir, 'bin', 'petstore');
    const node = nodePath('26');
    execFileSync(node, ['scripts/package-binary.mjs', binary], { stdio: ['ignore', 'ignore', 'inherit'] });
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
    // The executable contains the same Node.js, so only the packaging differs.
    for (const args of COMMANDS) compare(args, [node, 'bin/petstore.js'], [binary], directories, Number(rounds));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function compare(
  args: string,
  script: readonly string[],
  binary: readonly string[],
  env: NodeJS.ProcessEnv,
  rounds: number,
): void {
  const times = new Map([script, binary].map((command) => [command, [] as number[]]));
  // Interleave the runs, so that other load affects both; the first round only fills the caches.
  for (let round = 0; round <= rounds; round++) {
    for (const [command, samples] of times) {
      const began = performance.now();
      const [program = '', ...first] = command;
      if (spawnSync(program, [...first, ...args.split(' ')], { env }).status !== 0)
        throw new Error(`petstore ${args} failed`);
      if (round > 0) samples.push(performance.now() - began);
    }
  }
  const [ofScript = 0, ofBinary = 0] = [...times.values()].map(median);
  const ratio = (ofBinary / ofScript).toFixed(2);
  say(`${args}: ${ofBinary.toFixed(0)} ms, ${ratio}x of ${ofScript.toFixed(0)} ms by node bin/petstore.js`);
}
