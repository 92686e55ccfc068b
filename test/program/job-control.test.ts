// Job control: Ctrl-Z and fg during a spinner in a real shell.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test as anyTest, beforeAll, expect } from 'vitest';
import { hasPty } from '../support/capabilities.ts';
import { startHttpFake } from '../support/http-fake.ts';
import type { Place } from '../support/processes.ts';
import { place } from '../support/processes.ts';
import { inShell } from '../support/pty.ts';
import type { Step } from '../support/terminal.ts';

const test = anyTest.runIf(hasPty);

const KEY = 'sk_secret_0123456789abcdef';
const SHELL = 'shell> ';
const CTRL_Z = '\u001a';

// Sends the response to a create; the spinner turns until then.
let respond: (() => void) | undefined;
let url = '';
beforeAll(async () => {
  const dog = { id: 1, name: 'dog' };
  const listed: object[] = [];
  const service = await startHttpFake(({ method }) => {
    if (method === 'GET') return { body: listed };
    return new Promise((resolve) => {
      respond = () => {
        listed.push(dog);
        resolve({ status: 201, body: dog });
      };
    });
  });
  url = service.url;
  return service.close;
});

const run = (command: string): Step => ({ after: SHELL, send: `${command}\r` });
// Stops the command after a text and continues it.
const stopAt = (after: string): Step[] => [{ after, send: CTRL_Z }, { after: 'Stopped', send: '' }, run('fg')];
const leave = (code: number): Step[] => [run('echo code=$?'), { after: `code=${code}`, send: '' }, run('exit')];

async function shell(at: Place, steps: readonly Step[]): Promise<string> {
  const outcome = await inShell(at, steps);
  expect(outcome, outcome.screen).toMatchObject({ stepsLeft: 0 });
  return outcome.screen;
}

test('an import stopped by Ctrl-Z during its spinner continues after fg', async () => {
  const at = place({ PETSTORE_API_KEY: KEY, PETSTORE_BASE_URL: url });
  writeFileSync(join(at.dir, 'pets.ndjson'), '{"name":"dog"}');
  await shell(at, [
    run('petstore categories import pets.ndjson'),
    { after: 'Create 1 category', send: 'y\r' },
    ...stopAt('0 of 1'),
    { after: '0 of 1', act: () => respond?.() },
    { after: 'Created 1', send: '' },
    ...leave(0),
  ]);
});
