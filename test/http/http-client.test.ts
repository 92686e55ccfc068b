// Attempts, retries, waits and interruptions of the HTTP client, in virtual time.
import { expect, test } from 'vitest';
import { PetstoreError } from '../../src/errors.ts';
import { HttpClient } from '../../src/http/http-client.ts';
import type { HttpRequest, HttpWait, RequestLimits, Transport } from '../../src/http/types.ts';
import { TransportError } from '../../src/http/types.ts';
import type { Ledger } from '../../src/rate-limit/ledger.ts';
import { openMachineLedger } from '../../src/rate-limit/machine-ledger.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

const LIST: HttpRequest = { method: 'GET', path: '/categories' };
const CREATE: HttpRequest = { method: 'POST', path: '/categories', body: '{"name":"dog"}' };

/** The end of an attempt: a status, an error, or an error after the head of a response. */
interface Step {
  readonly status?: number;
  readonly fails?: TransportError;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly ms?: number;
  readonly connectMs?: number;
}

// A client whose attempts end with these steps in turn; the last one repeats.
function scripted(steps: readonly Step[], options: Partial<RequestLimits> & { dir?: string; clock?: FakeClock } = {}) {
  const { maxWaitMs = 120_000, maxRetries = 4, dir = tempDir(), clock = new FakeClock(undefined, () => 0) } = options;
  const sentAt: number[] = [];
  const waits: (HttpWait | undefined)[] = [];
  const open = (): Ledger => openMachineLedger({ stateDir: dir, baseUrl: 'test', key: 'test-key', clock });
  const ledger = open();
  const transport: Transport = {
    close: async () => undefined,
    async send(_request, how) {
      const step = steps[Math.min(sentAt.length, steps.length - 1)] as Step;
      if (step.connectMs) await clock.sleep(step.connectMs);
      how.beforeSend?.();
      const started = clock.now();
      sentAt.push(started);
      await clock.sleep(step.ms ?? 10, how.signal).catch(() => {
        throw new TransportError('aborted', true, 'interrupted');
      });
      const { status, fails, headers = {} } = step;
      const head = { status: status ?? 0, headers, sentAt: started, receivedAt: clock.now() };
      if (status) how.onHead?.(head);
      if (fails) throw fails;
      return { ...head, body: Buffer.from(step.body ?? '') };
    },
  };
  const controller = new AbortController();
  const limits = { maxWaitMs, maxRetries, timeoutMs: 30_000 };
  const onWait = (wait: HttpWait | undefined): void => void waits.push(wait);
  const sender = new HttpClient({ transport, ledger, clock, signal: controller.signal, limits, onWait });
  const gaps = (): number[] => sentAt.slice(1).map((at, index) => at - (sentAt[index] ?? 0));
  return { sender, clock, sentAt, gaps, waits, ledger, open, dir, controller };
}

const INTERRUPTED = new PetstoreError('interrupted', 'interrupted', { exitCode: 143 });

/** The rate-limit headers of a window that resets 40.01 s after the start of the clock. */
const headers = (remaining: number): Record<string, string> => ({
  'x-ratelimit-limit': '60',
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': '1795262450.010',
});

test('a create is resent when the wait that a 429 states has passed, without an additional backoff', async () => {
  const refusal = (seconds: number) => ({ status: 429, headers: { 'retry-after': String(seconds) } });
  const { sender, gaps, waits, sentAt } = scripted([refusal(2), refusal(3), { status: 201 }]);
  expect((await sender.send(CREATE)).status).toBe(201);
  expect(gaps()).toEqual([2010, 3010]);
  const blocked = (until: number | undefined) => ({ reason: 'blocked', until, status: 429 });
  expect(waits).toEqual([blocked(sentAt[1]), undefined, blocked(sentAt[2]), undefined]);
});

test.each([
  // The first create gets a 429 and the second a 201, so the first has two attempts again.
  ['does not count', 201, 4],
  ['does not count', 400, 4],
  ['counts', 500, 3],
])(
  'an attempt that gets a 429 %s toward `maxRetries` if another request then gets a %i',
  async (_counts, status, sent) => {
    const { sender, sentAt } = scripted([{ status: 429 }, { status }, { status: 429 }], { maxRetries: 1 });
    const first = expect(sender.send(CREATE)).rejects.toMatchObject({ kind: 'rate_limited' });
    expect((await sender.send(CREATE)).status).toBe(status);
    await first;
    expect(sentAt).toHaveLength(sent);
  },
);

test.each([
  [
    'with a wait beyond the maximum',
    31,
    4,
    'rate limited for another 31s after a 429, which exceeds the maximum wait of 30s',
    'use a longer maxWaitMs',
  ],
  ['to the last attempt', 1, 0, 'still rate limited (429) after the last attempt', 'try again in 1s'],
])(
  "after a 429 %s, the error has the service's message and a retry time, and another process sends nothing until then",
  async (_what, seconds, maxRetries, problem, hint) => {
    const body = '{"code":"too_many","message":"slow\\u001b down","status":429}';
    const steps = [{ status: 429, headers: { 'retry-after': String(seconds) }, body }];
    const { sender, sentAt, dir, clock } = scripted(steps, { maxWaitMs: 30_000, maxRetries });
    const sent = sender.send(LIST);
    await expect(sent).rejects.toMatchObject({ code: 'too_many', status: 429, hint });
    const limited = { kind: 'rate_limited', retryAt: (sentAt[0] ?? 0) + 10 + 1000 * seconds };
    await expect(sent).rejects.toMatchObject({ ...limited, message: `${problem}: slow␛ down` });
    expect(sentAt).toHaveLength(1);
    // The next process reads the block from the ledger, so its error has no code and no status.
    const next = scripted([{ status: 200 }], { maxWaitMs: 0, dir, clock });
    await expect(next.sender.send(LIST)).rejects.toMatchObject({ ...limited, code: undefined, status: undefined });
    expect(next.sentAt).toHaveLength(0);
  },
);

test('a client that is closed waits for its requests in flight, and shares their 429 with other processes', async () => {
  const { sender, open } = scripted([{ status: 429, headers: { 'retry-after': '60' }, ms: 200 }], { maxRetries: 0 });
  const sent = expect(sender.send(LIST)).rejects.toMatchObject({ kind: 'rate_limited' });
  await sender.close();
  expect(open().quota()).toMatchObject({ inFlight: 0, blocked: { reason: 'retry_after' } });
  await sent;
});

test('a 503 to a create delays the next create by 1 s, and a 503 to a read delays its retry by the Retry-After', async () => {
  const { sender, gaps, waits, sentAt } = scripted([{ status: 503 }, { status: 201 }]);
  expect((await sender.send(CREATE)).status).toBe(503);
  expect((await sender.send(CREATE)).status).toBe(201);
  expect(gaps()).toEqual([1010]);
  expect(waits[0]).toEqual({ reason: 'blocked', until: sentAt[1], status: 503 });
  const read = scripted([{ status: 503, headers: { 'retry-after': '4' } }, { status: 200 }]);
  expect((await read.sender.send(LIST)).status).toBe(200);
  expect(read.gaps()).toEqual([4010]);
});

test('if a 503 to a create delays the next request beyond the maximum wait, the error names the 503', async () => {
  const { sender } = scripted([{ status: 503 }], { maxWaitMs: 0 });
  await sender.send(CREATE);
  const message = expect.stringMatching(/^rate limited for another 1s after a 503, /);
  await expect(sender.send(LIST)).rejects.toMatchObject({ message });
});

test('if the quota is exhausted, a request waits for the reset, or fails if the wait exceeds `maxWaitMs`', async () => {
  // The reset is 40 s ahead, and may be rounded down by a second.
  const steps = [{ status: 200, headers: headers(0) }, { status: 200 }];
  const { sender, gaps, waits } = scripted(steps, { maxWaitMs: 41_000 });
  await sender.send(LIST);
  await sender.send(LIST);
  expect([gaps(), waits[0]?.reason]).toEqual([[41_010], 'window']);
  const hasty = scripted(steps, { maxWaitMs: 40_999 });
  await hasty.sender.send(LIST);
  await expect(hasty.sender.send(LIST)).rejects.toMatchObject({ kind: 'rate_limited' });
  expect(hasty.sentAt).toHaveLength(1);
});

const RESET = new TransportError('reset', true, 'the connection was closed');
const REFUSED = new TransportError('connect', false, 'connection refused');
const TIMEOUT = new TransportError('timeout', true, 'no response');
const LOST = { kind: 'unknown_outcome', processed: 'perhaps' };
const CHECK_FIRST = 'check whether the category exists before you retry';

const RETRIED = 'five times, with growing pauses';

test.each([
  ['a read whose connection is reset', RETRIED, LIST, { fails: RESET }, 5, { kind: 'network' }],
  ['a read whose response is cut off', RETRIED, LIST, { status: 200, fails: RESET }, 5, { kind: 'network' }],
  ['a create that cannot connect', RETRIED, CREATE, { fails: REFUSED }, 5, { kind: 'network', processed: 'no' }],
  ['a create whose connection is reset', 'once', CREATE, { fails: RESET }, 1, { ...LOST, hint: CHECK_FIRST }],
  ['a create that times out', 'once', CREATE, { fails: TIMEOUT }, 1, { ...LOST, processed: 'late' }],
  ['a create whose response is cut off', 'once', CREATE, { status: 201, fails: RESET }, 1, LOST],
])('%s is attempted %s', async (_what, _times, request, step, sent, error) => {
  const { sender, sentAt, gaps, waits, ledger } = scripted([step]);
  await expect(sender.send(request)).rejects.toMatchObject(error);
  expect([sentAt.length, ledger.quota().inFlight]).toEqual([sent, 0]);
  expect(gaps()).toEqual([...new Set(gaps())].sort((a, b) => a - b));
  expect(waits.map((wait) => wait?.reason)).toEqual(gaps().flatMap(() => ['backoff', undefined]));
});

const UNKNOWN = { kind: 'interrupted', details: { exitCode: 143 }, processed: 'perhaps', hint: CHECK_FIRST };

const UNSENT = { details: { exitCode: 143 }, processed: 'no' };

test.each<[string, HttpRequest, Step, number, number, object]>([
  ['read ends immediately', LIST, { ms: 1500 }, 100, 1, UNSENT],
  ['create that is not connected yet is not sent', CREATE, { connectMs: 500 }, 500, 0, UNSENT],
  ['create returns a response that arrives within two seconds', CREATE, { ms: 1500 }, 1500, 1, { status: 201 }],
  ['create without a response in two seconds has an unknown outcome', CREATE, { ms: 20_000 }, 2100, 1, UNKNOWN],
])('an interrupted %s', async (_what, request, step, ms, sent, expected) => {
  const { sender, clock, sentAt, ledger, controller } = scripted([{ status: 201, ...step }]);
  void clock.sleep(100).then(() => controller.abort(INTERRUPTED));
  const started = clock.now();
  expect(await sender.send(request).catch((error) => error)).toMatchObject(expected);
  expect([clock.now() - started, sentAt.length]).toEqual([ms, sent]);
  expect(ledger.quota().inFlight).toBe(0);
  await expect(sender.send(CREATE)).rejects.toBe(INTERRUPTED);
  await sender.close();
});

test('if another process gets a 429 while a request connects, the request is sent after the block', async () => {
  const steps = [
    { status: 200, headers: headers(50) },
    { status: 200, headers: headers(49), connectMs: 300 },
  ];
  const { sender, sentAt, ledger, open, clock } = scripted(steps);
  await sender.send(LIST);
  const other = open();
  const { ticket } = (await other.acquire(30_000)) as { ticket: string };
  const started = clock.now();
  const granted = sender.send(LIST);
  await clock.sleep(100);
  const head = { status: 429, limit: 60, remaining: 0, resetInMs: undefined };
  other.observe(ticket, { ...head, waitMs: 9000, waitFrom: 'retry_after', refused: true });
  await granted;
  // The 429 came after 100 ms and stated 9 s; the second connection takes another 300 ms.
  expect(sentAt.slice(1).map((at) => at - started)).toEqual([9400]);
  expect(ledger.quota().inFlight).toBe(0);
});

test('a stopped create is not sent if it waits for the rate limit, and gets its response if it was already sent', async () => {
  const { sender, sentAt, clock, ledger } = scripted([
    { status: 200, headers: headers(1) },
    { status: 201, ms: 500, headers: headers(0) },
  ]);
  await sender.send(LIST);
  const stop = new AbortController();
  const request = { ...CREATE, stop: stop.signal };
  const [sent, waiting] = [sender.send(request), expect(sender.send(request)).rejects.toBe(INTERRUPTED)];
  await clock.sleep(100);
  stop.abort(INTERRUPTED);
  await waiting;
  expect(clock.now()).toBeLessThan((sentAt[1] ?? 0) + 500);
  expect([(await sent).status, sentAt.length, ledger.quota().inFlight]).toEqual([201, 2, 0]);
});

test.each<[string, Step]>([
  ['a 429', { status: 429, headers: { 'retry-after': '2' } }],
  ['a 503', { status: 503 }],
  ['a lost response', { fails: RESET }],
])('a read with `once` is not retried after %s, even if another request succeeds', async (_what, step) => {
  const { sender, sentAt, clock } = scripted([{ status: 201, ms: 50 }, step, { status: 200 }]);
  const since = clock.monotonic();
  const [created, listed] = [sender.send(CREATE), sender.send({ ...LIST, once: true }).catch(() => 'failed')];
  expect([(await created).status, await listed]).toEqual([201, step.status === 503 ? expect.anything() : 'failed']);
  expect([sentAt.length, clock.monotonic() - since < 1000]).toEqual([2, true]);
});

test('a read with `once` does not wait for the rate limit', async () => {
  const { sender, sentAt, waits } = scripted([{ status: 200, headers: headers(0) }]);
  await sender.send(LIST);
  await expect(sender.send({ ...LIST, once: true })).rejects.toMatchObject({ kind: 'rate_limited' });
  expect([sentAt.length, waits]).toEqual([1, []]);
});

test('if `beforeSend` throws, the request fails with the same error, nothing is sent, and the ticket is released', async () => {
  const { sender, sentAt, ledger } = scripted([{ status: 201, connectMs: 300 }]);
  const reason = new PetstoreError('storage', 'another run has taken over');
  let calls = 0;
  const beforeSend = (): void => {
    calls++;
    throw reason;
  };
  await expect(sender.send({ ...CREATE, beforeSend })).rejects.toBe(reason);
  expect([sentAt.length, calls, ledger.quota().inFlight]).toEqual([0, 1, 0]);
});

test('a request with a longer timeout than the default counts as in flight for other processes until its response arrives', async () => {
  const { sender, open, clock } = scripted([{ status: 200, ms: 50_000 }]);
  const sent = sender.send({ ...LIST, timeoutMs: 120_000 });
  await clock.sleep(40_000);
  expect(open().quota().inFlight).toBe(1);
  await sent;
  expect(open().quota().inFlight).toBe(0);
});
