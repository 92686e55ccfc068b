// The estimate of an import as its user sees it: unknown at first, then as two resets showed the window's length.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { IdleClock } from '../../support/fake-clock.ts';
import { startHttpFake } from '../../support/http-fake.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { inProcess } from '../../support/world.ts';

const MINUTE = 60_000;
const WINDOW = 30 * MINUTE;

test('--dry-run says that the time is unknown until two resets were seen, and then the same at any time', async () => {
  const clock = new IdleClock(Date.UTC(2026, 10, 22, 12, 0, 0));
  const service = await startHttpFake(() => {
    clock.touch();
    const reset = Math.ceil((clock.now() + 1) / WINDOW) * WINDOW;
    const limits = {
      'x-ratelimit-limit': '60',
      'x-ratelimit-remaining': '59',
      'x-ratelimit-reset': String(reset / 1000),
    };
    return { body: [], headers: { ...limits, date: new Date(clock.now()).toUTCString() } };
  });
  onTestFinished(service.close);
  const dir = tempDir();
  const env = { PETSTORE_BASE_URL: service.url, PETSTORE_API_KEY: 'sk_test_Abcdef0123456789' };
  writeFileSync(join(dir, 'rows.csv'), `name\n${Array.from({ length: 600 }, (_, at) => `row ${at}\n`).join('')}`);
  const dryRun = async (...more: readonly string[]): Promise<string> => {
    const args = ['categories', 'import', 'rows.csv', '--dry-run', ...more];
    const { out } = await clock.drive(inProcess(args, { clock, dir, env }));
    return out;
  };

  expect(await dryRun()).toContain('\nEstimated time: unknown until the rate limit has reset\n');
  expect(JSON.parse(await dryRun('--json'))).toMatchObject({ estimatedSeconds: null, exceedsDailyLimit: false });
  await clock.pass(WINDOW);
  expect(await dryRun()).toContain('\nEstimated time: 5h (60 requests per 30m)\n');
  await clock.pass(10 * MINUTE);
  expect(await dryRun()).toContain('\nEstimated time: 4h 50m (60 requests per 30m)\n');
  expect(JSON.parse(await dryRun('--json'))).toMatchObject({ exceedsDailyLimit: false });
});
