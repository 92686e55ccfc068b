// Runs each benchmark in its smallest size, and finds the texts that it changes, so that a change of the source breaks none
// unnoticed.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { OF_WORLDS } from './mutations.ts';
import { BIN, must, say } from './report.ts';

const SMALLEST: Readonly<Record<string, readonly string[]>> = {
  fleet: ['imports', '0'],
  import: ['throughput', '5', '1'],
  'kill-rounds': ['--rounds', '0'],
  limiters: ['free'],
  limits: ['J', 'petstore'],
  mutations: ['0'],
  simulate: ['--worlds', '1'],
  speed: ['--runs', '0', '--rows', '5'],
};
/** They download Node.js, packages or a Debian chroot. */
const DOWNLOADING = ['binary', 'majors', 'windows'];

/** `npm run bench -- smoke` */
export async function run(): Promise<void> {
  const others = readdirSync('bench')
    .filter((file) => readFileSync(`bench/${file}`, 'utf8').includes('\nexport async function run('))
    .map((file) => file.replace('.ts', ''))
    .filter((name) => !(name in SMALLEST) && name !== 'smoke');
  must(others.join() === DOWNLOADING.join(), `each of ${others} is in SMALLEST or in DOWNLOADING`);
  for (const [file, changes] of Object.entries(OF_WORLDS)) {
    const source = readFileSync(`src/${file}`, 'utf8');
    for (const [text] of changes) must(source.split(text).length === 2, `src/${file} contains once: ${text}`);
  }
  for (const [name, args] of Object.entries(SMALLEST)) {
    const env = { ...process.env, PETSTORE_BIN: BIN };
    const printed = execFileSync(process.execPath, ['bench/run.mjs', name, ...args], { env, encoding: 'utf8' });
    must(printed !== '', `${name} prints something`);
    say(`${name} runs`);
  }
}
