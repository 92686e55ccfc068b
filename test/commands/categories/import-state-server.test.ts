// Imports from several machines with a state server: killed, concurrent, and with a server that fails in mid-import.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { HttpScript } from '../../import/http-service.ts';
import { HttpService } from '../../import/http-service.ts';
import { IdleClock } from '../../support/fake-clock.ts';
import type { Outcome, Place } from '../../support/processes.ts';
import { ended, place } from '../../support/processes.ts';
import { start } from '../../support/program.ts';
import { hasStateServer, RedisServer } from '../../support/redis-server.ts';
import { inProcess } from '../../support/world.ts';

const withServer = test.runIf(hasStateServer);
const IMPORT = ['categories', 'import', 'rows.csv', '--json'];
const NAMES = Array.from({ length: 12 }, (_, at) => `row ${at}`);
const ONCE = Object.fromEntries(NAMES.map((name) => [name, 1]));

/** Machines that share a state server and a service; each has its own directories. */
async function fleetOf(script: HttpScript = {}) {
  const server = await RedisServer.start();
  onTestFinished(() => server.kill());
  const clock = new IdleClock();
  const service = new HttpService(clock, script);
  onTestFinished(await service.start());
  const machine = (): Place => {
    const url = { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: 'sk_test_Abcdef0123456789' };
    const at = place({ ...url, PETSTORE_STATE_URL: server.url });
    writeFileSync(join(at.dir, 'rows.csv'), `name\n${NAMES.join('\n')}\n`);
    return at;
  };
  return {
    server,
    clock,
    service,
    counts: () => Object.fromEntries(service.counts()),
    /** Imports on a new machine, in process and virtual time. */
    run: () => clock.drive(inProcess(IMPORT, { ...machine(), clock })),
    /** Starts an import on a new machine, as a process. */
    spawn: () => start(machine(), IMPORT),
  };
}

type Fleet = Awaited<ReturnType<typeof fleetOf>>;

const documentOf = ({ out }: Pick<Outcome, 'out'>) =>
  JSON.parse(out) as { created: unknown[]; unknown: unknown[]; pending: number };

withServer(
  'an import that was killed is completed on another machine, which waits 10 s unless the server was flushed',
  async () => {
    const fleet = await fleetOf({ fate: (at) => (at === 3 ? 'lost' : undefined) });
    const killed = async (): Promise<void> => {
      const child = fleet.spawn();
      const outcome = ended(child);
      await fleet.service.created(4);
      child.kill('SIGKILL');
      await outcome;
    };
    // The server's clock is real, the other machine's is virtual.
    const since = Date.now();
    await killed();
    const { code, err } = await fleet.run();
    expect([code, fleet.counts()]).toEqual([0, ONCE]);
    expect(Date.now() - since + fleet.clock.monotonic()).toBeGreaterThanOrEqual(10_000);
    expect(err).toContain('"reason":"requests"');
    fleet.service.items.length = 0;
    fleet.service.sent.length = 0;
    await killed();
    await fleet.server.command('FLUSHALL');
    const flushed = await fleet.run();
    expect([flushed.code, fleet.counts(), flushed.err]).toEqual([0, ONCE, expect.not.stringContaining('"requests"')]);
  },
);

withServer('one of two machines that import at the same time waits, and each row exists once', async () => {
  const fleet = await fleetOf();
  const endings = await Promise.all([fleet.spawn(), fleet.spawn()].map(ended));
  expect(endings.map(({ code }) => code)).toEqual([0, 0]);
  expect(fleet.counts()).toEqual(ONCE);
  expect(endings.map((one) => documentOf(one).created.length).sort((a, b) => a - b)).toEqual([0, 12]);
});

withServer.each<[string, (server: RedisServer) => Promise<unknown>]>([
  ['is killed', (server) => server.kill()],
  ['has no memory left', (server) => server.command('CONFIG', 'SET', 'maxmemory', '1')],
])('an import whose state server %s exits with 9 and prints the rows created so far', async (_what, harm) => {
  let harmed: Promise<unknown> | undefined;
  const fleet: Fleet = await fleetOf({
    fate(at) {
      if (at === 3) harmed ??= harm(fleet.server);
      // Longer than the lock may be unconfirmed.
      if (at === 6) void fleet.clock.advance(31_000);
      return undefined;
    },
  });
  const { code, out, err } = await fleet.run();
  await harmed;
  const { created, unknown, pending } = documentOf({ out });
  expect([code, pending > 0, created.length + unknown.length]).toEqual([9, true, fleet.service.items.length]);
  expect(err).toContain('"kind":"storage"');
});
