// Applies mutations one at a time, and prints those that survive: about fifty of the policy, against the tests of the rate
// limit, or with `worlds` others of the whole program, against the simulated worlds of `npm test`.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { Mutation as WorldMutation } from '../test/simulation/simulator.ts';
import { Simulator } from '../test/simulation/simulator.ts';
import { say } from './report.ts';

const FILES = ['policy', 'concurrency', 'window'].map((name) => `src/rate-limit/${name}.ts`);
const COUNT = 50;
const QUICK = ['policy', 'ledger-log', 'quota'];
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

const LAST_WORLD = 150;
const PORTION = 25;
/** Far longer than so many worlds take, so that a mutation that causes an endless loop is detected. */
const LONGEST_MS = 120_000;

/** For each file, texts that occur in it once, with their replacements. */
export const OF_WORLDS: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>> = {
  'http/retry.ts': [
    ['(!request.safe && result.requestSent) || FINAL.has(result.reason)', 'FINAL.has(result.reason)'],
    ['500: { retry: true, ambiguous: true }', '500: { retry: true }'],
    ['if (made >= allowed) return undefined;', ''],
    ['Math.ceil(Math.max(backoff, retryAfterMs +', 'Math.ceil(Math.min(backoff, retryAfterMs +'],
  ],
  'http/http-client.ts': [
    ["failure?.requestSent ? 'lost' : 'unsent'", "'unsent'"],
    ['if (refused && this.#successes > successes) made--;', 'if (refused) made--;'],
  ],
  'import/run.ts': [
    ["if (means === 'rejected' || means === 'unsent') return true;", "if (means !== 'slow') return true;"],
    ['slow: Math.max(LOST_MS, timeoutMs)', 'slow: LOST_MS'],
    ['<= maxRetries;', '<= maxRetries + 1;'],
    [
      "    await pause(lock.drainMs, 'requests');\n    const { unexplained, isComplete }",
      '    const { unexplained, isComplete }',
    ],
    ["    await pause(lock.drainMs, 'requests');\n    const listed", '    const listed'],
  ],
  'import/list.ts': [['const isComplete = !fromCache && lacking.length === 0;', 'const isComplete = !fromCache;']],
  'import/lock.ts': [
    [
      "if (liveness === 'dead' || (liveness === 'unknown' && now - since >= SILENCE_MS)) {",
      "if (liveness !== 'alive') {",
    ],
    ['if (state?.holder?.run === this.#run) return;', 'return;'],
  ],
  'rate-limit/ledger-log.ts': [['if (this.#pending.size === 0) return state;', 'return state;']],
  'rate-limit/policy.ts': [
    ['if (left > open.length)', 'if (left >= 1)'],
    ['const left = window.remaining - unanswered;', 'const left = window.remaining;'],
    ['const ms = Math.min(Math.max(stated, backoff), RULES.longestWaitMs);', 'const ms = backoff;'],
    ['if (state.block && !(ticket && ticket.seq > state.block.seq)) return;', ''],
  ],
  'rate-limit/window.ts': [['return resetAt + RULES.guardMs;', 'return resetAt + RULES.guardMs + 120_000;']],
  'api/categories.ts': [['fromCache: Number(age) !== 0', 'fromCache: false']],
};

interface Mutation {
  readonly file: string;
  readonly line: number;
  readonly before: string;
  readonly after: string;
  readonly source: string;
}

/** `npm run bench -- mutations [COUNT [FROM]]`, where FROM skips the first mutations, or `mutations worlds`. */
export async function run([count = `${COUNT}`, from = '0']: string[]): Promise<void> {
  if (count === 'worlds') return mutateWorlds();
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

async function mutateWorlds(): Promise<void> {
  const mutations = Object.entries(OF_WORLDS).flatMap(([file, changes]) =>
    changes.map(([from, to]): WorldMutation => ({ file: `src/${file}`, from, to })),
  );
  let survived = 0;
  for (const mutation of mutations) {
    const simulator = await Simulator.build(mkdtempSync(join(tmpdir(), 'mutations-')), mutation);
    const what = await firstViolation(simulator).catch(() => 'a world crashes, or does not end');
    if (what === undefined) survived++;
    say(`${what ?? 'SURVIVED'}\n  ${mutation.file}: ${mutation.from} -> ${mutation.to || '(nothing)'}`);
  }
  say(`${mutations.length} mutations: ${survived} survived`);
}

async function firstViolation(simulator: Simulator): Promise<string | undefined> {
  for (let from = 1; from <= LAST_WORLD; from += PORTION) {
    const [first] = (await simulator.worlds(from, from + PORTION - 1, LONGEST_MS)).found;
    if (first) return `seed ${first.seed}: ${first.what}`;
  }
  return undefined;
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
