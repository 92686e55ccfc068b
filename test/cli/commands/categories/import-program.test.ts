// `categories import`: concurrent, interrupted and killed imports, on several machines and at a terminal.
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { run } from '../../../../src/cli/program.ts';
import { PetstoreError } from '../../../../src/errors.ts';
import type { ImportDocument } from '../../../../src/public-types.ts';
import { hasPty, hasSignals, needs } from '../../../support/capabilities.ts';
import { ManualClock } from '../../../support/fake-clock.ts';
import { errorResponse, startHttpFake } from '../../../support/http-fake.ts';
import type { Place } from '../../../support/processes.ts';
import { ended, until } from '../../../support/processes.ts';
import { inTerminal, KEY, savedPlace, start } from '../../../support/program.ts';
import { RedisServer } from '../../../support/redis-server.ts';
import { inProcess, serving, world } from '../../../support/world.ts';

const withServer = needs('redis');
const IMPORT = ['categories', 'import', 'rows.csv', '--json'];

async function startStateServer(): Promise<RedisServer> {
  const server = await RedisServer.start();
  onTestFinished(() => server.kill());
  return server;
}

interface FleetOptions {
  readonly server?: RedisServer | undefined;
  readonly rows?: number;
  readonly onCreate?: (count: number, clock: ManualClock) => void;
}

/** A service, and imports into it: all on one machine, or each on its own machine if they share a state server. */
async function fleetOf({ server, rows = 12, onCreate }: FleetOptions = {}) {
  const clock = new ManualClock(Date.now());
  const service = { items: [] as { id: number; name: string }[], creates: 0, isLate: false, delayMs: 0 };
  const { url, close } = await startHttpFake(async ({ method, body }) => {
    clock.touch();
    if (service.delayMs > 0) await setTimeout(service.delayMs);
    if (method === 'GET') return { body: service.items };
    service.creates++;
    onCreate?.(service.creates, clock);
    const item = { id: service.creates, name: (JSON.parse(body) as { name: string }).name };
    if (!service.isLate) service.items.push(item);
    else void clock.sleep(3000).then(() => service.items.push(item));
    return service.isLate ? errorResponse(500, 'late', 'processed later') : { status: 201, body: item };
  });
  onTestFinished(close);
  const names = Array.from({ length: rows }, (_, row) => `row ${row}`).sort();
  const machine = (): Place => {
    const at = savedPlace(url, server ? { PETSTORE_STATE_URL: server.url } : {});
    writeFileSync(join(at.dir, 'rows.csv'), `name\n${names.join('\n')}\n`);
    return at;
  };
  const first = machine();
  const next = (): Place => (server ? machine() : first);
  return {
    ...{ service, clock, url, names, first },
    listed: () => service.items.map(({ name }) => name).sort(),
    /** Imports in this process and in virtual time. */
    run: () => clock.drive(inProcess(IMPORT, { ...next(), clock })),
    spawn: (args = IMPORT) => start(next(), args),
  };
}

const documentOf = ({ out }: { readonly out: string }) => JSON.parse(out) as ImportDocument;

test.runIf(hasSignals)(
  'after SIGINT, an import prints a command to resume it, and a waiting import creates the other categories',
  async () => {
    const { service, names, listed, spawn } = await fleetOf({ rows: 100 });
    service.delayMs = 240;
    const first = spawn([...IMPORT, '--concurrency', '2']);
    const interrupted = ended(first);
    await until(() => service.creates > 0);
    const second = spawn(['categories', 'import', 'rows.csv', '--concurrency', '32']);
    const resumed = ended(second);
    await once(second.stderr as Readable, 'data');
    const third = spawn();
    const [waiting] = await once(third.stderr as Readable, 'data');
    expect(JSON.parse(`${waiting}`)).toEqual({
      waiting: { reason: 'import', pid: first.pid, host: expect.stringMatching(/^\S+$/) },
    });
    const killed = ended(third);
    third.kill('SIGKILL');
    await killed;
    first.kill('SIGINT');
    const outcome = await interrupted;
    service.delayMs = 0;
    const { created, unknown, pending } = documentOf(outcome);
    expect([outcome.code, unknown, created.length + pending]).toEqual([130, [], 100]);
    const hint = 'run `petstore categories import rows.csv --json --concurrency 2` to resume';
    expect(JSON.parse(outcome.err)).toMatchObject({ error: { kind: 'interrupted', hint } });
    const rest = await resumed;
    expect([rest.code, rest.err]).toEqual([0, expect.stringContaining(`import to finish (PID ${first.pid} on `)]);
    expect(rest.err.match(/import to finish/g)).toHaveLength(1);
    expect(rest.out).toBe(`Created ${pending}, skipped ${created.length}, failed 0, unknown 0\n`);
    expect(listed()).toEqual(names);
  },
);

test.runIf(hasPty).each([
  ['the base URL of a profile', () => ({}), 'profile "production", '],
  ['a base URL from the environment', (url: string) => ({ PETSTORE_BASE_URL: url, PETSTORE_API_KEY: KEY }), ''],
])(
  'an import prompts with %s and the count, and the answer "n" creates nothing and causes exit code 130',
  async (_what, env, from) => {
    const { first, url, listed } = await fleetOf({ rows: 3 });
    Object.assign(first.env, env(url));
    const steps = [{ after: 'Create 3', send: 'n\r' }];
    const no = await inTerminal(first, ['categories', 'import', 'rows.csv'], { steps, columns: 120 });
    expect([no.code, no.cooked, listed()]).toEqual([130, true, []]);
    expect(no.screen).toContain(`Create 3 categories at ${url} (${from}estimated time: unknown)?`);
    expect(no.screen).toContain('Nothing was created');
    expect(no.screen).not.toContain('error:');
    // A prompt takes no lock, so that other imports do not wait for the answer.
    expect(existsSync(join(first.dir, 'state', 'imports'))).toBe(false);
  },
);

/** Kills an import after it has sent at least four creates. */
async function killed({ service, spawn }: Awaited<ReturnType<typeof fleetOf>>): Promise<void> {
  const child = spawn();
  const outcome = ended(child);
  await until(() => service.creates >= 4);
  child.kill('SIGKILL');
  await outcome;
}

for (const [define, next, startServer] of [
  [test, 'the next import', () => undefined],
  [withServer, 'an import on another machine', startStateServer],
] as const) {
  define(`after a wait of at least 10 s, ${next} completes an import that was killed`, async () => {
    const fleet = await fleetOf({ server: await startServer() });
    const { service, clock, names, listed, run } = fleet;
    // The killed import and the state server use the real clock.
    const since = Date.now();
    service.isLate = true;
    await killed(fleet);
    service.isLate = false;
    const completed = await run();
    expect([completed.code, listed()]).toEqual([0, names]);
    expect(Date.now() - since + clock.monotonic()).toBeGreaterThanOrEqual(10_000);
    expect(completed.err).toContain('"reason":"requests"');
  });
}

test('if the state directory was deleted, the next import completes a killed import without a wait', async () => {
  const fleet = await fleetOf();
  await killed(fleet);
  rmSync(join(fleet.first.dir, 'state'), { recursive: true });
  const { code, err } = await fleet.run();
  expect([code, fleet.listed(), err]).toEqual([0, fleet.names, expect.not.stringContaining('"requests"')]);
});

withServer.each<[string, (server: RedisServer) => Promise<unknown>]>([
  ['is killed', (server) => server.kill()],
  ['has no memory left', (server) => server.command('CONFIG', 'SET', 'maxmemory', '1')],
])('an import whose state server %s exits with code 9 and prints the created categories', async (_what, harm) => {
  const server = await startStateServer();
  let harmed: Promise<unknown> | undefined;
  const { service, run } = await fleetOf({
    server,
    onCreate(count, clock) {
      if (count === 4) harmed = harm(server);
      // An import sends nothing after 10 s without a confirmed lock.
      if (count === 7) void clock.advance(31_000);
    },
  });
  const { code, out, err } = await run();
  await harmed;
  const { created, unknown, pending } = documentOf({ out });
  expect([code, pending > 0, created.length + unknown.length]).toEqual([9, true, service.items.length]);
  expect(err).toContain('"kind":"storage"');
});

withServer('an import that is interrupted while its state server hangs prints its document within 10 s', async () => {
  // The timeouts of calls to a state server use `setInterval`.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const server = await startStateServer();
  const clock = new ManualClock(Date.now());
  const interrupt = new AbortController();
  const { env } = await serving(({ method, body }) => {
    clock.touch();
    if (method === 'GET') return { body: [] };
    if (body.includes('dog')) return { status: 201, body: { id: 7, name: 'dog' } };
    server.suspend();
    interrupt.abort(new PetstoreError('interrupted', 'interrupted', { exitCode: 130 }));
    return 'silence';
  });
  const context = world(['categories', 'import', '-', '--json', '--concurrency', '1'], {
    env: { ...env, PETSTORE_STATE_URL: server.url },
    ...{ stdin: 'name\ndog\ncat\n', signal: interrupt.signal, clock },
  });
  const ending = run(context);
  await clock.drive(once(interrupt.signal, 'abort'));
  let ms = 0;
  // After 10 s, the program would be terminated (src/main.ts).
  for (; ms < 10_000 && context.stdout.text() === ''; ms += 10) {
    await clock.advance(10);
    vi.advanceTimersByTime(10);
  }
  expect(JSON.parse(context.stdout.text())).toMatchObject({ created: [{ id: 7 }], unknown: [{ row: 2 }] });
  server.resume();
  expect(await clock.drive(ending)).toBe(130);
  expect(context.stderr.text()).toContain('"outcome":"unknown"');
});
