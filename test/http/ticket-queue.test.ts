// The queue for tickets in one process.
import { expect, test } from 'vitest';
import { TicketQueue } from '../../src/http/ticket-queue.ts';
import { Ledger } from '../../src/rate-limit/ledger.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

/** Records the timeout of each request that asks for a ticket. */
class AskedLedger extends Ledger {
  readonly asked = new Set<number>();

  override acquire(timeoutMs: number): ReturnType<Ledger['acquire']> {
    this.asked.add(timeoutMs);
    return super.acquire(timeoutMs);
  }
}

function open(maxWaitMs: number) {
  const clock = FakeClock.manual();
  const ledger = new AskedLedger({ stateDir: tempDir(), baseUrl: 'test', key: 'test-key', clock });
  const limits = { maxWaitMs, maxRetries: 0, timeoutMs: 0, optionNames: { maxWait: '', timeout: '' } };
  const transport = { send: () => Promise.reject(new Error('unused')), close: async () => undefined };
  const { signal } = new AbortController();
  const queue = new TicketQueue({ transport, ledger, clock, signal, limits }, () => false);
  const take = (timeoutMs: number, by = signal) => queue.take({ signal: by, timeoutMs, refusal: undefined });
  /** A request of another process. */
  const sendOther = async () => {
    const result = await ledger.acquire(30_000);
    return result.granted ? result.ticket : expect.unreachable(result.reason);
  };
  const refuse = (ticket: string, waitMs: number): void => {
    const reading = { at: clock.at, tookMs: 0, status: 429, refused: true, waitMs, waitFrom: 'retry_after' } as const;
    ledger.observe(ticket, reading);
  };
  return { clock, ledger, take, sendOther, refuse };
}

test('a request that is aborted in the queue does not let those behind it pass the first one', async () => {
  const { clock, ledger, take } = open(60_000);
  await ledger.acquire(100);
  const aborted = new AbortController();
  const [first, second, third] = [take(1000), take(2000, aborted.signal), take(3000)];
  aborted.abort();
  await expect(second).rejects.toBe(aborted.signal.reason);
  await clock.advance(100);
  expect([...ledger.asked]).toEqual([100, 1000]);
  await clock.advance(5000);
  await first;
  ledger.release(await first, 'unsent');
  await clock.advance(100);
  await third;
});

test('a request waits for 30 s at most before it asks again, since the quota may have been cleared', async () => {
  const { clock, ledger, take, sendOther, refuse } = open(120_000);
  refuse(await sendOther(), 60_000);
  const waiting = take(1000);
  await clock.advance(0);
  await ledger.forget();
  await clock.advance(30_000);
  expect(await waiting).toBeTypeOf('string');
});

test('the wait for another process begins anew after a block', async () => {
  const { clock, ledger, take, sendOther, refuse } = open(4000);
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) await clock.advance(100);
  };
  const first = await sendOther();
  const waiting = take(1000);
  await pass(3000);
  refuse(first, 2000);
  await pass(1000);
  // The clock wakes no sleeper, so the other process is the first after the block.
  clock.at += 1000;
  const probe = await sendOther();
  await pass(3500);
  ledger.release(probe, 'lost');
  await pass(200);
  expect(await waiting).toBeTypeOf('string');
});
