// Rounds about the lock of an import: a state server forgets it, or an import is killed while the service is slow.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startHttpFake } from '../test/support/http-fake.ts';
import type { Place } from '../test/support/processes.ts';
import { ended, place, runProgram, startProgram, until } from '../test/support/processes.ts';
import { RedisServer } from '../test/support/redis-server.ts';
import { BIN, must } from './report.ts';

const IMPORT = ['categories', 'import', 'rows.csv', '--yes', '--json'];
const MOST_RUNS = 8;

/** A service that creates categories after a delay, also if the client has gone. */
async function startService(delayMs: () => number) {
  const names: string[] = [];
  const service = await startHttpFake(async ({ method, body }) => {
    if (method === 'GET') return { body: names.map((name, at) => ({ id: at + 1, name })) };
    await sleep(delayMs());
    const { name } = JSON.parse(body) as { name: string };
    return { status: 201, body: { id: names.push(name), name } };
  });
  return { ...service, names };
}

type Service = Awaited<ReturnType<typeof startService>>;

function machine({ url }: Service, rows: number, server?: RedisServer): Place {
  const env = { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: 'sk_test_Abcdef0123456789' };
  const at = place(server ? { ...env, PETSTORE_STATE_URL: server.url } : env);
  const names = Array.from({ length: rows }, (_, row) => `row ${row}`);
  writeFileSync(join(at.dir, 'rows.csv'), `name\n${names.join('\n')}\n`);
  return at;
}

async function finish(at: Place, { names }: Service, rows: number, what: string): Promise<void> {
  let code: number | undefined;
  for (let runs = 0; code !== 0 && runs < MOST_RUNS; runs++) ({ code } = await runProgram(BIN, at, IMPORT));
  const distinct = new Set(names).size;
  must(names.length === distinct && distinct === rows, `${what}: ${names.length} categories, ${distinct} of ${rows}`);
}

/** Imports the same file on two machines, while the state server is flushed or restarted without data. */
export async function forgottenLock(round: number): Promise<{ readonly codes: readonly number[] }> {
  const rows = 250;
  const service = await startService(() => 20 + Math.random() * 40);
  const server = await RedisServer.start();
  try {
    const [first, second] = [machine(service, rows, server), machine(service, rows, server)];
    const imports = [ended(startProgram(BIN, first, [...IMPORT, '--concurrency', '2']))];
    await until(() => service.names.length > 0);
    await sleep(Math.random() * 2000);
    if (round % 2 === 0) await server.command('FLUSHALL');
    else await server.kill().then(() => server.start());
    await sleep(Math.random() * 300);
    imports.push(ended(startProgram(BIN, second, IMPORT)));
    const endings = await Promise.all(imports);
    await finish(second, service, rows, `round ${round}`);
    return { codes: endings.map(({ code }) => code) };
  } finally {
    await server.kill();
    service.close();
  }
}

/** Kills imports, on one machine or on two in turn, of a service that needs up to 9.5 s for a create. */
export async function slowService(round: number, kills: number): Promise<number> {
  const rows = 60;
  const service = await startService(() => (Math.random() < 0.3 ? Math.random() * 9500 : 20));
  const server = round % 2 === 0 ? undefined : await RedisServer.start();
  let killed = 0;
  try {
    const first = machine(service, rows, server);
    const machines = [first, server ? machine(service, rows, server) : first];
    for (let kill = 0; kill < kills; kill++) {
      const before = service.requests.length;
      const child = startProgram(BIN, machines[kill % 2] as Place, IMPORT);
      const outcome = ended(child);
      const isCreating = (): boolean => service.requests.slice(before).some(({ method }) => method === 'POST');
      await Promise.race([until(isCreating), outcome]);
      await sleep(Math.random() * 4000);
      if (child.kill('SIGKILL')) killed++;
      await outcome;
    }
    await finish(machines[kills % 2] as Place, service, rows, `round ${round}`);
    return killed;
  } finally {
    await server?.kill();
    service.close();
  }
}
