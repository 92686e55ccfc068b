// `petstore quota`: the cached quota, --refresh and --clear.
import { expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { startHttpFake } from '../support/http-fake.ts';
import type { LimitedOptions } from '../support/limited-service.ts';
import { startLimited } from '../support/limited-service.ts';
import { tempDir } from '../support/temp-dir.ts';
import { inProcess } from '../support/world.ts';

const KEY = 'pk_secret_quota_0123456789';

async function service(options: Partial<LimitedOptions> = {}) {
  const clock = new FakeClock(Date.parse('2026-11-21T12:00:20Z'));
  const window = { mode: 'fixed', limit: 60, windowMs: 60_000 } as const;
  const server = await startLimited({ ...window, now: clock.now, ...options });
  onTestFinished(server.close);
  const dir = tempDir();
  const env = { PETSTORE_API_KEY: KEY, PETSTORE_BASE_URL: server.url };
  const run = (line: string) => inProcess(line.split(' '), { env, dir, clock });
  return { server, run };
}

test('`quota` before the first response prints "unknown" and sends nothing', async () => {
  const { server, run } = await service();
  const text = await run('quota');
  expect(text).toMatchObject({ code: 0, err: '' });
  expect(text.out).toContain('remaining     unknown (run with --refresh to update)');
  const json = await run('quota --json');
  const unknown = { limit: null, remaining: null, resetAt: null, updatedAt: null, blocked: null };
  expect(JSON.parse(json.out)).toMatchObject(unknown);
  expect(server.seen.sent).toBe(0);
});

test('`quota --refresh` sends one GET /categories, and the next command uses its response', async () => {
  const { server, run } = await service();
  const fresh = await run('quota --refresh');
  expect(fresh.code).toBe(0);
  expect(fresh.out).toMatch(/remaining {5}59 of 60\nreset {9}in (?:\d+s|1m)\nupdated {7}[01]s ago\n/);
  const json = JSON.parse((await run('quota --json')).out);
  expect(json).toMatchObject({ limit: 60, remaining: 59, resetPassed: false, shared: true, dailyLimit: null });
  expect(json.resetAt).toBe('2026-11-21T12:01:00.000Z');
  expect(server.seen.sent).toBe(1);
});

test('`quota` shows a limit above 1,000,000 as unlimited', async () => {
  const { run } = await service({ limit: 10_000_000 });
  const { out, err } = await run('quota --refresh');
  expect(out).toContain('remaining     unlimited\n');
  expect(err).toBe('quota: unlimited\n');
});

test('`quota` shows the block after a 429, which applies to every command until `quota --clear`', async () => {
  const { server, run } = await service({ limit: 1, windowMs: 86_400_000 });
  await run('categories list');
  const limited = await run('categories list --json --max-wait 5s');
  expect(limited.code).toBe(5);
  expect(JSON.parse(limited.err).error).toMatchObject({ kind: 'rate_limited' });
  expect((await run('quota --clear')).err).toContain('Cleared the cached quota');
  expect((await run('categories list --json --max-wait 5s')).code).toBe(5);
  expect(server.seen).toMatchObject({ sent: 2, refused: 1 });
  expect((await run('quota')).out).toMatch(/blocked {7}by Retry-After, ends in \d+h.* \(at .*\d\d:\d\d\)\n/);
  const known = JSON.parse((await run('quota --json')).out);
  expect(known.blocked).toMatchObject({ reason: 'retry_after', consecutive429s: 1 });
  expect(known.nextRequestAt).toBe(known.blocked.until);
  expect((await run('categories create --name dog')).code).toBe(5);
  expect(server.seen.sent).toBe(2);
  expect(JSON.parse((await run('quota --clear --json')).out)).toMatchObject({ blocked: null, limit: null });
});

test('`quota --refresh` says if the service sends no rate limit headers', async () => {
  const { url, close } = await startHttpFake(() => ({ body: [] }));
  onTestFinished(close);
  const { out } = await inProcess(['quota', '--refresh'], { env: { PETSTORE_API_KEY: KEY, PETSTORE_BASE_URL: url } });
  expect(out).toContain('remaining     unknown (the service sent no rate limit headers)\n');
});
