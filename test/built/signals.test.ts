// Signals: each command reports the outcome of its work, and is then terminated by the signal, whatever the source of its key.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, test as anyTest, expect } from 'vitest';
import { hasPty, hasSignals } from '../support/capabilities.ts';
import type { FakeResponse, ReceivedRequest } from '../support/http-fake.ts';
import { startHttpFake } from '../support/http-fake.ts';
import type { Outcome, Place } from '../support/processes.ts';
import { ended, place, until } from '../support/processes.ts';
import { BIN, inScript, KEY, savedPlace, start } from '../support/program.ts';
import { closeTerminal, runInTerminal } from '../support/terminal.ts';

const test = anyTest.runIf(hasSignals);

type Respond = (request: ReceivedRequest) => FakeResponse | Promise<FakeResponse>;
const silent: Respond = () => 'silence';
const limited: Respond = () => ({ status: 429, headers: { 'retry-after': '60' } });
/** Creates a dog after some milliseconds, and responds to no other create. */
const dogsAfter =
  (ms: number): Respond =>
  async ({ method, body }) => {
    if (method === 'GET') return { body: [] };
    await sleep(ms);
    return body.includes('dog') ? { status: 201, body: { id: 7, name: 'dog' } } : 'silence';
  };

// The first segment of the path is the number of the run.
const responders: Respond[] = [];
const fake = await startHttpFake((request) => responders[Number(request.path.split('/')[1])]?.(request) ?? 'reset');
afterAll(fake.close);

type Source = 'the saved profile' | 'a typed profile' | 'the environment';

interface Run extends Place {
  /** The option `-p` with a leading space if the profile is typed, otherwise empty. */
  readonly option: string;
  /** The number of requests so far. */
  readonly sent: () => number;
}

function runFrom(source: Source, respond: Respond): Run {
  const path = `/${responders.push(respond) - 1}/v1`;
  const url = `${fake.origin}${path}`;
  const isSaved = source !== 'the environment';
  const at = isSaved ? savedPlace(url) : place({ PETSTORE_BASE_URL: url, PETSTORE_API_KEY: KEY });
  writeFileSync(join(at.dir, 'rows.csv'), 'name\ndog\ncat\n');
  const sent = (): number => fake.requests.filter((request) => request.path.startsWith(path)).length;
  return { ...at, option: source === 'a typed profile' ? ' -p production' : '', sent };
}

// By default, a command is interrupted when its first request has been received.
type Begun = (run: Run, child: ChildProcess) => Promise<unknown>;
const received =
  (requests = 1): Begun =>
  ({ sent }) =>
    until(() => sent() === requests);
const written: Begun = (_run, { stderr }) => once(stderr as NodeJS.ReadableStream, 'data');

/** Runs a command whose stdin is a key, and sends it a signal. */
async function interrupted(run: Run, line: string, signal: NodeJS.Signals, begun = received()): Promise<Outcome> {
  const child = start(run, `${line}${run.option}`.split(' '));
  child.stdin?.end(KEY);
  const end = ended(child);
  await begun(run, child);
  child.kill(signal);
  return end;
}

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/** The last error on stderr, from JSON or text. */
function errorIn({ err }: Outcome): object {
  const last = err.trimEnd().split('\n').at(-1) ?? '';
  if (last.startsWith('{')) return JSON.parse(last).error;
  return { .../^error: (?<message>.*)\n(?:hint: (?<hint>.*)\n)?$/m.exec(err)?.groups };
}

test.concurrent.each([
  ['a list that waits for the rate limit', 'categories list', limited, written, 'SIGINT', { message: 'interrupted' }],
  ['a login', 'auth login --json', silent, received(), 'SIGTERM', { kind: 'interrupted', message: 'terminated' }],
] as const)('after a signal, %s prints an error and is then terminated by the signal', async (...row) => {
  const [, line, respond, begun, signal, error] = row;
  const end = await interrupted(runFrom('the saved profile', respond), line, signal, begun);
  expect(end).toMatchObject({ code: EXIT_CODES[signal], signal, out: '' });
  expect(errorIn(end)).toEqual(error);
});

const COUNTS = /^Created 1, skipped 0, failed 0, unknown 1\n/;
const DOCUMENT = /^\{"created":\[\{"id":7,.*"unknown":\[\{"row":2,.*\n$/;

test.concurrent.each<[Source, keyof typeof EXIT_CODES, format: string, profile: string, imported: RegExp]>([
  ['the saved profile', 'SIGINT', '', '', COUNTS],
  ['the environment', 'SIGHUP', '', '', COUNTS],
  ['a typed profile', 'SIGTERM', ' --json', ' -p production', DOCUMENT],
])(
  'with a key from %s, a create and an import that get %s report the unknown outcome and are then terminated by the signal',
  async (source, signal, format, profile, imported) => {
    const unknown = format === '' ? {} : { kind: 'interrupted', outcome: 'unknown' };
    const create = await interrupted(runFrom(source, silent), `categories create --name dog${format}`, signal);
    expect(create, create.err).toMatchObject({ code: EXIT_CODES[signal], signal, out: '' });
    const ended = signal === 'SIGINT' ? 'interrupted' : 'terminated';
    const message = `${ended}: the outcome of creating "dog" is unknown`;
    const toCheck = `run \`petstore categories list --search dog${profile}\` to check whether the category exists`;
    expect(errorIn(create)).toMatchObject({ message, hint: expect.stringContaining(toCheck), ...unknown });
    const run = runFrom(source, dogsAfter(0));
    const rows = await interrupted(run, `categories import rows.csv${format}`, signal, received(3));
    expect(rows, rows.err).toMatchObject({ code: EXIT_CODES[signal], signal, out: expect.stringMatching(imported) });
    const toResume = `run \`petstore categories import rows.csv${format}${profile}\` to resume`;
    expect(errorIn(rows)).toMatchObject({ hint: expect.stringContaining(toResume), ...unknown });
  },
);

test.concurrent('a create that gets SIGINT prints its result if the response arrives in time, and is then terminated by the signal', async () => {
  const run = runFrom('the saved profile', dogsAfter(400));
  const result = await interrupted(run, 'categories create --name dog --json', 'SIGINT');
  expect(result).toEqual({ code: 130, signal: 'SIGINT', out: '{"id":7,"name":"dog"}\n', err: '' });
});

test.concurrent('a second SIGINT immediately terminates a create that waits for its response', async () => {
  let again: NodeJS.Timeout | undefined;
  const begun: Begun = async (run, child) => {
    await received()(run, child);
    // Pending signals of one kind merge, so the second must arrive after the first was handled.
    again = setInterval(() => child.kill('SIGINT'), 50);
  };
  const run = runFrom('the saved profile', silent);
  const { code, signal, err } = await interrupted(run, 'categories create --name dog', 'SIGINT', begun);
  clearInterval(again);
  // After the whole grace period, the error would state an unknown outcome.
  expect([code, signal, err]).toEqual([130, 'SIGINT', expect.not.stringContaining('unknown')]);
});

/** A run whose process runs this code before the program. */
const preloading = (code: string): Run => ({
  ...place({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }),
  ...{ option: '', sent: () => 0 },
});

test.concurrent('10 s after a signal, a command whose work never ends is terminated by the signal', async () => {
  const run = preloading(`
    const set = setTimeout; globalThis.setTimeout = (work, ms) => set(work, ms === 10_000 ? 50 : 1e6);
    process.stdout.write = () => process.stderr.write('begun'); setInterval(() => undefined, 1000);`);
  const outcome = await interrupted(run, '--help', 'SIGINT', written);
  expect(outcome).toEqual({ code: 130, signal: 'SIGINT', out: '', err: 'begun' });
});

test.concurrent.each([
  ['SIGINT', 130, 'interrupted'],
  ['SIGQUIT', 131, 'terminated'],
  ['SIGTERM', 143, 'terminated'],
  ['SIGHUP', 129, 'terminated'],
] as const)('on Windows, %s ends a list with exit code %i', async (signal, code, message) => {
  const run = runFrom('the environment', silent);
  const windows = "data:text/javascript,Object.defineProperty(process,'platform',{value:'win32'})";
  run.env['NODE_OPTIONS'] = `--import=${windows}`;
  const outcome = await interrupted(run, 'categories list', signal);
  expect(outcome).toEqual({ code, out: '', err: `error: ${message}\n` });
});

// As after `disown`: the closed terminal sends no signal.
test.concurrent('a command that can no longer write to its terminal is terminated by SIGHUP', async () => {
  const run = preloading(`
    process.stdout.isTTY = true;
    process.stdout._write = (_bytes, _encoding, done) => done(Object.assign(new Error('closed'), { code: 'EIO' }));`);
  expect(await ended(start(run, ['--help']))).toMatchObject({ code: 129, signal: 'SIGHUP', out: '' });
});

test.concurrent('with a file size limit of 0, a create succeeds and warns of a file that it cannot write', async () => {
  // A limit on this process would also apply to the files that the test writes.
  const args = ['categories', 'create', '--name', 'dog', '--json'];
  const run = await inScript(runFrom('the saved profile', dogsAfter(0)), 'ulimit -f 0; exec "$@"', args);
  expect(run).toMatchObject({ code: 0, out: '{"id":7,"name":"dog"}\n' });
  expect(run.err).toMatch(/cannot write to .* \(file too large\)/);
});

anyTest.runIf(hasPty).concurrent('Ctrl-C ends a loop in a shell script and the create in it', async () => {
  const run = runFrom('the saved profile', silent);
  const script = `for n in a b c; do '${process.execPath}' '${BIN}' categories create --name $n; done; echo end`;
  const { signal, screen } = await runInTerminal(['bash', '-c', script], run, {
    steps: [{ after: 'Contacting', send: '\u0003' }],
  });
  expect([signal, screen]).toEqual(['SIGINT', expect.not.stringContaining('end')]);
  expect(screen).toContain('waiting for the response; press Ctrl-C again to exit');
  expect(run.sent()).toBeLessThan(2);
});

// Not concurrent: other processes would inherit the terminal.
anyTest.runIf(hasPty).each([
  ['a create', silent, ['categories', 'create', '--name', 'cat'], 'Contacting'],
  ['a login at its prompt', silent, ['auth', 'login'], 'API key for profile'],
] as const)('%s is terminated by SIGHUP when its terminal is closed', async (_what, respond, args, after) => {
  const run = runFrom('the saved profile', respond);
  expect((await closeTerminal([process.execPath, BIN, ...args], run, after)).signal).toBe('SIGHUP');
});
