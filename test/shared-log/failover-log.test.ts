// A log with several places: a server, a file and memory, which the tests make fail and recover.
import { expect, test } from 'vitest';
import type { Place } from '../../src/shared-log/failover-log.ts';
import { FailoverLog } from '../../src/shared-log/failover-log.ts';
import type { Log } from '../../src/shared-log/log.ts';
import { ManualClock } from '../support/fake-clock.ts';

class Outage extends Error {}

/** A place whose log keeps its records; a log on a server is asynchronous. */
class FakePlace implements Place<string[]>, Log<string[]> {
  readonly name: string;
  readonly mayRecover: boolean;
  readonly clockOffsetMs: number;
  readonly records: string[] = [];
  /** The operation that fails: opening the log, or using it. */
  fails: 'open' | 'use' | undefined;
  opened = 0;
  closed = 0;
  attempts = 0;

  constructor(name: string, clockOffsetMs = 0) {
    this.name = name;
    this.mayRecover = name === 'server';
    this.clockOffsetMs = clockOffsetMs;
  }

  open(): this {
    if (this.fails === 'open') throw new Outage();
    this.opened++;
    return this;
  }

  warningOf(error: unknown): string {
    if (!(error instanceof Outage)) throw error;
    return `${this.name} failed`;
  }

  cached = (): string[] => [...this.records];
  freshState = (): string[] => this.#use(this.cached) as string[];
  refresh = (): string[] | Promise<string[]> => this.#answer(this.cached);
  append = (record: string): unknown => this.#answer(() => this.records.push(record));
  close = (): void => void this.closed++;

  #answer<T>(call: () => T): T | Promise<T> {
    return this.mayRecover ? Promise.resolve().then(() => this.#use(call)) : this.#use(call);
  }

  #use<T>(call: () => T): T {
    this.attempts++;
    if (this.fails === 'use') throw new Outage();
    return call();
  }
}

function open(...places: FakePlace[]) {
  const clock = new ManualClock(1000);
  const warnings: string[] = [];
  const switches: unknown[] = [];
  const log = new FailoverLog<string[], FakePlace>({
    places,
    clock,
    noEffect: () => 'nothing',
    onFailure: (_place, warning) => void warnings.push(warning),
    onSwitch: (before, now) => void switches.push([before, now]),
  });
  const write = async (text: string): Promise<void> => void (await log.append((now) => `${text} ${now}`));
  return { log, clock, warnings, switches, write };
}

const threePlaces = () => [new FakePlace('server', 500), new FakePlace('file'), new FakePlace('memory')] as const;

test('if a state server fails, records go to the next place with the time of its clock, and `onSwitch` is called', async () => {
  const [server, file, memory] = threePlaces();
  const { log, write, warnings, switches } = open(server, file, memory);
  await write('a');
  server.fails = 'use';
  await Promise.all([write('b'), write('c')]);
  expect([server.records, file.records, log.place]).toEqual([['a 1500'], ['b 1000', 'c 1000'], file]);
  expect([warnings, switches, memory.opened]).toEqual([['server failed'], [[['a 1500'], 1500]], 0]);
});

test('a place that cannot be opened is skipped with one warning and without calling `onSwitch`', async () => {
  const [, file, memory] = threePlaces();
  file.fails = 'open';
  const { write, warnings, switches } = open(file, memory);
  await write('a');
  expect([memory.records, warnings, switches]).toEqual([['a 1000'], ['file failed'], []]);
});

test('a state server is retried once a second and used again when it works, and `close` closes all open logs', async () => {
  const [server, file, memory] = threePlaces();
  const { log, clock, write, warnings } = open(server, file, memory);
  server.fails = 'use';
  await write('a');
  const attempts = server.attempts;
  for (let tenths = 0; tenths < 25; tenths++) {
    log.retry();
    await clock.advance(100);
  }
  expect([server.attempts - attempts, log.place]).toEqual([2, file]);
  server.fails = undefined;
  await clock.advance(1000);
  log.retry();
  await clock.advance(0);
  expect([log.place, server.records, file.closed, warnings]).toEqual([server, ['nothing'], 0, ['server failed']]);
  log.close();
  expect([server.closed, file.closed, memory.closed]).toEqual([1, 1, 0]);
});

test('a late failure of a state server that is no longer in use changes nothing and does not delay the next retry', async () => {
  const [server, file, memory] = threePlaces();
  const { log, clock, write, switches } = open(server, file, memory);
  server.fails = 'use';
  let fail = (_error: Error): void => undefined;
  server.refresh = () =>
    new Promise((_resolve, reject) => {
      fail = reject;
    });
  const reading = log.refresh();
  await write('a');
  await clock.advance(999);
  fail(new Outage());
  await reading;
  expect([switches.length, log.place]).toEqual([1, file]);
  const attempts = server.attempts;
  await clock.advance(1);
  log.retry();
  await clock.advance(0);
  expect(server.attempts - attempts).toBe(1);
});

test('a file that failed is closed and not used again, even after a second outage of the state server', async () => {
  const [server, file, memory] = threePlaces();
  const { log, clock, write, warnings } = open(server, file, memory);
  server.fails = 'use';
  await write('a');
  file.fails = 'use';
  await write('b');
  expect([log.place, memory.records, file.closed]).toEqual([memory, ['b 1000'], 1]);
  [server.fails, file.fails] = [undefined, undefined];
  await log.returnToServer();
  expect(log.place).toBe(server);
  server.fails = 'use';
  await write('c');
  await clock.advance(5000);
  expect([log.place, memory.records, file.opened]).toEqual([memory, ['b 1000', 'c 1000'], 1]);
  expect(warnings).toEqual(['server failed', 'file failed']);
});

test('a failover log throws an error that is not a failure of a place', async () => {
  const [server, file, memory] = threePlaces();
  const bug = (): never => {
    throw new TypeError('a bug');
  };
  server.refresh = async () => bug();
  await expect(open(server, file, memory).log.refresh()).rejects.toThrow(TypeError);
  expect(() => open(file, memory).log.append(bug)).toThrow(TypeError);
});
