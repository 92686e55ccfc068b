// The built program while it waits for the rate limit: one line, ended by Ctrl-C, nothing left behind.
import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { test as anyTest, expect } from 'vitest';
import { BASE_ENV } from '../support/base-env.ts';
import { hasSignals } from '../support/capabilities.ts';
import { startLimitServer } from '../support/limit-server.ts';
import { tempDir } from '../support/temp-dir.ts';

const test = anyTest.runIf(hasSignals);

const BIN = 'bin/petstore.js';

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test.concurrent(`${signal} ends a wait with ${code}, nothing is sent, and the ticket is given back`, async () => {
    const server = await startLimitServer({ mode: 'anchored', limit: 1, windowMs: 60_000 });
    const dir = tempDir();
    const env = {
      ...BASE_ENV,
      HOME: dir,
      PETSTORE_API_KEY: 'pk_canary_interrupt_0123456789',
      PETSTORE_BASE_URL: server.baseUrl,
      PETSTORE_STATE_DIR: dir,
      PETSTORE_CONFIG_DIR: dir,
    };
    const run = promisify(execFile);
    await run(process.execPath, [BIN, 'categories', 'list'], { env });
    const waiting = spawn(process.execPath, [BIN, 'categories', 'create', '--name', 'dog'], { env });
    let err = '';
    waiting.stderr.on('data', (chunk) => {
      err += chunk;
    });
    await new Promise((resolve) => waiting.stderr.once('data', resolve));
    waiting.kill(signal);
    expect(await new Promise((resolve) => waiting.once('close', resolve))).toBe(code);
    expect(err.match(/waiting/g), err).toHaveLength(1);
    const { stdout } = await run(process.execPath, [BIN, 'quota', '--json'], { env });
    expect(JSON.parse(stdout)).toMatchObject({ inFlight: 0, remaining: 0, limit: 1 });
    expect(server.seen.sent).toBe(1);
    await server.close();
  });
}
