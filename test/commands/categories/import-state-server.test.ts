// Imports from several machines with a state server: killed, concurrent, and with the server killed or flushed.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Script } from '../../import/scripted-service.ts';
import { ScriptedService } from '../../import/scripted-service.ts';
import { IdleClock } from '../../support/fake-clock.ts';
import type { Outcome } from '../../support/processes.ts';
import { ended, place } from '../../support/processes.ts';
import { start } from '../../support/program.ts';
import { hasStateServer, RedisServer } from '../../support/redis-server.ts';
import { inProcess } from '../../support/world.ts';

const withServer = test.runIf(hasStateServer);

const IMPORT = ['categories', 'import', 'rows.csv', '--json'];
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always'];
const NAMES = Array.from({ length: 12 }, (_, at) => `row ${at}`);

/** Machines that share a state server and a service; each has its own directories. */
class Fleet {
  readonly clock = new IdleClock();
  readonly service: ScriptedService;
  readonly server: RedisServer;

  private constructor(server: RedisServer) {
    this.server = server;
    this.service = new ScriptedService(this.clock, {});
  }

  static async start(script: Script = {}, args = DURABLE): Promise<Fleet> {
    const fleet = new Fleet(await RedisServer.start({ args }));
    onTestFinished(await fleet.service.start());
    onTestFinished(() => fleet.server.kill());
    // Without a lock on the server, a process waits in real time for requests of earlier runs.
    await fleet.run(['row 0']);
    fleet.service.script = script;
    return fleet;
  }

  /** Imports on a new machine, in process and virtual time. */
  run(names: readonly string[] = NAMES): Promise<Outcome> {
    const { dir, env } = this.#machine(names);
    return this.clock.drive(inProcess(IMPORT, { clock: this.clock, dir, env }));
  }

  /** Starts an import on a new machine, as a process. */
  spawn(): ReturnType<typeof start> {
    return start(this.#machine(NAMES), IMPORT);
  }

  /** Kills an import process after `creates` creates, and ends the faults of the service. */
  async killAfter(creates: number): Promise<void> {
    const child = this.spawn();
    const outcome = ended(child);
    await this.service.created(this.service.creates + creates);
    child.kill('SIGKILL');
    await outcome;
    this.service.script = {};
  }

  get counts(): Record<string, number> {
    return Object.fromEntries(this.service.counts());
  }

  #machine(names: readonly string[]) {
    const url = { PETSTORE_BASE_URL: this.service.url, PETSTORE_API_KEY: 'sk_test_Abcdef0123456789' };
    const at = place({ ...url, PETSTORE_STATE_URL: this.server.url });
    writeFileSync(join(at.dir, 'rows.csv'), `name\n${names.join('\n')}\n`);
    return at;
  }
}

const once = Object.fromEntries(NAMES.map((name) => [name, 1]));

withServer(
  'an import that is killed after a lost response is completed on another machine without duplicates',
  async () => {
    const fleet = await Fleet.start({ fate: (at) => (at === 3 ? 'lost' : undefined) });
    await fleet.killAfter(4);
    const { code } = await fleet.run();
    expect([code, fleet.counts]).toEqual([0, once]);
  },
);

withServer('one of two machines that import at the same time waits, and each row exists once', async () => {
  const fleet = await Fleet.start();
  const both = [fleet.spawn(), fleet.spawn()].map(ended);
  const endings = await Promise.all(both);
  expect(endings.map(({ code }) => code)).toEqual([0, 0]);
  expect(fleet.counts).toEqual(once);
  const created = endings.map(({ out }) => (JSON.parse(out) as { created: unknown[] }).created.length);
  expect(created.sort((a, b) => a - b)).toEqual([0, 11]);
});

withServer('an import without its state server for 30 s exits with 9 and prints the rows created so far', async () => {
  let kill: Promise<void> | undefined;
  const fleet: Fleet = await Fleet.start({
    fate(at) {
      if (at === 3) kill ??= fleet.server.kill();
      if (at === 6) void fleet.clock.advance(31_000);
      return undefined;
    },
  });
  const { code, out, err } = await fleet.run();
  await kill;
  const { created, pending } = JSON.parse(out) as { created: unknown[]; pending: number };
  expect([code, pending > 0, created.length + 1]).toEqual([9, true, fleet.service.items.length]);
  expect(err).toContain('"kind":"storage"');
});

withServer.each<[string, (server: RedisServer) => Promise<unknown>]>([
  ['flushed', (server) => server.command('FLUSHALL')],
  [
    'restarted without its data',
    async (server) => {
      await server.kill();
      await server.start();
    },
  ],
])(
  'the import after a killed one whose state server was %s waits for nothing, and reports duplicates',
  async (_what, harm) => {
    const fleet = await Fleet.start({ fate: () => ({ later: 3000 }) }, []);
    await fleet.killAfter(4);
    await harm(fleet.server);
    const from = fleet.clock.monotonic();
    const { code, err } = await fleet.run();
    expect(fleet.clock.monotonic() - from).toBeLessThan(9000);
    const twice = Object.entries(fleet.counts).filter(([, count]) => count > 1);
    expect(code).toBe(twice.length > 0 ? 8 : 0);
    for (const [name] of twice) expect(err).toContain(name);
    expect(Object.keys(fleet.counts)).toHaveLength(NAMES.length);
  },
);
