// The built program while it waits for the rate limit: one line, ended by Ctrl-C, nothing left behind.
import { once } from 'node:events';
import { test as anyTest, expect } from 'vitest';
import { hasSignals } from '../support/capabilities.ts';
import { startLimitServer } from '../support/limit-server.ts';
import { ended, place } from '../support/processes.ts';
import { petstore, start } from '../support/program.ts';

const test = anyTest.runIf(hasSignals);

test.concurrent.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends a wait with %i, nothing is sent, and the ticket is given back', async (signal, code) => {
  const server = await startLimitServer({ mode: 'anchored', limit: 1, windowMs: 60_000 });
  const at = place({ PETSTORE_API_KEY: 'pk_canary_interrupt_0123456789', PETSTORE_BASE_URL: server.baseUrl });
  await petstore(at, ['categories', 'list']);
  const waiting = start(at, ['categories', 'create', '--name', 'dog']);
  const outcome = ended(waiting);
  await once(waiting.stderr as NodeJS.ReadableStream, 'data');
  waiting.kill(signal);
  const { err, ...rest } = await outcome;
  expect(rest.code).toBe(code);
  expect(err.match(/waiting/g), err).toHaveLength(1);
  const { out } = await petstore(at, ['quota', '--json']);
  expect(JSON.parse(out)).toMatchObject({ inFlight: 0, remaining: 0, limit: 1 });
  expect(server.seen.sent).toBe(1);
  await server.close();
});
