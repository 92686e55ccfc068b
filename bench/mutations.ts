// Applies about fifty mutations to the policy, one at a time, and prints each one that no test of the rate limit detects.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { say } from './report.ts';

const FILES = ['policy', 'pace', 'window'].map((name) => `src/rate-limit/${name}.ts`);
const COUNT = 50;
const QUICK = ['policy', 'pace', 'reducer', 'quota-view', 'window'];
const SLOW = ['limiters', 'simulation'];

// Operators and functions with their replacements.
const CHANGES: readonly (readonly [RegExp, string])[] = [
  [/ < /g, ' <= '],
  [/ <= /g, ' < '],
  [/ > /g, ' >= '],
  [/ >= /g, ' > '],
  [/ && /g, ' || '],
  [/ \|\| /g, ' && '],
  [/ === /g, ' !== '],
  [/ !== /g, ' === '],
  [/ \+ /g, ' - '],
  [/ - /g, ' + '],
  [/ \* /g, ' / '],
  [/Math\.max\(/g, 'Math.min('],
  [/Math\.min\(/g, 'Math.max('],
  [/\btrue\b/g, 'false'],
  [/\bfalse\b/g, 'true'],
  [/\b0\b/g, '1'],
  [/\b1\b/g, '2'],
  [/!(?=\w)/g, ''],
];

interface Mutation {
  readonly file: string;
  readonly line: number;
  readonly before: string;
  readonly after: string;
  readonly source: string;
}

/** `npm run bench -- mutations [COUNT [FROM]]`; FROM skips the first mutations. */
export async function run([count = `${COUNT}`, from = '0']: string[]): Promise<void> {
  const all = FILES.flatMap(mutationsOf);
  const step = Math.max(1, all.length / Number(count));
  const chosen = Array.from({ length: Math.min(all.length, Number(count)) }, (_, at) => all[Math.floor(at * step)]);
  const directory = copyProject();
  const survivors: Mutation[] = [];
  for (const [index, mutation] of chosen.entries()) {
    if (!mutation || index < Number(from)) continue;
    process.stderr.write(`${index} ${mutation.file}:${mutation.line}\n`);
    writeFileSync(join(directory, mutation.file), mutation.source);
    if (passes(directory, QUICK) && passes(directory, SLOW)) {
      survivors.push(mutation);
      say(`survived ${mutation.file}:${mutation.line}: ${mutation.before}  ->  ${mutation.after}`);
    }
    writeFileSync(join(directory, mutation.file), readFileSync(mutation.file));
  }
  rmSync(directory, { recursive: true, force: true });
  say(`${chosen.length} of ${all.length} possible mutations: ${survivors.length} survived`);
}

function mutationsOf(file: string): readonly Mutation[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((text, index) => {
    if (/^\s*(?:\/\/|\*|\/\*|import|readonly|export (?:type|interface)|\|)/.test(text)) return [];
    return CHANGES.flatMap(([from, to]) =>
      [...text.matchAll(from)].map(({ index: at, 0: found }) => {
        const changed = text.slice(0, at) + to + text.slice(at + found.length);
        const source = lines.with(index, changed).join('\n');
        return { file, line: index + 1, before: text.trim(), after: changed.trim(), source };
      }),
    );
  });
}

// Runs the tests on a copy, so that no mutation stays in the project.
function copyProject(): string {
  const directory = mkdtempSync(join(tmpdir(), 'mutations-'));
  for (const part of ['src', 'test', 'package.json', 'tsconfig.json'])
    cpSync(part, join(directory, part), { recursive: true });
  symlinkSync(join(process.cwd(), 'node_modules'), join(directory, 'node_modules'));
  writeFileSync(
    join(directory, 'vitest.config.ts'),
    "export default { test: { include: ['test/rate-limit/*.test.ts'] } };",
  );
  return directory;
}

function passes(directory: string, tests: readonly string[]): boolean {
  const files = tests.map((name) => `test/rate-limit/${name}.test.ts`);
  const program = join(directory, 'node_modules', 'vitest', 'vitest.mjs');
  const args = [program, 'run', '--bail=1', '--maxWorkers=2', '--testTimeout=60000', ...files];
  // A mutation that causes an endless loop counts as detected.
  return spawnSync(process.execPath, args, { cwd: directory, stdio: 'ignore', timeout: 120_000 }).status === 0;
}
