// Imports from several machines with a state server: killed, concurrent, and with a server that fails in mid-import.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PetstoreError } from '../../../src/errors.ts';
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
class Fleet {
  readonly clock = new IdleClock();
  readonly interrupt = new AbortController();
  readonly service: HttpService;
  readonly server: RedisServer;

  private constructor(server: RedisServer, script: HttpScript) {
    this.server = server;
    this.service = new HttpService(this.clock, script);
  }

  static async start(script: HttpScript = {}): Promise<Fleet> {
    const fleet = new Fleet(await RedisServer.start(), script);
    onTestFinished(await fleet.service.start());
    onTestFinished(() => fleet.server.kill());
    return fleet;
  }

  /** Imports on a new machine, in process and virtual time. */
  run(): Promise<Outcome> {
    const { dir, env } = this.#machine();
    const { clock, interrupt } = this;
    return clock.drive(inProcess(IMPORT, { clock, dir, env, signal: interrupt.signal }));
  }

  /** Starts an import on a new machine, as a process. */
  spawn(): ReturnType<typeof start> {
    return start(this.#machine(), IMPORT);
  }

  get counts(): Record<string, number> {
    return Object.fromEntries(this.service.counts());
  }

  #machine(): Place {
    const url = { PETSTORE_BASE_URL: this.service.url, PETSTORE_API_KEY: 'sk_test_Abcdef0123456789' };
    const at = place({ ...url, PETSTORE_STATE_URL: this.server.url });
    writeFileSync(join(at.dir, 'rows.csv'), `name\n${NAMES.join('\n')}\n`);
    return at;
  }
}

const documentOf = ({ out }: Outcome) => JSON.parse(out) as { created: unknown[]; unknown: unknown[]; pending: number };

withServer('an import that was killed is completed on another machine, which waits 10 s', async () => {
  const fleet = await Fleet.start({ fate: (at) => (at === 3 ? 'lost' : undefined) });
  // The server's clock is real, the other machine's is virtual.
  const since = Date.now();
  const child = fleet.spawn();
  const outcome = ended(child);
  await fleet.service.created(4);
  child.kill('SIGKILL');
  await outcome;
  const { code, err } = await fleet.run();
  expect([code, fleet.counts]).toEqual([0, ONCE]);
  expect(Date.now() - since + fleet.clock.monotonic()).toBeGreaterThanOrEqual(10_000);
  expect(err).toContain('"reason":"requests"');
});

withServer('one of two machines that import at the same time waits, and each row exists once', async () => {
  const fleet = await Fleet.start();
  const endings = await Promise.all([fleet.spawn(), fleet.spawn()].map(ended));
  expect(endings.map(({ code }) => code)).toEqual([0, 0]);
  expect(fleet.counts).toEqual(ONCE);
  expect(endings.map((one) => documentOf(one).created.length).sort((a, b) => a - b)).toEqual([0, 12]);
});

const fill = (server: RedisServer): Promise<unknown> => server.command('CONFIG', 'SET', 'maxmemory', '1');

withServer.each<[string, number, (server: RedisServer) => Promise<unknown>]>([
  ['an import whose state server is killed', 9, (server) => server.kill()],
  ['an import whose state server has no memory left', 9, fill],
  ['Ctrl-C in an import whose state server has no memory left', 130, fill],
])('%s exits with %i and prints the rows created so far', async (_what, code, harm) => {
  let harmed: Promise<unknown> | undefined;
  const fleet: Fleet = await Fleet.start({
    fate(at) {
      if (at === 3) harmed ??= harm(fleet.server);
      if (at === 5 && code === 130) fleet.interrupt.abort(new PetstoreError('interrupted', 'interrupted'));
      // Longer than the lock may be unconfirmed.
      if (at === 6) void fleet.clock.advance(31_000);
      return undefined;
    },
  });
  const ending = await fleet.run();
  await harmed;
  const { created, unknown, pending } = documentOf(ending);
  expect([ending.code, pending > 0, created.length + unknown.length]).toEqual([code, true, fleet.service.items.length]);
  expect(ending.err).toContain(`"kind":"${code === 9 ? 'storage' : 'interrupted'}"`);
});
