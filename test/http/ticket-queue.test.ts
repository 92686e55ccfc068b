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

test('a request that is aborted in the queue does not let those behind it pass the first one', async () => {
  const clock = FakeClock.manual();
  const ledger = new AskedLedger({ stateDir: tempDir(), baseUrl: 'test', key: 'test-key', clock });
  const limits = { maxWaitMs: 60_000, maxRetries: 0, timeoutMs: 0, optionNames: { maxWait: '', timeout: '' } };
  const transport = { send: () => Promise.reject(new Error('unused')), close: async () => undefined };
  const { signal } = new AbortController();
  const queue = new TicketQueue({ transport, ledger, clock, signal, limits }, () => false);
  await ledger.acquire(100);
  const aborted = new AbortController();
  const take = (timeoutMs: number, by = signal) => queue.take({ signal: by, timeoutMs, refusal: undefined });
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
