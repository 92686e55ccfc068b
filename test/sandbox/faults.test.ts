// Faults on demand: how they are written, what each does to a request, and that a seed repeats them.
import { expect, test } from 'vitest';
import type { FaultKind } from '../../src/sandbox/faults.ts';
import { describeFault, drawFaultPlan, FAULT_KINDS, parseFault, seededRandom } from '../../src/sandbox/faults.ts';
import { handClock, KEY, sendRaw, startTest } from './support.ts';

const fault = (text: string): { headers: Record<string, string> } => ({ headers: { 'x-sandbox-fault': text } });

test.each([
  ['latency', { kind: 'latency', percent: 100, ms: 1000 }],
  ['latency=300ms:50', { kind: 'latency', percent: 50, ms: 300 }],
  ['503:0.5', { kind: '503', percent: 0.5, ms: 0 }],
  ['reset-before', { kind: 'reset', percent: 100, ms: 0 }],
  ['skewed-date=-10m', { kind: 'skewed-date', percent: 100, ms: -600_000 }],
  ['429=5s', { kind: '429', percent: 100, ms: 5000 }],
  ['503:101', undefined],
  ['503=1s', undefined],
  ['latency=-1s', undefined],
  ['latency=soon', undefined],
  ['constructor', undefined],
  ['', undefined],
])('--fault %s', (text, rule) => {
  expect(parseFault(text)).toEqual(rule);
});

test('a fault is told as it is written', () => {
  for (const text of ['500', 'latency=300ms:50', 'skewed-date=-10m', '429=5s']) {
    expect(describeFault(parseFault(text) as never)).toBe(text);
  }
});

test.each(['500', '503', '500-after-commit'])('%s answers in the Error shape', async (kind) => {
  const { create, list } = await startTest();
  const answer = await create({ name: 'dog' }, fault(kind));
  const status = Number(kind.slice(0, 3));
  expect([answer.status, answer.json]).toEqual([
    status,
    { code: 'injected_fault', message: expect.any(String), status },
  ]);
  expect((await list()).json).toHaveLength(kind.endsWith('commit') ? 1 : 0);
  expect((await list(fault(kind))).status).toBe(status);
});

test.each([
  ['reset', 'ECONNRESET', 0],
  ['reset-after-commit', 'ECONNRESET', 1],
  ['lost-reply', 'ECONNRESET', 1],
])('%s ends the connection without an answer', async (kind, code, created) => {
  const { create, list } = await startTest();
  await expect(create({ name: 'dog' }, fault(kind))).rejects.toMatchObject({ code });
  await expect(list(fault(kind))).rejects.toMatchObject({ code });
  expect((await list()).json).toHaveLength(created);
});

test('hang never answers, though the create is committed; the end of the sandbox ends the wait', async () => {
  const sandbox = await startTest();
  const waiting = sandbox.create({ name: 'dog' }, fault('hang')).then(
    () => 'answered',
    () => 'ended',
  );
  while ((await sandbox.list()).json.length === 0);
  await sandbox.close();
  expect(await waiting).toBe('ended');
});

test('truncate closes in the middle of the body that was declared whole', async () => {
  const { create, list } = await startTest();
  await expect(create({ name: 'dog' }, fault('truncate'))).rejects.toMatchObject({ code: 'ECONNRESET' });
  await expect(list(fault('truncate'))).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect((await list()).json).toHaveLength(1);
});

test('garbage answers with what is no JSON, under the same status and type', async () => {
  const { create } = await startTest();
  const answer = await create({ name: 'dog' }, fault('garbage'));
  expect([answer.status, answer.headers['content-type'], answer.json]).toEqual([201, 'application/json', undefined]);
});

test('wrong-length sends more than it declares', async () => {
  const { port } = await startTest();
  const text = await sendRaw(port, get(port, 'wrong-length', '/v1/store/orders'));
  const declared = Number(/content-length: (\d+)/i.exec(text)?.[1]);
  expect(text.slice(text.indexOf('\r\n\r\n') + 4).length).toBe(declared + 5);
});

test('latency waits before the answer, for as long as it takes', async () => {
  const clock = handClock();
  const { list } = await startTest({ clock });
  expect((await list(fault('latency=70s'))).status).toBe(200);
  expect(clock.slept).toEqual([30_000, 30_000, 10_000]);
});

test('an answer that is late when the sandbox ends is never sent, and keeps nothing waiting', async () => {
  const sandbox = await startTest();
  const waiting = sandbox.list(fault('latency=1h')).catch(() => 'cut off');
  // It has arrived when one request more is counted than these.
  for (let asked = 1; (await sandbox.list()).headers['x-ratelimit-remaining'] !== String(59 - asked); asked++);
  await sandbox.close();
  expect(await waiting).toBe('cut off');
});

test('429 refuses although the limit is not reached, and bans nobody', async () => {
  const { list } = await startTest({ clock: handClock() });
  for (let i = 0; i < 10; i++) {
    const answer = await list(fault('429=5s'));
    expect([answer.status, answer.json.code, answer.headers['retry-after']]).toEqual([429, 'rate_limited', '5']);
  }
  expect((await list()).status).toBe(200);
});

test('skewed-date tells Date, reset and Retry-After by the same wrong clock', async () => {
  const clock = handClock();
  const { list } = await startTest({ clock, limits: [{ count: 1, ms: 60_000 }], retryAfter: 'date' });
  const answer = await list(fault('skewed-date=-10m'));
  expect(answer.headers['date']).toBe('Sat, 21 Nov 2026 11:50:10 GMT');
  expect(Number(answer.headers['x-ratelimit-reset']) * 1000).toBe(Date.parse('2026-11-21T11:51:00Z'));
  expect((await list(fault('skewed-date'))).headers['retry-after']).toBe('Sat, 21 Nov 2026 13:01:00 GMT');
});

test('several faults may be asked for: delays add up, the first other one decides', async () => {
  const clock = handClock();
  const { list } = await startTest({ clock });
  expect((await list(fault('latency=100ms, latency=200ms, 503, 500'))).status).toBe(503);
  expect(clock.slept).toEqual([300]);
});

test('a fault nobody knows is a 400 that names the ones there are', async () => {
  const { list } = await startTest();
  const answer = await list(fault('tsunami'));
  expect([answer.status, answer.json.code]).toEqual([400, 'unknown_fault']);
  for (const kind of Object.keys(FAULT_KINDS)) expect(answer.json.message).toContain(kind);
});

test('the faults of the server strike as often as they are told to, and the same again with the same seed', async () => {
  const run = async (seed: number): Promise<number[]> => {
    const { list } = await startTest({ faults: [{ kind: '503', percent: 30, ms: 0 }], seed, limits: [] });
    const statuses: number[] = [];
    for (let i = 0; i < 100; i++) statuses.push((await list()).status);
    return statuses;
  };
  const first = await run(7);
  expect(await run(7)).toEqual(first);
  expect(await run(8)).not.toEqual(first);
  const struck = first.filter((status) => status === 503).length;
  expect(struck).toBeGreaterThan(15);
  expect(struck).toBeLessThan(45);
});

test('a draw is spread evenly', () => {
  const random = seededRandom(1);
  const rules = [{ kind: 'reset' as FaultKind, percent: 25, ms: 0 }];
  let struck = 0;
  for (let i = 0; i < 100_000; i++) if (drawFaultPlan(rules, random).fault) struck += 1;
  expect(Math.abs(struck - 25_000)).toBeLessThan(700);
});

function get(port: number, kind: string, path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${KEY}\r\nx-sandbox-fault: ${kind}\r\n\r\n`;
}
