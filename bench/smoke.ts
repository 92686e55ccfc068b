// Runs each benchmark in its smallest size, so that a change of the source breaks none unnoticed.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { BIN, must, say } from './report.ts';

const SMALLEST: Readonly<Record<string, readonly string[]>> = {
  fleet: ['no row'],
  import: ['throughput', '5', '1'],
  'kill-rounds': ['--rounds', '0'],
  limits: ['J', 'petstore'],
  simulate: ['--worlds', '1'],
  speed: ['--runs', '0', '--rows', '5'],
};
/** They download Node.js or packages. */
const DOWNLOADING = ['binary', 'majors'];

/** `npm run bench -- smoke` */
export async function run(): Promise<void> {
  const others = readdirSync('bench')
    .filter((file) => readFileSync(`bench/${file}`, 'utf8').includes('\nexport async function run('))
    .map((file) => file.replace('.ts', ''))
    .filter((name) => !(name in SMALLEST) && name !== 'smoke');
  must(others.join() === DOWNLOADING.join(), `each of ${others} is in SMALLEST or in DOWNLOADING`);
  for (const [name, args] of Object.entries(SMALLEST)) {
    const env = { ...process.env, PETSTORE_BIN: BIN };
    const printed = execFileSync(process.execPath, ['bench/run.mjs', name, ...args], { env, encoding: 'utf8' });
    must(printed !== '', `${name} prints something`);
    say(`${name} runs`);
  }
}
