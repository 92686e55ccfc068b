// Signals: each command reports what became of its work, then ends by the signal, wherever its key comes from.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, test as anyTest, expect } from 'vitest';
import { hasPty, hasSignals } from '../support/capabilities.ts';
import { startHttpFake } from '../support/http-fake.ts';
import type { Outcome, Place } from '../support/processes.ts';
import { ended, place, until } from '../support/processes.ts';
import { BIN, KEY, savedPlace, start } from '../support/program.ts';
import { hasStateServer, RedisServer } from '../support/redis-server.ts';
import { closeTerminal, runInTerminal } from '../support/terminal.ts';

const test = anyTest.runIf(hasSignals);

// Shows the test that it runs; it never prints a key.
const KEY_COMMAND = `sh -c 'touch "$HOME/started"; exec sleep 60'`;

// The first segment of the path says what a service does: it sends nothing, responds after 400 ms, states a wait of a minute,
// or responds to the first of two creates.
type Service = 'silent' | 'late' | 'limited' | 'one' | 'key command';

const fake = await startHttpFake(async ({ method, path, body }) => {
  const service = path.split('/')[1] as Service;
  if (service === 'silent') return 'silence';
  if (service === 'limited') return { status: 429, headers: { 'retry-after': '60' } };
  if (method === 'GET') return { body: [] };
  const { name } = JSON.parse(body) as { name: string };
  if (service === 'one' && !name.startsWith('first')) return 'silence';
  if (service === 'late') await new Promise((resolve) => setTimeout(resolve, 400));
  return { status: 201, body: { id: 7, name } };
});
afterAll(fake.close);

type Source = 'the saved profile' | 'a typed profile' | 'the environment';

interface Run extends Place {
  /** Occurs in no other run. */
  readonly name: string;
  /** Selects the profile, if it is typed. */
  readonly option: string;
}

let runs = 0;

function runFrom(source: Source, service: Service): Run {
  const command = service === 'key command' ? KEY_COMMAND : undefined;
  const url = `${fake.origin}/${command ? 'silent' : service}/v1`;
  const key = command ? { PETSTORE_API_KEY_COMMAND: command } : { PETSTORE_API_KEY: KEY };
  const isSaved = source !== 'the environment';
  const at = isSaved ? savedPlace(url, {}, command) : place({ PETSTORE_BASE_URL: url, ...key });
  const name = `dog-${++runs}-`;
  writeFileSync(join(at.dir, 'rows.csv'), `name\nfirst ${name}\n${name}\n`);
  return { ...at, name, option: source === 'a typed profile' ? ' -p production' : '' };
}

// A name is sent in the body of a create, and by a login as the key.
const sent = (name: string) =>
  until(() =>
    fake.requests.some(({ headers, body }) =>
      [`"name":"${name}"`, `Bearer ${name}`].some((text) => `${body}${headers.authorization}`.includes(text)),
    ),
  );

// By default, a command is interrupted when its request was received.
type Begun = (run: Run, child: ChildProcess) => Promise<unknown>;
const received: Begun = ({ name }) => sent(name);
const written: Begun = (_run, { stderr }) => once(stderr as NodeJS.ReadableStream, 'data');

/** Runs a command whose stdin is the name, and sends it a signal. */
async function interrupted(run: Run, line: string, signal: NodeJS.Signals, begun = received): Promise<Outcome> {
  const child = start(run, `${line.replace('NAME', run.name)}${run.option}`.split(' '));
  child.stdin?.end(`${run.name}\n`);
  const end = ended(child);
  await begun(run, child);
  child.kill(signal);
  return end;
}

interface Case {
  readonly service: Service;
  readonly line: string;
  readonly begun?: Begun;
  readonly out?: RegExp;
  readonly message?: RegExp;
  /** Of a command that creates: its outcome is unknown. */
  readonly hint?: RegExp;
}

const CASES: Readonly<Record<string, Case>> = {
  'a create': {
    service: 'silent',
    line: 'categories create --name NAME',
    message: /interrupted: the outcome of creating "dog-\d+-" is unknown/,
    hint: /`petstore categories list --search dog-\d+-.*check whether the category exists/,
  },
  'an import': {
    service: 'one',
    line: 'categories import rows.csv',
    out: /^(?:Created 1, skipped 0, failed 0, unknown 1\n[\s\S]*|\{"created":\[\{"id":7,.*"unknown":\[\{"row":2,.*\n)$/,
    hint: /petstore categories import rows\.csv.* to resume/,
  },
  'a list that waits for the rate limit': {
    service: 'limited',
    line: 'categories list',
    begun: written,
  },
  'a login': { service: 'silent', line: 'auth login' },
  'a key command': {
    service: 'key command',
    line: 'categories list',
    begun: ({ dir }) => until(() => existsSync(join(dir, 'started'))),
  },
};

type Variant = readonly [Source, keyof typeof EXIT_CODES, 'text' | '--json'];
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
const VARIANTS: readonly Variant[] = [
  ['the saved profile', 'SIGINT', 'text'],
  ['the saved profile', 'SIGTERM', '--json'],
];
// What was sent may be lost, and the hint may name the profile.
const OF_CREATES: readonly Variant[] = [
  ['a typed profile', 'SIGINT', '--json'],
  ['the environment', 'SIGTERM', 'text'],
  ['the saved profile', 'SIGINT', '--json'],
  ['the saved profile', 'SIGHUP', 'text'],
];

// First, since it takes longest: the command waits for the state server.
anyTest
  .runIf(hasSignals && hasStateServer)
  .concurrent('SIGINT during an import prints its document even if the state server hangs', async () => {
    await using server = await RedisServer.start();
    const run = runFrom('the saved profile', 'one');
    run.env['PETSTORE_STATE_URL'] = server.url;
    const { signal, out, err } = await interrupted(run, 'categories import rows.csv --json', 'SIGINT', async () => {
      await sent(run.name);
      server.suspend();
    });
    server.resume();
    expect(signal).toBe('SIGINT');
    expect(JSON.parse(out)).toMatchObject({ created: [{ id: 7 }], unknown: [{ row: 2 }] });
    expect(err).toContain('"outcome":"unknown"');
  });

test.concurrent.each(
  Object.entries(CASES).flatMap(([title, { hint }]) =>
    [...VARIANTS, ...(hint ? OF_CREATES : [])].map((variant) => [title, ...variant] as const),
  ),
)(
  '%s with a key from %s reports its end after %s (%s), then ends by this signal',
  async (title, source, signal, format) => {
    const { service, line, begun, out, message, hint } = CASES[title] as Case;
    const words = format === 'text' ? line : `${line} ${format}`;
    const result = await interrupted(runFrom(source, service), words, signal, begun);
    expect(result, result.err).toMatchObject({ code: EXIT_CODES[signal], signal });
    expect(result.out).toMatch(out ?? /^$/);
    const error =
      format === 'text'
        ? { .../^error: (?<message>.*)\n(?:hint: (?<hint>.*)\n)?$/m.exec(result.err)?.groups }
        : JSON.parse(result.err.trimEnd().split('\n').at(-1) ?? '').error;
    expect(error.message).toMatch(message ?? /(?:interrupted|terminated)/);
    if (hint) expect(error.hint).toMatch(hint);
    if (hint && source === 'a typed profile') expect(error.hint).toContain('-p production');
    if (format !== 'text') expect(error).toMatchObject({ kind: 'interrupted', ...(hint && { outcome: 'unknown' }) });
  },
);

test.concurrent('SIGINT during a create prints a response that arrives in time, then ends the program', async () => {
  const run = runFrom('the saved profile', 'late');
  const result = await interrupted(run, 'categories create --name NAME --json', 'SIGINT');
  expect(result).toEqual({ code: 130, signal: 'SIGINT', out: `{"id":7,"name":"${run.name}"}\n`, err: '' });
});

test.concurrent('a second SIGINT ends a create without waiting for its response', async () => {
  let again: NodeJS.Timeout | undefined;
  const run = runFrom('the saved profile', 'silent');
  const { code, signal, err } = await interrupted(
    run,
    'categories create --name NAME',
    'SIGINT',
    async (_run, child) => {
      await sent(run.name);
      // Pending signals of one kind merge, so the second must arrive after the first was handled.
      again = setInterval(() => child.kill('SIGINT'), 50);
    },
  );
  clearInterval(again);
  // After the whole grace period, the error would state an unknown outcome.
  expect([code, signal, err]).toEqual([130, 'SIGINT', expect.not.stringContaining('unknown')]);
});

test.concurrent('a signal ends a command whose work never ends after 10 s', async () => {
  const preload = `const set = setTimeout; globalThis.setTimeout = (work, ms) => set(work, ms === 10_000 ? 50 : ms);
    process.stdout.write = () => process.stderr.write('begun'); setInterval(() => undefined, 1000);`;
  const at = place({ NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(preload)}` });
  const outcome = await interrupted({ ...at, name: '', option: '' }, '--help', 'SIGINT', written);
  expect(outcome).toEqual({ code: 130, signal: 'SIGINT', out: '', err: 'begun' });
});

test.concurrent('a file size limit does not end a create', async () => {
  const { env, dir, name } = runFrom('the saved profile', 'late');
  // A limit on this process would also apply to the files that the test writes.
  const script = `ulimit -f 0; exec "$@"`;
  const args = ['-c', script, 'bash', process.execPath, BIN, 'categories', 'create', '--name', name, '--json'];
  const run = await ended(spawn('bash', args, { env, cwd: dir }));
  expect(run).toMatchObject({ code: 0, out: `{"id":7,"name":"${name}"}\n` });
  expect(run.err).toMatch(/cannot write to .* \(file too large\)/);
});

anyTest.runIf(hasPty).concurrent('Ctrl-C ends a loop of a shell script with the create in it', async () => {
  const run = runFrom('the saved profile', 'silent');
  const script = `for n in a b c; do '${process.execPath}' '${BIN}' categories create --name ${run.name}$n; done; echo end`;
  const { signal, screen } = await runInTerminal(['bash', '-c', script], run, {
    steps: [{ after: 'Contacting', send: '\u0003' }],
  });
  expect([signal, screen]).toEqual(['SIGINT', expect.not.stringContaining('end')]);
  expect(screen).toContain('waiting for the response; press Ctrl-C again to exit');
  expect(fake.requests.filter(({ body }) => body.includes(run.name)).length).toBeLessThan(2);
});

// Not concurrent: other processes would inherit the terminal.
anyTest.runIf(hasPty).each([
  ['a create', 'silent', ['categories', 'create', '--name', 'cat'], 'Contacting'],
  ['a list that waits', 'limited', ['categories', 'list'], 'for the rate limit'],
  ['a prompt', 'silent', ['auth', 'login'], 'API key for profile'],
] as const)('%s ends by SIGHUP when its terminal is closed', async (_what, service, args, after) => {
  const run = runFrom('the saved profile', service);
  expect((await closeTerminal([process.execPath, BIN, ...args], run, after)).signal).toBe('SIGHUP');
});
