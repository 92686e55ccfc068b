// The queue for tickets in one process.
import { expect, test, vi } from 'vitest';
import { TicketQueue } from '../../src/http/ticket-queue.ts';
import type { HttpWait } from '../../src/http/types.ts';
import { openMachineLedger } from '../../src/rate-limit/machine-ledger.ts';
import { ManualClock } from '../support/fake-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

function open(maxWaitMs: number) {
  const clock = new ManualClock();
  const ledger = openMachineLedger({ stateDir: tempDir(), baseUrl: 'test', key: 'test-key', clock });
  const limits = { maxWaitMs: 0, maxRetries: 0, timeoutMs: 0 };
  const transport = { send: () => Promise.reject(new Error('unused')), close: async () => undefined };
  const { signal } = new AbortController();
  const waits: (HttpWait | undefined)[] = [];
  const onWait = (wait: HttpWait | undefined): void => void waits.push(wait);
  const self = { isBusy: false };
  const queue = new TicketQueue({ transport, ledger, clock, signal, limits, onWait }, () => self.isBusy);
  const take = (timeoutMs: number, by = signal) => queue.take({ signal: by, timeoutMs, maxWaitMs, refusal: undefined });
  /** Takes a ticket for a request that is not in the queue. */
  const send = async () => {
    const result = await ledger.acquire(30_000);
    return result.granted ? result.ticket : expect.unreachable(result.reason);
  };
  const refuse = (ticket: string, waitMs: number): void =>
    ledger.observe(ticket, { status: 429, refused: true, waitMs, waitFrom: 'retry_after' });
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) await clock.advance(100);
  };
  return { clock, ledger, take, send, refuse, pass, self, waits };
}

test('if a request in the queue is aborted, the requests behind it do not overtake the first request', async () => {
  const { clock, ledger, take } = open(60_000);
  await ledger.acquire(100);
  const acquire = vi.spyOn(ledger, 'acquire');
  const aborted = new AbortController();
  const [first, second, third] = [take(1000), take(2000, aborted.signal), take(3000)];
  aborted.abort();
  await expect(second).rejects.toBe(aborted.signal.reason);
  await clock.advance(100);
  // Only the first request asks for a ticket.
  expect(new Set(acquire.mock.calls.flat())).toEqual(new Set([1000]));
  await clock.advance(5000);
  await first;
  ledger.release(await first, 'unsent');
  await clock.advance(100);
  await third;
});

test('a waiting request asks for a ticket every 5 s, since the quota may be cleared, and reports its wait once', async () => {
  const { clock, ledger, take, send, refuse, waits } = open(120_000);
  refuse(await send(), 100_000);
  const granted = vi.fn();
  const waiting = take(1000).then(granted);
  await clock.advance(0);
  await clock.advance(5000);
  await ledger.forget();
  await clock.advance(4900);
  expect(granted).not.toHaveBeenCalled();
  await clock.advance(100);
  expect(granted).toHaveBeenCalledOnce();
  await waiting;
  expect(waits).toEqual([{ reason: 'blocked', until: 100_000, status: 429 }, undefined]);
});

test('`maxWaitMs` limits the wait for a request of another process', async () => {
  const { clock, take, send, pass, waits } = open(2050);
  await send();
  const failed = expect(take(1000)).rejects.toMatchObject({ kind: 'rate_limited', retryAt: undefined });
  await clock.advance(0);
  await pass(1900);
  expect(waits).toEqual([{ reason: 'pending', until: 2050, isOwn: false }]);
  await pass(100);
  // `maxWaitMs` shortens the last sleep.
  await clock.advance(50);
  expect(waits).toHaveLength(2);
  await failed;
  expect(waits[1]).toBeUndefined();
});

test('a wait for a request of the same process is reported once and does not count toward `maxWaitMs`', async () => {
  const { ledger, take, send, pass, self, waits } = open(2000);
  const ticket = await send();
  self.isBusy = true;
  const waiting = take(10_000);
  await pass(3000);
  self.isBusy = false;
  await pass(1500);
  ledger.release(ticket, 'unsent');
  await pass(200);
  expect(await waiting).toBeTypeOf('string');
  expect(waits).toEqual([{ reason: 'pending', until: 11_200, isOwn: true }, undefined]);
});

test('after a block, the wait for another process counts toward `maxWaitMs` from zero, and is reported again', async () => {
  const { clock, ledger, take, send, refuse, pass, waits } = open(4000);
  const first = await send();
  const waiting = take(1000);
  await pass(3000);
  refuse(first, 2000);
  await pass(1000);
  // A clock change wakes no sleeper, so another process takes the first ticket after the block.
  clock.at += 1000;
  const probe = await send();
  await pass(3500);
  ledger.release(probe, 'lost');
  await pass(200);
  expect(await waiting).toBeTypeOf('string');
  expect(waits.map((wait) => wait?.reason)).toEqual(['pending', 'blocked', 'pending', undefined]);
});
