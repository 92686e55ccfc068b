// Attempts, retries, waits and interruptions of the HTTP client, in virtual time.
import { expect, test } from 'vitest';
import { PetstoreError } from '../../src/errors.ts';
import { createHttpClient } from '../../src/http/http-client.ts';
import type { HttpRequest, Transport, Wait } from '../../src/http/types.ts';
import { TransportError } from '../../src/http/types.ts';
import type { Ledger } from '../../src/rate-limit/ledger.ts';
import { openLedger } from '../../src/rate-limit/ledger.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { tempDir } from '../support/temp-dir.ts';

const LIST: HttpRequest = { method: 'GET', path: '/categories', safe: true };
const CREATE: HttpRequest = { method: 'POST', path: '/categories', body: '{"name":"dog"}', safe: false };

type Step =
  | {
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string;
      readonly ms?: number;
      readonly connectMs?: number;
    }
  | { readonly fails: TransportError; readonly ms?: number; readonly connectMs?: number };

interface Options {
  readonly draw?: number;
  readonly maxWaitMs?: number;
  readonly maxRetries?: number;
  readonly signal?: AbortSignal;
  readonly dir?: string;
  readonly clock?: FakeClock;
}

// A client whose attempts end with these steps in turn; the last one repeats.
function scripted(steps: readonly Step[], options: Options = {}) {
  const clock = options.clock ?? new FakeClock(undefined, () => options.draw ?? 0);
  const stateDir = options.dir ?? tempDir();
  const sentAt: number[] = [];
  const waits: (Wait | undefined)[] = [];
  const open = (): Ledger => openLedger({ stateDir, tempDir: stateDir, identity: 'test', key: 'test-key', clock });
  const ledger = open();
  const transport: Transport = {
    close: async () => undefined,
    async send(_request, how) {
      const step = steps[Math.min(sentAt.length, steps.length - 1)] as Step;
      if (step.connectMs !== undefined) await clock.sleep(step.connectMs);
      if (how.canSend?.() === false) throw new TransportError('aborted', false, 'withdrawn');
      const started = clock.now();
      sentAt.push(started);
      const rest = { sentAt: started, receivedAt: started };
      await clock.sleep(step.ms ?? 10, how.signal).catch(() => {
        throw new TransportError('aborted', true, 'interrupted');
      });
      if ('fails' in step) throw step.fails;
      const head = { ...rest, status: step.status, headers: step.headers ?? {}, receivedAt: clock.now() };
      how.onHead?.(head);
      return { ...head, body: Buffer.from(step.body ?? '') };
    },
  };
  const sender = createHttpClient({
    transport,
    ledger,
    clock,
    signal: options.signal ?? new AbortController().signal,
    limits: {
      maxWaitMs: options.maxWaitMs ?? 120_000,
      maxRetries: options.maxRetries ?? 4,
      timeoutMs: 30_000,
      names: { maxWait: '--max-wait', timeout: '--timeout' },
    },
    onWait: (wait) => waits.push(wait),
  });
  const gaps = (): number[] => sentAt.slice(1).map((at, index) => at - (sentAt[index] ?? 0));
  return { sender, clock, sentAt, gaps, waits, ledger, open, stateDir };
}

const caught = (promise: Promise<unknown>): Promise<PetstoreError> =>
  promise.then(
    () => {
      throw new Error('nothing was thrown');
    },
    (error) => error as PetstoreError,
  );

const headers = (remaining: number, resetInS = 40): Record<string, string> => ({
  'x-ratelimit-limit': '60',
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(resetInS),
});

test('a response is returned, and its quota is known to other processes', async () => {
  const { sender, open } = scripted([{ status: 200, headers: headers(57) }]);
  expect((await sender.send(LIST)).status).toBe(200);
  expect(open().view().window).toMatchObject({ limit: 60, remaining: 57 });
});

test('a create is resent after the wait stated by a 429, and the stated wait is not multiplied', async () => {
  const steps = [
    { status: 429, headers: { 'retry-after': '2' } },
    { status: 429, headers: { 'retry-after': '3' } },
    { status: 201 },
  ];
  const { sender, gaps, waits } = scripted(steps);
  expect((await sender.send(CREATE)).status).toBe(201);
  expect(gaps()).toEqual([2010, 3010]);
  expect(waits.map((wait) => wait?.reason)).toEqual(['blocked', undefined, 'blocked', undefined]);
});

test('the reported wait equals the actual wait, and the error after the last attempt has the time to retry', async () => {
  const { sender, waits, clock } = scripted([{ status: 429 }], { maxRetries: 1 });
  const started = clock.now();
  const error = await caught(sender.send(LIST));
  expect(waits[0]?.until).toBe(started + 1010);
  expect(error.retryAt).toBe(started + 1020 + 2000);
  expect(error.message).toBe('still rate limited (429) after the last attempt');
  expect(error.hint).toBe('try again in 2s');
});

test('a 429 counts as an attempt only if no request of the run succeeded since the last attempt', async () => {
  const { sender, sentAt } = scripted([{ status: 429 }, { status: 201 }, { status: 429 }], { maxRetries: 1 });
  // The first create gets a 429 and the second a 201, so the first has two attempts again.
  const [first, second] = [caught(sender.send(CREATE)), sender.send(CREATE)];
  expect((await second).status).toBe(201);
  expect((await first).kind).toBe('rate_limited');
  expect(sentAt).toHaveLength(4);
});

test('a 429 with a wait beyond --max-wait fails with the time to retry, and no process sends another request', async () => {
  const steps = [{ status: 429, headers: { 'retry-after': '61' } }];
  const { sender, sentAt, clock, stateDir } = scripted(steps, { maxWaitMs: 30_000 });
  const error = await caught(sender.send(LIST));
  const retryAt = (sentAt[0] ?? 0) + 10 + 61_000;
  expect(error).toMatchObject({ kind: 'rate_limited', retryAt });
  expect(sentAt).toHaveLength(1);
  // The next process reads the block from the ledger.
  const next = scripted([{ status: 200 }], { maxWaitMs: 30_000, dir: stateDir, clock });
  expect(await caught(next.sender.send(LIST))).toMatchObject({ kind: 'rate_limited', retryAt });
  expect(next.sentAt).toHaveLength(0);
});

test.each([
  ['a 429 with a wait beyond --max-wait', '61', 4],
  ['a 429 to the last attempt', '1', 0],
])("the error after %s has the service's code and message", async (_what, retryAfter, maxRetries) => {
  const body = '{"code":"too_many","message":"slow\\u001b down","status":429}';
  const steps = [{ status: 429, headers: { 'retry-after': retryAfter }, body }];
  const { sender, stateDir, clock } = scripted(steps, { maxWaitMs: 30_000, maxRetries });
  const error = await caught(sender.send(LIST));
  expect(error).toMatchObject({ kind: 'rate_limited', code: 'too_many', status: 429 });
  expect(error.message).toMatch(/429.*: slow␛ down$/);
  // A request that is not sent has no response.
  const next = scripted([{ status: 200 }], { maxWaitMs: 0, dir: stateDir, clock });
  expect(await caught(next.sender.send(LIST))).toMatchObject({ code: undefined, status: undefined });
});

test('closing the client waits for requests in flight, and other processes learn of their 429', async () => {
  const { sender, open } = scripted([{ status: 429, headers: { 'retry-after': '60' }, ms: 200 }], { maxRetries: 0 });
  const sent = caught(sender.send(LIST));
  await sender.close();
  expect(open().view()).toMatchObject({ inFlight: 0, blocked: { reason: 'retry_after' } });
  expect((await sent).kind).toBe('rate_limited');
});

test('a 503 to a create delays the next create, and a 503 to a read delays only its retry', async () => {
  const { sender, gaps } = scripted([{ status: 503 }, { status: 201 }]);
  expect((await sender.send(CREATE)).status).toBe(503);
  expect((await sender.send(CREATE)).status).toBe(201);
  expect(gaps()).toEqual([1010]);
  const read = scripted([{ status: 503 }, { status: 200 }]);
  expect((await read.sender.send(LIST)).status).toBe(200);
  expect(read.gaps()).toEqual([310]);
});

test('a request with no quota left waits for the reset before it is sent', async () => {
  const { sender, gaps, waits } = scripted([
    { status: 200, headers: headers(0) },
    { status: 200, headers: headers(59, 60) },
  ]);
  await sender.send(LIST);
  await sender.send(LIST);
  expect(gaps()[0]).toBe(41_010);
  expect(waits[0]).toMatchObject({ reason: 'window' });
});

test('a request is not sent if no quota is left and the reset is beyond --max-wait, but is if the wait equals it', async () => {
  // The reset is 40 s ahead, and its resolution is a second.
  for (const [maxWaitMs, sent] of [
    [40_999, 1],
    [41_000, 2],
  ] as const) {
    const { sender, sentAt } = scripted([{ status: 200, headers: headers(0) }, { status: 200 }], { maxWaitMs });
    await sender.send(LIST);
    const outcome = await sender.send(LIST).catch((error: PetstoreError) => error);
    expect(outcome).toMatchObject(sent === 1 ? { kind: 'rate_limited', exitCode: 5 } : { status: 200 });
    expect(sentAt).toHaveLength(sent);
  }
});

const reset = new TransportError('reset', true, 'the connection was closed');
const refused = new TransportError('connect', false, 'ECONNREFUSED');

test('a read without a response is retried with backoff and then fails with a network error', async () => {
  const { sender, sentAt, gaps, waits } = scripted([{ fails: reset }], { draw: 0.5 });
  expect(await caught(sender.send(LIST))).toMatchObject({ kind: 'network', exitCode: 6 });
  expect(sentAt).toHaveLength(5);
  expect(gaps().map((gap, index) => gap > (gaps()[index - 1] ?? 0))).toEqual([true, true, true, true]);
  expect(waits[0]?.reason).toBe('backoff');
});

test('a create is never resent once a byte of it may have been sent', async () => {
  const { sender, sentAt } = scripted([{ fails: reset }]);
  const error = await caught(sender.send(CREATE));
  expect(error).toMatchObject({
    kind: 'unknown_outcome',
    exitCode: 8,
    processed: 'perhaps',
    hint: 'check whether the request was processed before you retry',
  });
  expect(sentAt).toHaveLength(1);
});

test.each([
  ['a timeout', 'late', new TransportError('timeout', true, 'no response')],
  ['a lost response', 'perhaps', new TransportError('reset', true, 'closed')],
  ['a failed connection', 'no', new TransportError('connect', false, 'refused')],
])('the error of a create after %s has `processed` "%s"', async (_what, processed, fails) => {
  const { sender } = scripted([{ fails }], { maxRetries: 0 });
  expect(await caught(sender.send(CREATE))).toMatchObject({ processed });
});

test('a create whose connection fails is sent again, and its tickets are released', async () => {
  const { sender, sentAt, ledger } = scripted([
    { fails: refused },
    { fails: refused },
    { status: 201, headers: headers(59) },
  ]);
  expect((await sender.send(CREATE)).status).toBe(201);
  expect(sentAt).toHaveLength(3);
  expect(ledger.view()).toMatchObject({ inFlight: 0, window: { remaining: 59 } });
});

function interruption(): { controller: AbortController; reason: PetstoreError } {
  return {
    controller: new AbortController(),
    reason: new PetstoreError('interrupted', 'interrupted', { exitCode: 143 }),
  };
}

test('an interruption ends a wait immediately and leaves no ticket open', async () => {
  const { controller, reason } = interruption();
  const clock = new FakeClock(undefined, () => 0);
  const { sender, sentAt, ledger } = scripted([{ status: 200, headers: headers(0) }], {
    signal: controller.signal,
    clock,
  });
  await sender.send(LIST);
  const started = clock.now();
  void clock.sleep(5000).then(() => controller.abort(reason));
  expect(await caught(sender.send(LIST))).toBe(reason);
  expect(clock.now() - started).toBe(5000);
  expect(sentAt).toHaveLength(1);
  expect(ledger.view().inFlight).toBe(0);
});

test('an interrupted create waits two seconds for its response, and then its outcome is unknown', async () => {
  const { controller, reason } = interruption();
  const { sender, clock } = scripted([{ status: 201, ms: 20_000 }], { signal: controller.signal });
  void clock.sleep(100).then(() => controller.abort(reason));
  const started = clock.now();
  const error = await caught(sender.send(CREATE));
  expect(clock.now() - started).toBe(2100);
  expect(error).toMatchObject({
    kind: 'interrupted',
    exitCode: 143,
    processed: 'perhaps',
    hint: 'check whether the request was processed before you retry',
  });
});

test('a create interrupted before it is connected is not sent and releases its ticket', async () => {
  const { controller, reason } = interruption();
  const { sender, clock, sentAt, ledger } = scripted([{ status: 201, connectMs: 500 }], { signal: controller.signal });
  void clock.sleep(100).then(() => controller.abort(reason));
  expect(await caught(sender.send(CREATE))).toBe(reason);
  expect(sentAt).toHaveLength(0);
  expect(ledger.view().inFlight).toBe(0);
});

test('an interrupted create returns a response that arrives within two seconds', async () => {
  const { controller, reason } = interruption();
  const { sender, clock } = scripted([{ status: 201, ms: 1500 }], { signal: controller.signal });
  void clock.sleep(100).then(() => controller.abort(reason));
  expect((await sender.send(CREATE)).status).toBe(201);
  expect(await caught(sender.send(CREATE))).toBe(reason);
});

test('a request whose connection is being made when another process gets a 429 is sent after the block', async () => {
  const clock = new FakeClock(undefined, () => 0);
  const steps = [
    { status: 200, headers: headers(50) },
    { status: 200, headers: headers(49), connectMs: 300 },
  ];
  const { sender, sentAt, ledger, open } = scripted(steps, { clock });
  await sender.send(LIST);
  const other = open();
  const result = await other.acquire(30_000);
  const started = clock.now();
  const granted = sender.send(LIST);
  await clock.sleep(100);
  const head = { at: clock.now(), status: 429, limit: 60, remaining: 0, reset: undefined, offset: undefined };
  const ticket = result.granted ? result.ticket : '';
  other.observe(ticket, { ...head, waitMs: 9000, waitFrom: 'retry_after', refused: true });
  await granted;
  // The 429 came after 100 ms and stated 9 s; the second connection takes another 300 ms.
  expect(sentAt.slice(1).map((at) => at - started)).toEqual([9400]);
  expect(ledger.view().inFlight).toBe(0);
});

test('an error from beforeSend is thrown, nothing is sent, and the ticket is released', async () => {
  const { sender, sentAt, ledger } = scripted([{ status: 201, connectMs: 300 }]);
  const reason = new PetstoreError('storage', 'another run has taken over');
  let calls = 0;
  const beforeSend = (): void => {
    calls++;
    throw reason;
  };
  expect(await caught(sender.send({ ...CREATE, beforeSend }))).toBe(reason);
  expect([sentAt.length, calls, ledger.view().inFlight]).toEqual([0, 1, 0]);
});

test('--max-wait limits the wait for a request of another process', async () => {
  const clock = new FakeClock(undefined, () => 0);
  const { sender, sentAt, open, waits } = scripted([{ status: 200 }], { clock, maxWaitMs: 2000 });
  await open().acquire(30_000);
  const started = clock.now();
  const error = await caught(sender.send(LIST));
  expect(Math.round(clock.now() - started)).toBe(2000);
  expect(error).toMatchObject({ kind: 'rate_limited', exitCode: 5, retryAt: undefined });
  expect(Math.round((waits[0]?.until ?? 0) - started)).toBe(2000);
  expect(sentAt).toHaveLength(0);
});

test('--max-wait does not limit the wait for a request of this process, nor count it as one for another', async () => {
  const clock = new FakeClock(undefined, () => 0);
  const script = [{ status: 200, ms: 5000, headers: headers(1) }, { status: 200 }];
  const { sender, sentAt, open } = scripted(script, { clock, maxWaitMs: 2000 });
  const other = open();
  const first = sender.send(LIST).then(async () => {
    // Another process takes the last request of the window first.
    const result = await other.acquire(30_000);
    await clock.sleep(1000);
    other.release(result.granted ? result.ticket : '', 'unsent');
  });
  await Promise.all([first, sender.send(LIST)]);
  expect(sentAt).toHaveLength(2);
  expect(sentAt[1] ?? 0).toBeGreaterThanOrEqual((sentAt[0] ?? 0) + 6000);
});

test('a request with a timeout of its own counts in other processes until that timeout', async () => {
  const clock = new FakeClock(undefined, () => 0);
  const script = [
    { status: 200, headers: headers(1, 600) },
    { status: 200, connectMs: 30_000, ms: 30_000 },
  ];
  const { sender, open } = scripted(script, { clock });
  await sender.send(LIST);
  const sent = sender.send({ ...LIST, timeoutMs: 120_000 });
  for (let passed = 0; passed < 50_000; passed += 10_000) await clock.sleep(10_000);
  expect(await open().acquire(30_000)).toMatchObject({ granted: false });
  await sent;
});

test('a wait for a slow request of another process is reported and ends with that request', async () => {
  const clock = new FakeClock(undefined, () => 0);
  const { sender, waits, open } = scripted([{ status: 200, headers: headers(50) }], { clock });
  const other = open();
  const result = await other.acquire(30_000);
  void clock.sleep(5000).then(() => other.release(result.granted ? result.ticket : '', 'lost'));
  await sender.send(LIST);
  expect(waits.map((wait) => wait?.reason)).toEqual(['pending', undefined]);
});
