// The benchmark of real rate limiters: runs petstore and other clients behind third-party limiters.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RateLimiter } from './limiters-list.ts';
import { installLimiters, LIMITERS, missingPackages } from './limiters-list.ts';
import { MODEL_LIMITERS, NO_LIMIT } from './limiters-models.ts';
import type { Observed } from './limiters-observer.ts';
import { startObserver } from './limiters-observer.ts';
import { printInOrder, say } from './report.ts';

const KEY = 'limiters-bench-key-0123456789';
const PATIENCE_MS = 400_000;

/** A task of a client: `creates` categories, which need at least `requests` requests. */
interface Task {
  readonly name: string;
  readonly title: string;
  readonly creates: number;
  readonly requests: number;
  /** True if every row is a separate process. */
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
  /** Number of rows that the client reported as not created. */
  readonly reported: number;
  /** The time of the same task without a limit, added to the optimum. */
  readonly extraMs?: number;
}

const rows = (count: number): string[] => Array.from({ length: count }, (_, index) => `row-${index + 1}`);

const imports = (name: string, files: number, count: number): Task => ({
  name,
  title: `petstore: ${files > 1 ? `${files} imports at once` : 'import'}, ${count} rows`,
  creates: count,
  // Every import begins with a list.
  requests: count + files,
  each: false,
  start: (at) =>
    Array.from({ length: files }, (_, part) =>
      startImport(at, rows(count).slice((part * count) / files, ((part + 1) * count) / files)),
    ),
});
const xargs = (name: string, client: string, count: number, parallel: number, command: (at: Place) => string): Task => {
  const title = `${client}: ${count} creates, ${parallel > 1 ? `\`xargs -P ${parallel}\`` : 'one after another'}`;
  const shape = { creates: count, requests: count, each: true };
  return { name, title, ...shape, start: (at) => [startXargs(at, command(at), count, parallel)] };
};
const library = (name: string): Task => ({
  name,
  title: `${name}: 120 creates, 8 at a time`,
  creates: 120,
  requests: 120,
  each: false,
  start: ({ baseUrl, packages }) => {
    const args = ['limiters-peers.mjs', name, `${baseUrl}/categories`, KEY, '120'];
    return [spawn(process.execPath, args, { cwd: packages, stdio: ['ignore', 'pipe', 'ignore'] })];
  },
});
const CURL = `curl -sf --retry 5 -H "Authorization: Bearer ${KEY}" -d "{\\"name\\":\\"{}\\"}"`;
const CREATE = 'categories create --name {} --quiet --json';
const create = ({ program }: Place): string => `${process.execPath} ${program} ${CREATE}`;
const TASKS: readonly Task[] = [
  imports('import', 1, 120),
  xargs('xargs', 'petstore', 60, 8, create),
  imports('four', 4, 120),
  library('got'),
  library('ky'),
  xargs('curl', '`curl --retry 5`', 60, 8, ({ baseUrl }) => `${CURL} ${baseUrl}/categories`),
];
/** Tasks of single limiters. */
const OTHER_TASKS: readonly Task[] = [
  ...[30, 60, 120, 240].map((count) => imports(`import-${count}`, 1, count)),
  xargs('xargs-30', 'petstore', 30, 8, create),
  xargs('commands', 'petstore', 3, 1, create),
];

/**
 * `npm run bench -- limiters [LIMITER | TASK]… [--parallel N] [--program DIRECTORY]`: everything by default.
 * @throws Error if our own client misses a bound
 */
export async function run(args: string[]): Promise<void> {
  const parallel = Number(take(args, '--parallel') ?? 1);
  const source = take(args, '--program') ?? process.cwd();
  const all = [...MODEL_LIMITERS, ...LIMITERS];
  const limiters = all.filter(({ name }) => args.includes(name));
  const named = [...TASKS, ...OTHER_TASKS].filter(({ name }) => args.includes(name));
  const missing = missingPackages();
  if (missing.length > 0) say(`Not measured, no Debian package installed: ${missing.join(', ')}\n`);
  const jobs = (limiters.length > 0 ? limiters : all)
    .filter(({ name }) => !missing.some((program) => name.startsWith(program)))
    .flatMap((limiter) => tasksOf(limiter, named).map((task) => ({ limiter, task })));
  const packages = jobs.some(({ limiter }) => !limiter.tasks) ? installLimiters() : '';
  const copy = mkdtempSync(join(tmpdir(), 'limiters-bench-program-'));
  for (const part of ['bin', 'dist', 'package.json']) cpSync(join(source, part), join(copy, part), { recursive: true });
  const program = join(copy, 'bin', 'petstore.js');
  say('| limiter | client | requests | 429 | 503 | in a wait | created | twice | lost | exit | makespan | × optimum |');
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
    if (task.title.startsWith('petstore')) misses.push(...missesOf(limiter, task, result));
    return lineOf(limiter, task, result);
  });
  rmSync(copy, { recursive: true, force: true });
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
  // xargs prints the exit code of each command; other clients print a document that lists the missing rows.
  if (task.each) {
    const codes = ends.flatMap(({ out }) => out.trim().split('\n').map(Number));
    return { observed, codes, reported: codes.filter((code) => code !== 0).length };
  }
  const reported = ends.reduce((sum, { out }) => sum + notCreated(out), 0);
  return { observed, codes: ends.map(({ code }) => code), reported };
}

function notCreated(document: string): number {
  if (document === '') return 0;
  const { failed, unknown, pending } = JSON.parse(document) as { failed: []; unknown?: []; pending?: number };
  return failed.length + (unknown?.length ?? 0) + (pending ?? 0);
}

function startImport(at: Place, names: readonly string[]): ChildProcess {
  const file = join(at.state, `${names[0]}.json`);
  writeFileSync(file, JSON.stringify(names.map((name) => ({ name }))));
  const args = [at.program, 'categories', 'import', file, '--yes', '--json'];
  return spawn(process.execPath, args, { env: environment(at), stdio: ['ignore', 'pipe', 'ignore'] });
}

function startXargs(at: Place, command: string, count: number, parallel: number): ChildProcess {
  const shell = ['sh', '-c', `${command} >>output 2>&1; echo $?`];
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

// If every row is a process, the duration of the last burst is part of the optimum.
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
  const seconds = `${((observed.lastCreatedAt - observed.firstAt) / 1000).toFixed(1)} s`;
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
  expect(ratio <= limiter.bound, `makespan ${ratio.toFixed(2)} of the optimum`);
  const share = refusalsOf(observed) / observed.requests;
  if (!limiter.tasks) expect(share <= 0.25, `${Math.round(share * 100)} % of the requests refused`);
  return misses;
}

function take(args: string[], option: string): string | undefined {
  const at = args.indexOf(option);
  return at < 0 ? undefined : args.splice(at, 2)[1];
}
