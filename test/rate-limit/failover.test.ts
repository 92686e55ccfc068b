// The ledger on a state server: machines share tickets, windows and blocks, and continue alone during an outage.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect } from 'vitest';
import type { Ledger } from '../../src/rate-limit/ledger.ts';
import { openSharedLedger } from '../../src/rate-limit/shared-ledger.ts';
import type { Reply } from '../../src/shared-log/state-server.ts';
import { StateServer } from '../../src/shared-log/state-server.ts';
import { parseStateUrl } from '../../src/shared-log/state-url.ts';
import { needs } from '../support/capabilities.ts';
import { ManualClock } from '../support/fake-clock.ts';
import { RedisServer } from '../support/redis-server.ts';
import { tempDir } from '../support/temp-dir.ts';

const withServer = needs('redis');
let server: RedisServer;
const open: Machine[] = [];
beforeEach(async () => {
  server = await RedisServer.start();
});
afterEach(async () => {
  const machines = open.splice(0);
  await Promise.all(machines.map((machine) => machine.outlasting(machine.ledger.close())));
  for (const machine of machines) machine.server.close();
  await server.kill();
});

/** Counts the calls that sleep until they retry the server. */
class MachineClock extends ManualClock {
  retrying = 0;

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const retries = ms === 100 ? 1 : 0;
    this.retrying += retries;
    await super.sleep(ms, signal).finally(() => {
      this.retrying -= retries;
    });
  }
}

class CountingServer extends StateServer {
  /** The number of calls without a reply. */
  calls = 0;

  override async run(...args: Parameters<StateServer['run']>): Promise<Reply> {
    this.calls++;
    return super.run(...args).finally(() => this.calls--);
  }
}

/** One process of a machine whose clock is off by `skew` milliseconds. */
class Machine {
  readonly clock: MachineClock;
  readonly warnings: string[] = [];
  readonly outages: string[] = [];
  readonly ledger: Ledger;
  readonly server: CountingServer;

  constructor(skew = 0, stateDir = tempDir()) {
    this.clock = new MachineClock(Date.now() + skew, () => 0);
    const { clock, warnings, outages } = this;
    const own = { baseUrl: 'https://pets.example/v1', key: 'a-key', clock };
    const onWarning = (text: string): void => void warnings.push(text);
    const onOutage = (text: string): void => void outages.push(text);
    const connection = parseStateUrl(server.url, undefined, { url: 'X', password: 'Y' });
    this.server = new CountingServer({ connection, clock, onOutage, timeoutMs: 10_000 });
    this.ledger = openSharedLedger(this.server, { ...own, onWarning, stateDir });
    open.push(this);
  }

  /** A machine that has seen a response with `remaining` requests left. */
  static async with(remaining: number, skew = 0, stateDir = tempDir()): Promise<Machine> {
    const machine = new Machine(skew, stateDir);
    machine.see(await machine.take(), remaining);
    await machine.ledger.refresh();
    return machine;
  }

  async take(): Promise<string> {
    const admission = await this.ledger.acquire(30_000);
    if (!admission.granted) throw new Error(admission.reason);
    return admission.ticket;
  }

  /** Observes a response with `remaining` of 3 requests left in a window that ends in a minute. */
  see(ticket: string, remaining: number, more: object = {}): void {
    const success = { status: 200, waitFrom: 'backoff', refused: false } as const;
    this.ledger.observe(ticket, { ...success, limit: 3, remaining, resetInMs: 60_000, ...more });
  }

  /** Requests tickets until the state server's ledger is used again. */
  async untilBack(): Promise<void> {
    for (let requested = 0; requested < 50 && !this.ledger.quota().stateServer; requested++) {
      const admission = await this.ledger.acquire(30_000);
      if (admission.granted) this.ledger.release(admission.ticket, 'unsent');
      await this.pass();
    }
    expect(this.ledger.quota().stateServer).not.toBeNull();
  }

  /** Advances this machine's clock by 100 ms, once every call has its reply or waits for a retry. */
  async pass(): Promise<void> {
    while (this.server.calls > this.clock.retrying) await turn();
    await this.clock.advance(100);
  }

  /** Advances this machine's clock until a call that retries the server has ended. */
  async outlasting<T>(call: Promise<T>): Promise<T> {
    let left = 1;
    const done = (): void => void left--;
    call.then(done, done);
    while (left > 0) await this.pass();
    return call;
  }

  /** The rest of the key's block by this machine's clock, in milliseconds. */
  get blockedMs(): number {
    return (this.ledger.quota().blocked?.until ?? 0) - this.clock.at;
  }
}

/** A state directory whose parent is a file. */
function unusable(): string {
  const file = join(tempDir(), 'file');
  writeFileSync(file, '');
  return join(file, 'state');
}

const BLOCKED = { granted: false, reason: 'blocked' };
const refused = { waitMs: 600_000, waitFrom: 'retry_after', status: 429, refused: true } as const;

withServer('the quota and the block reflect a response whose record is on its way to the state server', async () => {
  const machine = new Machine(30_000);
  machine.see(await machine.take(), 2);
  expect(machine.ledger.quota()).toMatchObject({ remaining: 2, inFlight: 0 });
  await machine.ledger.refresh();
  const [first, second] = [await machine.take(), await machine.take()];
  machine.see(first, 1, refused);
  expect(machine.ledger.isStillGranted(second)).toBe(false);
  expect(machine.blockedMs).toBeGreaterThanOrEqual(600_000);
  expect(machine.blockedMs).toBeLessThan(620_000);
  await machine.ledger.refresh();
  expect(machine.ledger.quota()).toMatchObject({ remaining: 1, blocked: { consecutive429s: 1 } });
});

withServer.each([-107_000, 3_600_000])(
  'if the clock of one machine changes by %i ms, every machine ends a block and a window as stated',
  async (ms) => {
    const [one, other] = [new Machine(), new Machine(30_000)];
    const ticket = await one.take();
    one.clock.at += ms;
    one.see(ticket, 1, refused);
    const waits = [one.blockedMs];
    await one.ledger.refresh();
    await other.ledger.refresh();
    const denied = await other.ledger.acquire(30_000);
    waits.push(one.blockedMs, other.blockedMs, 'until' in denied ? denied.until - other.clock.at : 0);
    expect(waits.filter((wait) => wait > 590_000 && wait < 660_000)).toEqual(waits);
    const resets = [one, other].map(({ ledger, clock }) => (ledger.quota().resetAt ?? 0) - clock.at);
    expect(resets.filter((reset) => reset > 59_000 && reset < 62_000)).toEqual(resets);
  },
);

withServer('machines whose clocks differ by a minute share tickets and windows', async () => {
  const [one, two] = [new Machine(-30_000), new Machine(30_000)];
  const first = await one.take();
  expect(await two.ledger.acquire(30_000)).toEqual({ granted: false, reason: 'pending' });
  one.see(first, 1);
  await one.ledger.refresh();
  const second = await two.take();
  expect(two.ledger.isStillGranted(second)).toBe(true);
  expect(await one.ledger.acquire(30_000)).toMatchObject({ granted: false, reason: 'pending' });
});

withServer('a 429 on one machine invalidates a ticket that another machine holds', async () => {
  const [one, two] = [await Machine.with(3), new Machine(20_000)];
  const [mine, theirs] = [await one.take(), await two.take()];
  one.see(mine, 0, refused);
  await one.ledger.refresh();
  await two.ledger.refresh();
  expect(two.ledger.isStillGranted(theirs)).toBe(false);
  two.ledger.release(theirs, 'unsent');
  expect(await two.ledger.acquire(30_000)).toMatchObject(BLOCKED);
  expect(two.ledger.quota()).toMatchObject({ shared: true, stateServer: `127.0.0.1:${server.port}` });
});

withServer('a ticket allows no request while the last reply of the state server is older than 1.5 s', async () => {
  const machine = new Machine();
  const ticket = await machine.take();
  expect(machine.ledger.isStillGranted(ticket)).toBe(true);
  await machine.clock.advance(1600);
  expect(machine.ledger.isStillGranted(ticket)).toBe(false);
  await machine.ledger.refresh();
  expect(machine.ledger.isStillGranted(ticket)).toBe(true);
});

withServer('forgetting the quota fails if the state server rejects the script', async () => {
  const { ledger } = new Machine();
  await server.command('ACL', 'SETUSER', 'default', '-eval');
  await expect(ledger.forget()).rejects.toMatchObject({ kind: 'usage' });
});

withServer('a state server that never responded causes one warning and no wait', async () => {
  await server.kill();
  const machine = new Machine();
  const ticket = await machine.take();
  expect(machine.ledger.isStillGranted(ticket)).toBe(true);
  machine.see(ticket, 2);
  expect(machine.ledger.quota()).toMatchObject({ remaining: 2 });
  await machine.take();
  expect(machine.warnings).toEqual([
    `cannot use state server 127.0.0.1:${server.port} (connection refused); the rate limit is shared only on this machine`,
  ]);
  expect([machine.outages, machine.clock.slept]).toEqual([[], []]);
});

/** Expects the wait of `refused`, with a tolerance for jitter and real time. */
function expectStated({ blockedMs }: Machine): void {
  expect(blockedMs).toBeGreaterThan(590_000);
  expect(blockedMs).toBeLessThan(660_000);
}

const see429 = (machine: Machine, ticket: string, more: object = {}): void =>
  machine.see(ticket, 0, { ...refused, ...more });

withServer.each([
  ['that the server has recorded', ['first', 'written', 'kill']],
  ['that the server has not recorded', ['kill', 'first']],
  ['that the server has not recorded, followed by a 429 with a shorter wait', ['kill', 'first', 'second']],
  ['that arrives after a ticket was granted without the server', ['kill', 'ticket', 'first']],
])(
  'a machine whose state server becomes unavailable continues alone, and waits after a 429 %s',
  async (_what, events) => {
    const machine = await Machine.with(3);
    const [first, second] = [await machine.take(), await machine.take()];
    const perform: Record<string, () => unknown> = {
      first: () => see429(machine, first),
      second: () => see429(machine, second, { waitMs: 1000 }),
      written: () => machine.ledger.refresh(),
      kill: () => server.kill(),
      ticket: async () => machine.ledger.release(await machine.outlasting(machine.take()), 'unsent'),
    };
    for (const event of events) await perform[event]?.();
    expect(await machine.outlasting(machine.ledger.acquire(30_000))).toMatchObject(BLOCKED);
    expect(machine.blockedMs).toBeGreaterThan(100_000);
    expect(machine.ledger.quota()).toMatchObject({ blocked: { reason: 'retry_after' } });
    expect([machine.outages.length, machine.warnings.length]).toEqual([1, 1]);
  },
);

withServer('a machine whose clock is set back during an outage shares no wait longer than stated', async () => {
  const machine = new Machine();
  await server.kill();
  see429(machine, await machine.outlasting(machine.take()));
  await server.start();
  machine.clock.at -= 3_600_000;
  await machine.outlasting(machine.ledger.close());
  const other = new Machine();
  await other.ledger.refresh();
  expectStated(other);
});

withServer(
  'a machine whose clock is set back between two outages does not wait for a reset that it learned in the first outage',
  async () => {
    const machine = await Machine.with(3);
    await server.kill();
    machine.see(await machine.outlasting(machine.take()), 0);
    await server.start();
    await machine.untilBack();
    machine.clock.at -= 3_600_000;
    await server.kill();
    expect(await machine.outlasting(machine.ledger.acquire(30_000))).not.toHaveProperty('until');
    await machine.take();
  },
);

withServer.each(['before', 'after'])(
  'a 429 that arrives %s the state server is used again is shared even if the request was granted without the server',
  async (when) => {
    const [machine, other] = [new Machine(25_000), new Machine(-25_000)];
    await other.ledger.refresh();
    await server.kill();
    const alone = await machine.outlasting(machine.take());
    expect(machine.ledger.isStillGranted(alone)).toBe(true);
    if (when === 'before') see429(machine, alone);
    await server.start();
    await machine.untilBack();
    expect(machine.ledger.isStillGranted(alone)).toBe(false);
    if (when === 'after') see429(machine, alone);
    await machine.ledger.refresh();
    await other.outlasting(other.ledger.refresh());
    for (const { ledger } of [machine, other]) expect(await ledger.acquire(30_000)).toMatchObject(BLOCKED);
  },
);

withServer(
  'after the state server lost a block, a machine that knows the block shares it again for the rest of the wait',
  async () => {
    const [machine, other] = [new Machine(3_600_000), new Machine()];
    see429(machine, await machine.take());
    await machine.ledger.refresh();
    await server.command('FLUSHALL');
    await other.take();
    // The first call reads the new log and writes the block to it; the second waits for this write.
    for (const { ledger } of [machine, machine, other]) await ledger.refresh();
    expectStated(other);
  },
);

withServer(
  'if a machine can use neither the state server nor its file, its ledger continues in memory and keeps a block',
  async () => {
    const machine = await Machine.with(3, 3_600_000, unusable());
    const [first, second] = [await machine.take(), await machine.take()];
    machine.see(first, 1, { ...refused, status: 503 });
    await machine.ledger.refresh();
    await server.kill();
    expect(await machine.outlasting(machine.ledger.acquire(30_000))).toMatchObject({ ...BLOCKED, status: 503 });
    expectStated(machine);
    expect(machine.ledger.isStillGranted(second)).toBe(false);
    // Only the block is copied: other times are those of the server's clock.
    expect(machine.ledger.quota()).toMatchObject({ shared: false, stateServer: null, remaining: null, inFlight: 0 });
    expect(machine.warnings).toEqual([
      expect.stringContaining('the rate limit is shared only on this machine'),
      expect.stringContaining('the rate limit is not shared with other processes'),
    ]);
  },
);

withServer.each([
  ['a usable file', tempDir, []],
  ['an unusable file', unusable, [expect.stringMatching(/^cannot write to /)]],
])('with %s, an outage while a ledger closes causes no warning about the state server', async (_, dir, warnings) => {
  const machine = await Machine.with(3, 0, dir());
  const ticket = await machine.take();
  await server.kill();
  const closing = machine.ledger.close();
  machine.see(ticket, 2);
  await machine.outlasting(closing);
  expect(machine.warnings).toEqual(warnings);
});
