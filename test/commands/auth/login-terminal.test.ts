// `auth login` on a real terminal: hidden prompt, signals, unusual sizes, prompt for the base URL.
import * as fs from 'node:fs';
import { join } from 'node:path';
import { afterAll, test as anyTest, beforeAll, expect } from 'vitest';
import { hasPty } from '../../support/capabilities.ts';
import type { HttpFake } from '../../support/http-fake.ts';
import { place } from '../../support/processes.ts';
import { inShell, inTerminal, petstore } from '../../support/program.ts';
import type { Step } from '../../support/terminal.ts';
import { GOOD_KEY, startService } from './service.ts';

const test = anyTest.runIf(hasPty);

let service: HttpFake;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const config = (dir: string): string[] => {
  const directory = join(dir, 'config');
  return fs.existsSync(directory)
    ? fs.readdirSync(directory).map((name) => fs.readFileSync(join(directory, name), 'utf8'))
    : [];
};

test.each([
  [80, 24],
  [0, 0],
])('a login at %ix%i reads the key from a hidden prompt, verifies it and saves it', async (columns, rows) => {
  const at = place();
  const run = await inTerminal(at, ['auth', 'login', '--url', service.url, '--json'], {
    columns,
    rows,
    stdoutPiped: true,
    steps: [{ after: 'API key for profile', send: `${GOOD_KEY}\r` }],
  });
  expect(run).toMatchObject({ code: 0, cooked: true, stepsLeft: 0 });
  expect(JSON.parse(run.stdout)).toMatchObject({ key: '…6789', verified: true });
  expect(run.screen).not.toContain(GOOD_KEY.slice(0, 4));
  expect(run.screen.length).toBeLessThan(20_000);
  expect(config(at.dir).join()).toContain(GOOD_KEY);
});

test('Ctrl-C at the prompt ends the program by SIGINT, saves nothing and restores the terminal', async () => {
  const at = place();
  const run = await inTerminal(at, ['auth', 'login', '--url', service.url], {
    steps: [{ after: 'API key for profile', send: 'half-a-key\u0003' }],
  });
  expect(run).toMatchObject({ code: 130, signal: 'SIGINT', cooked: true, stepsLeft: 0 });
  expect(run.screen).toMatch(/\n\S*error:\S* interrupted/);
  expect(run.screen.lastIndexOf('\u001b[?25h')).toBeGreaterThanOrEqual(run.screen.lastIndexOf('\u001b[?25l'));
  expect(config(at.dir)).toEqual([]);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
  ['SIGQUIT', 131],
] as const)('%s at the prompt ends the program by this signal (%i) and restores the terminal', async (signal, code) => {
  const run = await inTerminal(place(), ['auth', 'login', '--url', service.url], {
    steps: [{ after: 'API key for profile', signal }],
  });
  expect(run).toMatchObject({ code, signal, cooked: true });
  expect(run.screen.lastIndexOf('\u001b[?25h')).toBeGreaterThanOrEqual(run.screen.lastIndexOf('\u001b[?25l'));
});

test('a login to a profile without a base URL prompts for it, and again with a suggestion if /v1 is missing', async () => {
  const at = place();
  const run = await inTerminal(at, ['auth', 'login', '-p', 'farm'], {
    steps: [
      { after: 'Base URL for profile', send: `${service.origin}\r` },
      { after: `must end in /v1; did you mean ${service.url}?`, send: `${service.url}\r` },
      { after: 'API key for profile', send: `${GOOD_KEY}\r` },
    ],
  });
  expect(run).toMatchObject({ code: 0, cooked: true, stepsLeft: 0 });
  const status = await petstore(at, ['auth', 'status', '--json', '-p', 'farm']);
  expect(JSON.parse(status.out)).toContainEqual(expect.objectContaining({ profile: 'farm', url: service.url }));
});

test('a login prompts again after an empty key, without color if NO_COLOR is set', async () => {
  const run = await inTerminal(place(), ['auth', 'login', '--url', service.url], {
    env: { NO_COLOR: '1' },
    steps: [
      { after: 'API key for profile', send: '\r' },
      { after: 'is empty', send: ` ${GOOD_KEY} \r` },
    ],
  });
  expect(run).toMatchObject({ code: 0, stepsLeft: 0 });
  expect(run.screen).not.toMatch(/\u001b\[[0-9;]*m/);
});

const CTRL_Z = '\u001a';

test('a login stopped by Ctrl-Z at a prompt prompts again after fg, and the key stays hidden', async () => {
  const at = place();
  const typed = (after: string, command: string): Step => ({ after, send: `${command}\r` });
  const outcome = await inShell(at, [
    typed('shell> ', 'petstore auth login'),
    { after: 'Base URL for profile', send: CTRL_Z },
    typed('Stopped', 'fg'),
    typed('Base URL for profile', service.url),
    { after: 'API key for profile', send: CTRL_Z },
    typed('Stopped', 'stty -a | grep -o " echo "; fg'),
    typed('API key for profile', GOOD_KEY),
    typed('Saved key …6789', 'exit'),
  ]);
  expect(outcome, outcome.screen).toMatchObject({ stepsLeft: 0 });
  // The shell's own terminal mode shows what is typed.
  expect(outcome.screen).toMatch(/ echo .*API key/s);
  expect(outcome.screen).not.toContain(GOOD_KEY.slice(0, 4));
});
