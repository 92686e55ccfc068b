// A session's notices, warnings and state server, and the cleanups after a command.
import { expect, test } from 'vitest';
import { run } from '../../src/cli/program.ts';
import { Session } from '../../src/cli/session.ts';
import { until } from '../support/processes.ts';
import { inProcess, world } from '../support/world.ts';

const OPTIONS = { json: false, format: 'table', maxWait: 0, maxRetries: 0, timeout: 1, color: true } as const;

test.each([
  [{}, 'cat ␛[2J\n', 'warning: dog<U+202E>\n'],
  [{ quiet: true }, '', 'warning: dog<U+202E>\n'],
  [{ json: true }, '', '{"warning":{"message":"dog\\u202e"}}\n'],
])('with the options %j, a notice prints %j and a warning prints %j on stderr', async (given, notice, warning) => {
  const context = world([]);
  const session = new Session(context, { ...OPTIONS, ...given });
  await session.notice('cat \u001b[2J');
  expect(context.stderr.text()).toBe(notice);
  await session.warn('dog\u202e');
  expect(context.stderr.text()).toBe(notice + warning);
});

test('the password in PETSTORE_STATE_URL is redacted after a session has read the variable', async () => {
  const context = world([], { env: { PETSTORE_STATE_URL: 'redis://user:the-password@127.0.0.1:1' } });
  await new Session(context, OPTIONS).stateServer();
  for (const cleanup of context.cleanups) await cleanup();
  expect(context.redactor.redact('not the-password')).toBe('not [redacted]');
});

test('a command runs its cleanups in reverse order before it ends, and a failed cleanup does not change the exit code', async () => {
  const context = world(['--version']);
  const cleaned: string[] = [];
  context.cleanups.push(
    async () => void cleaned.push('state server'),
    () => Promise.reject(new Error('not cleaned')),
    () => new Promise<void>((done) => setImmediate(done)).then(() => void cleaned.push('ledger')),
  );
  expect([await run(context), cleaned]).toEqual([0, ['ledger', 'state server']]);
});

test('a command with the profile "sandbox" stops the sandbox server that it started', async () => {
  const servers = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length;
  const before = servers();
  expect(await inProcess(['categories', 'list', '-p', 'sandbox'])).toMatchObject({ code: 0 });
  await until(() => servers() === before);
});

test('an empty PETSTORE_STATE_URL counts as unset', async () => {
  const context = world([], { env: { PETSTORE_STATE_URL: '' } });
  expect(await new Session(context, OPTIONS).stateServer()).toBeUndefined();
});
