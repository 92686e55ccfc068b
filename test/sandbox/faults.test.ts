// Injected faults: syntax, effect on a request, and reproduction from a seed.
import { expect, test } from 'vitest';
import { FAULT_KINDS, parseFault } from '../../src/sandbox/faults.ts';
import { noonClock, startTestSandbox } from './support.ts';

const fault = (text: string): { headers: Record<string, string> } => ({ headers: { 'x-sandbox-fault': text } });

test.each([
  ['latency', { kind: 'latency', percent: 100, delayMs: 1000 }],
  ['latency=300ms:50', { kind: 'latency', percent: 50, delayMs: 300 }],
  ['503:0.5', { kind: '503', percent: 0.5, delayMs: 0 }],
  ['503:101', undefined],
  ['503=1s', undefined],
  ['latency=-1s', undefined],
  ['latency=soon', undefined],
  ['constructor', undefined],
  ['', undefined],
])("parseFault('%s') returns %j", (text, rule) => {
  expect(parseFault(text)).toEqual(rule);
});

test.each([500, 503])('the fault %i responds with an Error object and creates nothing', async (status) => {
  const { create, list } = await startTestSandbox();
  const response = await create({ name: 'dog' }, fault(String(status)));
  expect([response.status, response.json]).toEqual([
    status,
    { code: 'injected_fault', message: expect.any(String), status },
  ]);
  expect((await list()).json).toHaveLength(0);
  expect((await list(fault(String(status)))).status).toBe(status);
});

test.each([
  ['reset', 0],
  ['lost-response', 1],
  ['truncate', 1],
])('the fault %s ends the connection before the response is complete', async (kind, created) => {
  const { create, list } = await startTestSandbox();
  await expect(create({ name: 'dog' }, fault(kind))).rejects.toMatchObject({ code: 'ECONNRESET' });
  await expect(list(fault(kind))).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect((await list()).json).toHaveLength(created);
});

test('the fault garbage keeps status and content type but sends no JSON', async () => {
  const { create } = await startTestSandbox();
  const response = await create({ name: 'dog' }, fault('garbage'));
  expect([response.status, response.headers['content-type']]).toEqual([201, 'application/json']);
  expect(response.json).toBeUndefined();
});

test('the fault latency delays the response by the requested time', async () => {
  const clock = noonClock();
  const { list } = await startTestSandbox({ clock });
  expect((await list(fault('latency=70s'))).status).toBe(200);
  expect(clock.slept).toEqual([30_000, 30_000, 10_000]);
});

test('closing the sandbox does not wait for a delayed response', async () => {
  const sandbox = await startTestSandbox();
  const waiting = sandbox.list(fault('latency=1h')).catch(() => 'closed');
  // Wait until the delayed request is counted too.
  for (let sent = 1; (await sandbox.list()).headers['x-ratelimit-remaining'] !== String(59 - sent); sent++);
  await sandbox.close();
  expect(await waiting).toBe('closed');
});

test('the delays of several faults add up, and the first other fault applies', async () => {
  const clock = noonClock();
  const faults = ['latency=100ms', 'latency=200ms', '503', '500'].flatMap((text) => parseFault(text) ?? []);
  const { list } = await startTestSandbox({ clock, faults });
  expect((await list()).status).toBe(503);
  expect(clock.slept).toEqual([300]);
});

test('a request with an unknown fault gets a 400 that lists the known faults', async () => {
  const { list } = await startTestSandbox();
  const response = await list(fault('tsunami'));
  expect([response.status, response.json.code]).toEqual([400, 'unknown_fault']);
  for (const kind of FAULT_KINDS) expect(response.json.message).toContain(kind);
});

test('a fault of 30 percent occurs in about 30 of 100 responses, and the same seed repeats it', async () => {
  const run = async (seed: number): Promise<number[]> => {
    const { list } = await startTestSandbox({ faults: [{ kind: '503', percent: 30, delayMs: 0 }], seed, limits: [] });
    const statuses: number[] = [];
    for (let i = 0; i < 100; i++) statuses.push((await list()).status);
    return statuses;
  };
  const first = await run(7);
  expect(await run(7)).toEqual(first);
  expect(await run(8)).not.toEqual(first);
  const failed = first.filter((status) => status === 503).length;
  expect(failed).toBeGreaterThan(15);
  expect(failed).toBeLessThan(45);
});
