// The benchmark of real rate limiters: runs petstore behind third-party limiters.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RateLimiter } from './limiters-list.ts';
import { installLimiters, LIMITERS, missingPackages } from './limiters-list.ts';
import { MODEL_LIMITERS, NO_LIMIT } from './limiters-models.ts';
import type { Observed } from './limiters-observer.ts';
import { startObserver } from './limiters-observer.ts';
import { copyProgram, printInOrder, say } from './report.ts';

const KEY = 'limiters-bench-key-0123456789';
const PATIENCE_MS = 400_000;

/** A task: `creates` categories, which need at least `requests` requests. */
interface Task {
  readonly name: string;
  readonly title: string;
  readonly creates: number;
  readonly requests: number;
  /** True if every create is a separate process. */
  readonly each: boolean;
  start(at: Place): readonly ChildProcess[];
}

interface Place {
  readonly baseUrl: string;
  /** The state directory of this measurement. */
  readonly state: string;
  readonly program: string;
  readonly packages: string;
}

interface Result {
  readonly observed: Observed;
  readonly codes: readonly number[];
  /** Number of rows that petstore reported as not created. */
  readonly reported: number;
  /** The time of the same task without a limit, added to the optimum. */
  readonly extraMs?: number;
}

const rows = (count: number): string[] => Array.from({ length: count }, (_, index) => `row-${index + 1}`);

const imports = (name: string, files: number, count: number): Task => ({
  name,
  title: `${files > 1 ? `${files} imports at once` : 'import'}, ${count} rows`,
  creates: count,
  // Every import begins with a list.
  requests: count + files,
  each: false,
  start: (at) =>
    Array.from({ length: files }, (_, part) =>
      startImport(at, rows(count).slice((part * count) / files, ((part + 1) * count) / files)),
    ),
});
const commands = (name: string, count: number, parallel: number): Task => {
  const title = `${count} creates, ${parallel > 1 ? `\`xargs -P ${parallel}\`` : 'one after another'}`;
  const shape = { creates: count, requests: count, each: true };
  return { name, title, ...shape, start: (at) => [startXargs(at, count, parallel)] };
};
const TASKS: readonly Task[] = [imports('import', 1, 120), commands('xargs', 60, 8), imports('four', 4, 120)];
/** Tasks of single limiters. */
const OTHER_TASKS: readonly Task[] = [
  ...[30, 60, 120, 240].map((count) => imports(`import-${count}`, 1, count)),
  commands('xargs-30', 30, 8),
  commands('commands', 3, 1),
];

/**
 * `npm run bench -- limiters [LIMITER | TASK]… [--parallel N]`: everything by default.
 * @throws Error if petstore misses a bound
 */
export async function run(args: string[]): Promise<void> {
  const parallel = Number(take(args, '--parallel') ?? 1);
  const all = [...MODEL_LIMITERS, ...LIMITERS];
  const limiters = [NO_LIMIT, ...all].filter(({ name }) => args.includes(name));
  const named = [...TASKS, ...OTHER_TASKS].filter(({ name }) => args.includes(name));
  const missing = missingPackages();
  if (missing.length > 0) say(`Not measured, no Debian package installed: ${missing.join(', ')}\n`);
  const jobs = (limiters.length > 0 ? limiters : all)
    .filter(({ name }) => !missing.some((program) => name.startsWith(program)))
    .flatMap((limiter) => tasksOf(limiter, named).map((task) => ({ limiter, task })));
  const packages = jobs.some(({ limiter }) => !limiter.tasks) ? installLimiters() : '';
  const program = copyProgram();
  say(
    '| limiter | task | requests | 429 | 503 | in a wait | created | twice | lost | exit | seconds | time ÷ optimum |',
  );
  say('| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: |');
  const misses: string[] = [];
  const unlimited = new Map<string, number>();
  for (const { task } of jobs.filter(({ limiter }) => limiter.tasks)) {
    if (unlimited.has(task.name)) continue;
    const { observed } = await measure(NO_LIMIT, task, packages, program);
    unlimited.set(task.name, observed.lastCreatedAt - observed.firstAt);
  }
  await printInOrder(jobs, parallel, async ({ limiter, task }) => {
    const extraMs = limiter.tasks ? (unlimited.get(task.name) ?? 0) : 0;
    const result = { ...(await measure(limiter, task, packages, program)), extraMs };
    misses.push(...missesOf(limiter, task, result));
    return lineOf(limiter, task, result);
  });
  if (misses.length > 0) throw new Error(`not met:\n${misses.join('\n')}`);
}

function tasksOf({ tasks }: RateLimiter, named: readonly Task[]): readonly Task[] {
  const own = tasks ? OTHER_TASKS.filter(({ name }) => tasks.includes(name)) : TASKS;
  return named.length > 0 ? own.filter((task) => named.includes(task)) : own;
}

async function measure(limiter: RateLimiter, task: Task, packages: string, program: string): Promise<Result> {
  const running = await limiter.start(packages);
  const { baseUrl, observed, close } = await startObserver(running.port);
  const state = mkdtempSync(join(tmpdir(), 'limiters-bench-state-'));
  const ends = await Promise.all(task.start({ baseUrl, state, program, packages }).map(ended));
  close();
  running.stop();
  rmSync(state, { recursive: true, force: true });
  // xargs prints the exit code of each command; an import prints a document that lists the missing rows.
  if (task.each) {
    const codes = ends.flatMap(({ out }) => out.trim().split('\n').map(Number));
    return { observed, codes, reported: codes.filter((code) => code !== 0).length };
  }
  const reported = ends.reduce((sum, { out }) => sum + notCreated(out), 0);
  return { observed, codes: ends.map(({ code }) => code), reported };
}

function notCreated(document: string): number {
  if (document === '') return 0;
  const { failed, unknown, pending } = JSON.parse(document) as { failed: []; unknown: []; pending: number };
  return failed.length + unknown.length + pending;
}

function startImport(at: Place, names: readonly string[]): ChildProcess {
  const file = join(at.state, `${names[0]}.json`);
  writeFileSync(file, JSON.stringify(names.map((name) => ({ name }))));
  const args = [at.program, 'categories', 'import', file, '--yes', '--json'];
  return spawn(process.execPath, args, { env: environment(at), stdio: ['ignore', 'pipe', 'ignore'] });
}

function startXargs(at: Place, count: number, parallel: number): ChildProcess {
  const create = `${process.execPath} ${at.program} categories create --name {} --quiet --json`;
  const shell = ['sh', '-c', `${create} >>output 2>&1; echo $?`];
  const options = { env: environment(at), cwd: at.state };
  const child = spawn('xargs', ['-P', `${parallel}`, '-I', '{}', ...shell], {
    ...options,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(`${rows(count).join('\n')}\n`);
  return child;
}

function environment({ baseUrl, state }: Place): NodeJS.ProcessEnv {
  const directories = { HOME: state, PETSTORE_STATE_DIR: state, PETSTORE_CONFIG_DIR: state };
  return { PATH: process.env['PATH'], PETSTORE_API_KEY: KEY, PETSTORE_BASE_URL: baseUrl, ...directories };
}

function ended(child: ChildProcess): Promise<{ code: number; out: string }> {
  let out = '';
  child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  return new Promise((resolve) => {
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? -1, out });
    });
  });
}

const refusalsOf = ({ refused429, refused503 }: Observed): number => refused429 + refused503;
const twiceOf = ({ created }: Observed): number => [...created.values()].reduce((sum, times) => sum + times - 1, 0);
const lostOf = (task: Task, { observed, reported }: Result): number =>
  Math.max(0, task.creates - observed.created.size - reported);

// If every create is a process, the duration of the last burst is part of the optimum.
function ratioOf(limiter: RateLimiter, task: Task, { observed, extraMs = 0 }: Result): number | undefined {
  if (observed.created.size < task.creates) return undefined;
  const burstAt = observed.servedAt[limiter.window - 1];
  const burst = task.each && burstAt !== undefined ? burstAt - observed.firstAt : 0;
  return (observed.lastCreatedAt - observed.firstAt) / (limiter.optimumMs(task.requests) + burst + extraMs);
}

function lineOf(limiter: RateLimiter, task: Task, result: Result): string {
  const { observed, codes } = result;
  const counts = [...new Set(codes)].map((code) => `${code} × ${codes.filter((other) => other === code).length}`);
  const exit = counts.length === 1 ? `${codes[0]}` : counts.join(', ');
  const { requests, refused429, refused503, insideWait, created } = observed;
  const made = `${created.size} of ${task.creates}`;
  const seconds = ((observed.lastCreatedAt - observed.firstAt) / 1000).toFixed(1);
  const numbers = [requests, refused429, refused503, insideWait, made, twiceOf(observed), lostOf(task, result)];
  const cells = [
    limiter.title,
    task.title,
    ...numbers,
    exit,
    seconds,
    ratioOf(limiter, task, result)?.toFixed(2) ?? '–',
  ];
  return `| ${cells.join(' | ')} |`;
}

function missesOf(limiter: RateLimiter, task: Task, result: Result): string[] {
  const { observed, codes } = result;
  const misses: string[] = [];
  const expect = (kept: boolean, text: string): void => {
    if (!kept) misses.push(`${limiter.name} ${task.name}: ${text}`);
  };
  const allowed = task.each && limiter.status503 ? [0, 8] : [0];
  expect(
    codes.every((code) => allowed.includes(code)),
    `exit ${[...new Set(codes)].join(', ')}`,
  );
  expect(twiceOf(observed) === 0, `${twiceOf(observed)} rows twice`);
  expect(lostOf(task, result) === 0, `${lostOf(task, result)} rows lost`);
  expect(observed.insideWait === 0, `${observed.insideWait} requests inside a stated wait`);
  const ratio = ratioOf(limiter, task, result) ?? 0;
  expect(ratio <= limiter.bound, `${ratio.toFixed(2)} times the optimum`);
  const share = refusalsOf(observed) / observed.requests;
  if (!limiter.tasks) expect(share <= 0.25, `${Math.round(share * 100)}% of the requests rejected`);
  return misses;
}

function take(args: string[], option: string): string | undefined {
  const at = args.indexOf(option);
  return at < 0 ? undefined : args.splice(at, 2)[1];
}
