// `auth login` on a real terminal: hidden prompt, signals, unusual sizes, prompt for the base URL.
import * as fs from 'node:fs';
import { join } from 'node:path';
import { afterAll, test as anyTest, expect } from 'vitest';
import { hasPty } from '../../support/capabilities.ts';
import { place } from '../../support/processes.ts';
import { inShell, inTerminal } from '../../support/program.ts';
import type { Step } from '../../support/terminal.ts';
import { GOOD_KEY, startService } from './service.ts';

const test = anyTest.runIf(hasPty);

const service = await startService();
afterAll(service.close);

const config = (dir: string): string[] => {
  const directory = join(dir, 'config');
  return fs.existsSync(directory)
    ? fs.readdirSync(directory).map((name) => fs.readFileSync(join(directory, name), 'utf8'))
    : [];
};

test('a login on a terminal of unknown size reads the key from a hidden prompt, verifies it and saves it', async () => {
  const at = place();
  const run = await inTerminal(at, ['auth', 'login', '--url', service.url, '--json'], {
    columns: 0,
    rows: 0,
    stdoutPiped: true,
    steps: [{ after: 'API key for profile', send: `${GOOD_KEY}\r` }],
  });
  expect(run).toMatchObject({ code: 0, cooked: true });
  expect(JSON.parse(run.out)).toMatchObject({ key: '…6789', verified: true });
  expect(run.screen).not.toContain(GOOD_KEY.slice(0, 4));
  expect(run.screen.length).toBeLessThan(20_000);
  expect(config(at.dir).join()).toContain(GOOD_KEY);
});

test.each<[what: string, step: Partial<Step>, signal: string, code: number]>([
  ['Ctrl-C', { send: 'half-a-key\u0003' }, 'SIGINT', 130],
  ['SIGQUIT', { signal: 'SIGQUIT' }, 'SIGQUIT', 131],
])(
  '%s at the prompt saves nothing, restores the terminal and ends by %3$s (%4$i)',
  async (_what, step, signal, code) => {
    const at = place();
    const run = await inTerminal(at, ['auth', 'login', '--url', service.url], {
      steps: [{ after: 'API key for profile', ...step }],
    });
    expect(run).toMatchObject({ code, signal, cooked: true });
    expect(run.screen).toMatch(/\n\S*error:\S* (?:interrupted|terminated)/);
    expect(run.screen.lastIndexOf('\u001b[?25h')).toBeGreaterThanOrEqual(run.screen.lastIndexOf('\u001b[?25l'));
    expect(config(at.dir)).toEqual([]);
  },
);

test('a login asks again for a URL or key that the service rejects, and keeps the other', async () => {
  const at = place();
  const run = await inTerminal(at, ['auth', 'login', 'farm', '--max-retries', '0'], {
    steps: [
      { after: 'Base URL for profile', send: 'http://127.0.0.1:9/v1\r' },
      { after: 'API key for profile', send: 'wrong-key\r' },
      { after: 'connection refused', send: `${service.url}\r` },
      { after: 'rejected the API key (401): The API key is not valid.', send: `${GOOD_KEY}\r` },
    ],
  });
  expect(run).toMatchObject({ code: 0, cooked: true });
  expect(run.screen).not.toContain('wrong-key');
  // The quota is that of the accepted key.
  expect(run.screen).toMatch(/is now active.*quota \(farm\): /s);
  expect(config(at.dir).join()).toContain(GOOD_KEY);
});

test('a login ends with 3 after three rejected keys, and saves nothing', async () => {
  const at = place();
  const answer = (after: string): Step => ({ after, send: 'wrong-key\r' });
  const run = await inTerminal(at, ['auth', 'login', '--url', service.url], {
    steps: [answer('API key for'), answer('API key for'), answer('API key for')],
  });
  expect([run.code, config(at.dir)]).toEqual([3, []]);
  expect(run.screen).toContain('nothing was saved: the service rejected the API key (401): The API key is not valid.');
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
    { after: 'API key for profile', send: `forgotten${CTRL_Z}` },
    typed('Stopped', 'stty -a | grep -o " echo "; fg'),
    typed('API key for profile', GOOD_KEY),
    typed('Saved key …6789', 'exit'),
  ]);
  // The shell's own terminal mode shows what is typed.
  expect(outcome.screen).toMatch(/ echo .*API key/s);
  expect(outcome.screen).not.toContain(GOOD_KEY.slice(0, 4));
});
