// `auth login` in a pseudo-terminal: hidden prompt, signals, unknown size, prompt for the base URL.
import * as fs from 'node:fs';
import { join } from 'node:path';
import { afterAll, test as anyTest, expect } from 'vitest';
import { hasPty } from '../../../support/capabilities.ts';
import { place } from '../../../support/processes.ts';
import { inShell, inTerminal } from '../../../support/program.ts';
import type { Step, TerminalOptions } from '../../../support/terminal.ts';
import { GOOD_KEY, startService } from './service.ts';

const test = anyTest.runIf(hasPty);

const service = await startService();
afterAll(service.close);

/** Logs in at a terminal; `saved` is the text of the files in the configuration directory afterwards. */
async function login(line: string, steps: readonly Step[], options: TerminalOptions = {}) {
  const at = place();
  const run = await inTerminal(at, `auth login ${line}`.split(' '), { steps, ...options });
  const config = join(at.dir, 'config');
  const names = fs.existsSync(config) ? fs.readdirSync(config) : [];
  return { ...run, saved: names.map((name) => fs.readFileSync(join(config, name), 'utf8')).join('') };
}

const typed = (after: string, text: string): Step => ({ after, send: `${text}\r` });

test('a login on a terminal of unknown size reads the key from a hidden prompt, verifies it and saves it', async () => {
  const size = { columns: 0, rows: 0, stdoutPiped: true };
  const run = await login(`--url ${service.url} --json`, [typed('API key for profile', GOOD_KEY)], size);
  expect(run).toMatchObject({ code: 0, cooked: true, saved: expect.stringContaining(GOOD_KEY) });
  const document = {
    profile: 'production',
    url: service.url,
    key: '…6789',
    keyCommand: false,
    verified: true,
    active: true,
  };
  expect(JSON.parse(run.out)).toEqual(document);
  expect(run.screen).not.toContain(GOOD_KEY.slice(0, 4));
  expect(run.screen.length).toBeLessThan(20_000);
});

test.each<[what: string, signal: string, code: number, step: Partial<Step>]>([
  ['Ctrl-C', 'SIGINT', 130, { send: 'half-a-key\u0003' }],
  ['SIGQUIT', 'SIGQUIT', 131, { signal: 'SIGQUIT' }],
])(
  'after %s, a login saves nothing, restores the terminal and is terminated by %s (exit code %i)',
  async (_what, signal, code, step) => {
    const run = await login(`--url ${service.url}`, [{ after: 'API key for profile', ...step }]);
    expect(run).toMatchObject({ code, signal, cooked: true, saved: '' });
    expect(run.screen).toMatch(/\n\S*error:\S* (?:interrupted|terminated)/);
    expect(run.screen.lastIndexOf('\u001b[?25h')).toBeGreaterThanOrEqual(run.screen.lastIndexOf('\u001b[?25l'));
  },
);

const REJECTED = 'rejected the API key (401): The API key is not valid.';

test('after a refused connection, a login asks again only for the base URL, and after a rejected key only for the key', async () => {
  const run = await login('farm --max-retries 0', [
    typed('Base URL for profile', 'http://127.0.0.1:9/v1'),
    typed('API key for profile', 'wrong-key'),
    typed('connection refused', service.url),
    typed(REJECTED, GOOD_KEY),
  ]);
  expect(run).toMatchObject({ code: 0, cooked: true, saved: expect.stringContaining(GOOD_KEY) });
  expect(run.screen).not.toContain('wrong-key');
  // The first attempt received no response, so its quota would not be shown.
  expect(run.screen).toMatch(/is now active.*quota \(farm\): /s);
});

test('a login exits with code 3 after three rejected keys, and saves nothing', async () => {
  const run = await login(`--url ${service.url}`, Array(3).fill(typed('API key for', 'wrong-key')));
  const screen = expect.stringContaining('rejected the API key (401), so nothing was saved: The API key is not valid.');
  expect(run).toMatchObject({ code: 3, saved: '', screen });
});

const CTRL_Z = '\u001a';

test('a login that Ctrl-Z stops at a prompt asks again after `fg`, and the key stays hidden', async () => {
  const { screen } = await inShell(place(), [
    typed('shell> ', 'petstore auth login'),
    { after: 'Base URL for profile', send: CTRL_Z },
    typed('Stopped', 'fg'),
    typed('Base URL for profile', service.url),
    { after: 'API key for profile', send: `forgotten${CTRL_Z}` },
    typed('Stopped', 'stty -a | grep -o " echo "; fg'),
    typed('API key for profile', GOOD_KEY),
    typed('Saved key …6789', 'exit'),
  ]);
  // At the shell prompt, the terminal echoes input again.
  expect(screen).toMatch(/ echo .*API key/s);
  expect(screen).not.toContain(GOOD_KEY.slice(0, 4));
});
