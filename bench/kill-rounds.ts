// Kills imports, or loses records of their state server, at random moments: no category may be missing or exist twice.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startHttpFake } from '../test/support/http-fake.ts';
import type { Outcome, Place } from '../test/support/processes.ts';
import { ended, place } from '../test/support/processes.ts';
import { startTcpServer } from '../test/support/raw-server.ts';
import { RedisServer } from '../test/support/redis-server.ts';
import { BIN, must, say } from './report.ts';

const ROWS = 150;
const MOST_RUNS = 12;
const LOSSES = ['flushed', 'restarted', 'rolled-back', 'failed-over'] as const;
type Loss = (typeof LOSSES)[number];

interface Settings {
  /** Two hosts have different names, so that neither can see the processes of the other. */
  readonly hosts: number;
  readonly isSlow: boolean;
}

/**
 * `npm run bench -- kill-rounds [--rounds N] [--parallel N] [--hosts 2] [--slow] [--loss KIND]`: kills imports and loses
 * responses. `--hosts 2` uses two hosts with a state server; `--slow` delays creates by up to 9.5 s. With `--loss`, the state
 * server loses records instead, while one import creates and a second waits; then a third begins. KIND is `flushed`,
 * `restarted` without data, `rolled-back` to a snapshot, or `failed-over` to a replica that had stopped replicating.
 */
export async function run(args: string[]): Promise<void> {
  const text = { type: 'string' } as const;
  const options = { rounds: text, parallel: text, hosts: text, loss: text, slow: { type: 'boolean' } } as const;
  const { rounds = '40', parallel = '4', hosts = '1', loss, slow = false } = parseArgs({ args, options }).values;
  const lost = LOSSES.find((one) => one === loss);
  must(lost === loss, `--loss is one of ${LOSSES.join(', ')}`);
  const settings = { hosts: Number(hosts), isSlow: slow };
  const codes: Record<string, number> = {};
  let begun = 0;
  const player = async (): Promise<void> => {
    while (begun < Number(rounds)) {
      begun++;
      const outcomes = lost ? await lossRound(lost, settings) : await killRound(settings);
      for (const { code } of outcomes) codes[code] = (codes[code] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: Number(parallel) }, player));
  say(`${args.join(' ')}: ${rounds} rounds, 0 twice, 0 missing; imports by exit code: ${JSON.stringify(codes)}`);
}

/** Kills imports on the hosts in turn, and then runs the import until it is done. */
async function killRound(settings: Settings): Promise<Outcome[]> {
  const service = await startService(() => (settings.isSlow && chance(0.3) ? Math.random() * 9500 : 40), 0.05);
  const state = settings.hosts > 1 ? await startState('restarted') : undefined;
  const hosts = hostsOf(settings, service.url, state?.url);
  const outcomes: Outcome[] = [];
  try {
    for (const host of [...hosts, ...hosts]) {
      const creating = service.nextCreate();
      const child = start(host);
      const ending = ended(child);
      // Kill one in ten during start-up or while it waits, the others once they create.
      if (!chance(0.1)) await Promise.race([creating, ending]);
      await sleep(Math.random() * (settings.isSlow ? 4000 : 400));
      child.kill('SIGKILL');
      outcomes.push(await ending);
    }
    outcomes.push(...(await finish(hosts[0] as Host)));
    check(service.names);
    return outcomes;
  } finally {
    await close(hosts, service, state);
  }
}

/** Loses records while one import creates; a second one waits, and a third one begins after the loss. */
async function lossRound(loss: Loss, settings: Settings): Promise<Outcome[]> {
  const service = await startService(() => 50 + Math.random() * 100, 0);
  const state = await startState(loss);
  const hosts = hostsOf(settings, service.url, state.url);
  const [first, other] = [hosts[0], hosts.at(-1)] as [Host, Host];
  try {
    // The only lock in the snapshot is the released lock of an earlier import.
    await ended(start(first, 'one.csv'));
    await state.snapshot();
    const creating = service.nextCreate();
    const imports = [ended(start(first))];
    await creating;
    imports.push(ended(start(other)));
    await sleep(Math.random() * 1500);
    await state.lose();
    await sleep(Math.random() * 300);
    imports.push(ended(start(other)));
    const outcomes = await Promise.all(imports);
    outcomes.push(...(await finish(other)));
    check(service.names);
    return outcomes;
  } finally {
    await close(hosts, service, state);
  }
}

function check(names: readonly string[]): void {
  const unique = new Set(names);
  must(
    unique.size === ROWS && names.length === ROWS,
    `${names.length} categories with ${unique.size} of ${ROWS} names`,
  );
}

/** A service that creates a category even if its client has gone, and fails a share of creates before or after that. */
async function startService(delayMs: () => number, lostShare: number) {
  const names: string[] = [];
  const creates = new EventEmitter().setMaxListeners(0);
  const { url, close } = await startHttpFake(async ({ method, body }) => {
    if (method === 'GET') return { body: names.map((name, at) => ({ id: at + 1, name })) };
    creates.emit('create');
    await sleep(delayMs());
    if (chance(lostShare / 2)) return chance(0.5) ? 'reset' : { status: 500, body: {} };
    const { name } = JSON.parse(body) as { name: string };
    const id = names.push(name);
    return chance(lostShare / 2) ? 'reset' : { status: 201, body: { id, name } };
  });
  return { url, close, names, nextCreate: () => once(creates, 'create') };
}

/** A state server with a URL that does not change, and its loss of records. */
async function startState(loss: Loss) {
  const primary = await RedisServer.start({ args: ['--save', loss === 'rolled-back' ? '3600 1' : ''] });
  const isReplicated = loss === 'failed-over';
  const replica = isReplicated
    ? await RedisServer.start({ args: ['--replicaof', `127.0.0.1 ${primary.port}`] })
    : undefined;
  let target = primary.port;
  const proxy = await startTcpServer((socket) => {
    const upstream = connect(target, '127.0.0.1').on('error', () => socket.destroy());
    socket.on('close', () => upstream.destroy()).pipe(upstream);
    upstream.on('close', () => socket.destroy()).pipe(socket);
  });
  return {
    url: `redis://127.0.0.1:${proxy.port}`,
    /** Sets the state to which `lose` returns a server that is rolled back or failed over. */
    async snapshot(): Promise<void> {
      if (loss === 'rolled-back') await primary.command('SAVE');
      if (!replica) return;
      while (!(await replica.command('INFO', 'replication')).includes('master_link_status:up')) await sleep(50);
      await primary.command('WAIT', '1', '5000');
      await replica.command('REPLICAOF', 'NO', 'ONE');
    },
    async lose(): Promise<void> {
      if (loss === 'flushed') await primary.command('FLUSHALL');
      else await primary.kill();
      if (replica) target = replica.port;
      else if (loss !== 'flushed') await primary.start();
    },
    async close(): Promise<void> {
      proxy.close();
      await Promise.all([primary.kill(), replica?.kill()]);
    },
  };
}

interface Host extends Place {
  readonly name: string | undefined;
}

function hostsOf({ hosts }: Settings, url: string, stateUrl: string | undefined): Host[] {
  return Array.from({ length: hosts }, (_, at) => {
    const env = { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: 'sk_test_Abcdef0123456789' };
    const one = place({ ...env, ...(stateUrl && { PETSTORE_STATE_URL: stateUrl }) });
    const names = Array.from({ length: ROWS }, (_row, row) => `row ${row}\n`);
    writeFileSync(join(one.dir, 'rows.csv'), `name\n${names.join('')}`);
    writeFileSync(join(one.dir, 'one.csv'), `name\n${names[0]}`);
    return { ...one, name: hosts > 1 ? `host-${at}` : undefined };
  });
}

function start({ name, env, dir }: Host, file = 'rows.csv'): ChildProcess {
  const program = [process.execPath, BIN, 'categories', 'import', file, '--yes', '--json', '--concurrency', '4'];
  // `exec` keeps the pid, so that a signal reaches the import.
  const onHost = ['unshare', '-ru', 'sh', '-c', `hostname ${name} && exec "$@"`, 'sh', ...program];
  const [command = '', ...args] = name ? onHost : program;
  return spawn(command, args, { env, cwd: dir });
}

async function finish(host: Host): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  while (outcomes.at(-1)?.code !== 0) {
    const outcome = await ended(start(host));
    must(outcomes.length < MOST_RUNS && [0, 7, 8, 9].includes(outcome.code), `exit ${outcome.code}: ${outcome.err}`);
    outcomes.push(outcome);
  }
  return outcomes;
}

async function close(
  hosts: readonly Host[],
  service: { close(): void },
  state?: { close(): Promise<void> },
): Promise<void> {
  service.close();
  await state?.close();
  for (const { dir } of hosts) rmSync(dir, { recursive: true, force: true });
}

const chance = (share: number): boolean => Math.random() < share;
