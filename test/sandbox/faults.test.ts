// Injected faults: syntax, effect on a request, and reproduction from a seed.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { drawFaultPlan, parseFault, seededRandom } from '../../src/sandbox/faults.ts';
import { FakeClock, ManualClock } from '../support/fake-clock.ts';
import { until } from '../support/processes.ts';
import { tempDir } from '../support/temp-dir.ts';
import { startTestSandbox } from './support.ts';

test.each([
  ['latency', { kind: 'latency', percent: 100, delayMs: 1000 }],
  ['latency=300ms:50', { kind: 'latency', percent: 50, delayMs: 300 }],
  ['503:0.5', { kind: '503', percent: 0.5, delayMs: 0 }],
  [' 503:0 ', { kind: '503', percent: 0, delayMs: 0 }],
])('the fault "%s" is parsed as %j', (text, expected) => {
  expect(parseFault(text, 'faults')).toEqual(expected);
});

test.each([
  ['503:101', 'invalid percentage "101" for faults'],
  ['503:', 'invalid percentage "" for faults'],
  ['503=1s', 'invalid value "503=1s" for faults'],
  ['latency=', 'invalid duration "" for faults'],
  ['latency=soon', 'invalid duration "soon" for faults'],
  ['constructor', 'invalid value "constructor" for faults'],
])('the fault "%s" is a usage error: %s', (text, message) => {
  expect(() => parseFault(text, 'faults')).toThrow(expect.objectContaining({ kind: 'usage', message }));
});

const FAILED = (status: number): string => `{"code":"injected_fault","message":"injected fault","status":${status}}`;

test.each([
  ['500', 0, [500, FAILED(500)]],
  ['503', 0, [503, FAILED(503)]],
  ['garbage', 1, [201, expect.not.stringMatching(/^[[{]/)]],
  ['reset', 0, ['ECONNRESET']],
  ['lost-response', 1, ['ECONNRESET']],
  ['truncate', 1, ['ECONNRESET']],
] as const)('after a create with the fault "%s", the number of categories is %i', async (kind, created, outcome) => {
  const data = join(tempDir(), 'data');
  const { create } = await startTestSandbox({ faults: [kind], data });
  const received = create({ name: 'dog' }).then(
    ({ status, text }) => [status, text],
    ({ code }) => [code],
  );
  expect(await received).toEqual(outcome);
  const plain = await startTestSandbox({ data });
  expect((await plain.list()).json).toHaveLength(created);
});

test('closing a sandbox ends delayed responses without a log entry or a warning', async () => {
  const clock = new ManualClock();
  const logged: unknown[] = [];
  const log = (entry: unknown): void => void logged.push(entry);
  const { list, close } = await startTestSandbox({ faults: ['latency=1h'], clock, onRequest: log });
  process.on('warning', log);
  onTestFinished(() => void process.off('warning', log));
  const waiting = Array.from({ length: 12 }, () => list().catch(() => 'closed'));
  await until(() => clock.slept.length === 12);
  await close();
  await clock.advance(3_600_000);
  expect([new Set(await Promise.all(waiting)), logged]).toEqual([new Set(['closed']), []]);
});

test('the delays of several latency faults add up, and the first fault of another kind applies', async () => {
  const clock = new FakeClock();
  const { list } = await startTestSandbox({ faults: ['latency=69s', 'latency', '503', '500'], clock });
  expect((await list()).status).toBe(503);
  expect(clock.slept).toEqual([70_000]);
});

test('a 30% fault occurs in about 30 of 100 responses, a 0% fault in none, and a seed reproduces the faults', async () => {
  const draw = (seed: number) => {
    const random = seededRandom(seed);
    return Array.from({ length: 100 }, () => drawFaultPlan([parseFault('503:30', 'faults')], random).fault);
  };
  expect(draw(7)).toEqual(draw(7));
  expect(draw(8)).not.toEqual(draw(7));
  expect(Math.abs(draw(7).filter((fault) => fault === '503').length - 30)).toBeLessThan(15);
  expect(drawFaultPlan([parseFault('503:0', 'faults')], () => 0).fault).toBeUndefined();
  const { list } = await startTestSandbox({ faults: ['503:30'], seed: 7 });
  for (const fault of draw(7).slice(0, 20)) expect((await list()).status).toBe(fault ? 503 : 200);
});
