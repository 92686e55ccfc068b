// Job control: Ctrl-Z and fg in a real shell, at every kind of question and during the spinner.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test as anyTest, beforeAll, expect } from 'vitest';
import { hasPty } from '../support/capabilities.ts';
import { startHttpFake } from '../support/http-fake.ts';
import type { Place } from '../support/processes.ts';
import { place } from '../support/processes.ts';
import { inShell, inTerminal } from '../support/pty.ts';
import type { Step } from '../support/terminal.ts';

const test = anyTest.runIf(hasPty);

const KEY = 'sk_secret_0123456789abcdef';
const SHELL = 'shell> ';
const CTRL_C = '\u0003';
const CTRL_Z = '\u001a';

// A create is answered when the test wants it: the spinner turns until then.
let answer: (() => void) | undefined;
let url = '';
beforeAll(async () => {
  const created = { status: 201, body: { id: 1, name: 'dog' } };
  const service = await startHttpFake(({ method }) =>
    method === 'GET' ? { body: [] } : new Promise((resolve) => (answer = () => resolve(created))),
  );
  url = service.url;
  return service.close;
});

const run = (command: string): Step => ({ after: SHELL, send: `${command}\r` });
// Stops the command when a text has appeared, and continues it.
const stopAt = (after: string): Step[] => [{ after, send: CTRL_Z }, { after: 'Stopped', send: '' }, run('fg')];
const leave = (code: number): Step[] => [run('echo code=$?'), { after: `code=${code}`, send: '' }, run('exit')];

async function shell(at: Place, steps: readonly Step[]): Promise<string> {
  const outcome = await inShell(at, steps);
  expect(outcome, outcome.screen).toMatchObject({ stepsLeft: 0 });
  return outcome.screen;
}

test('the hidden prompt works after Ctrl-Z and fg, and shows nothing of the key', async () => {
  const ask = 'API key for profile "production"';
  const screen = await shell(place(), [
    run(`petstore auth login --url ${url}`),
    { after: ask, send: `${KEY.slice(0, 9)}${CTRL_Z}` },
    { after: 'Stopped', send: '' },
    run('fg'),
    { after: ask, send: `${KEY.slice(9)}\r` },
    { after: 'Saved key …cdef', send: '' },
    ...leave(0),
  ]);
  expect(screen).not.toContain('sk_');
});

test('Ctrl-C at a prompt after fg ends with exit code 130', async () => {
  await shell(place(), [
    run(`petstore auth login --url ${url}`),
    ...stopAt('API key for'),
    { after: 'API key for', send: CTRL_C },
    { after: 'interrupted', send: '' },
    ...leave(130),
  ]);
});

test('the hidden prompt shows nothing of the key after SIGSTOP and fg', async () => {
  const at = place();
  const stop = (): void => void process.kill(Number(readFileSync(join(at.dir, 'pid'), 'utf8')), 'SIGSTOP');
  const screen = await shell(at, [
    run(`petstore auth login --url ${url}`),
    { after: 'API key for', act: stop },
    { after: 'Stopped', send: '' },
    run('fg'),
    { after: 'API key for', send: `${KEY}\r` },
    { after: 'Saved key …cdef', send: '' },
    ...leave(0),
  ]);
  expect(screen).not.toContain('sk_');
});

test('Ctrl-Z does not stop a prompt that no shell can continue', async () => {
  const outcome = await inTerminal(place(), ['auth', 'login', '--url', url], {
    steps: [
      { after: 'API key for', send: CTRL_Z },
      { after: '', send: `${KEY}\r` },
    ],
  });
  expect(outcome).toMatchObject({ code: 0, cooked: true, stepsLeft: 0 });
  expect(outcome.screen).not.toContain('sk_');
});

test('the question of an import and its spinner continue after fg', async () => {
  const at = place({ PETSTORE_API_KEY: KEY, PETSTORE_BASE_URL: url });
  writeFileSync(join(at.dir, 'pets.ndjson'), '{"name":"dog"}');
  await shell(at, [
    run('petstore categories import pets.ndjson'),
    ...stopAt('Create 1 category'),
    { after: 'Create 1 category', send: 'y\r' },
    ...stopAt('0 of 1'),
    { after: '0 of 1', act: () => answer?.() },
    { after: 'Created 1', send: '' },
    ...leave(0),
  ]);
});
