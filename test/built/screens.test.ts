// Screens of commands in a real pseudo-terminal.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, test as anyTest, expect } from 'vitest';
import { hasPty } from '../support/capabilities.ts';
import { errorResponse, quotaHeaders, startHttpFake } from '../support/http-fake.ts';
import { inShell, inTerminal, savedPlace } from '../support/program.ts';
import type { TerminalOptions } from '../support/terminal.ts';
import { picture } from '../support/terminal.ts';

const test = anyTest.runIf(hasPty);

const CATEGORIES: object[] = [
  { id: 1, name: 'dog', description: 'Canis familiaris: a loyal companion of people for some fifteen thousand years' },
  { id: 2, name: '犬と猫', description: '日本語の説明文はここに入ります。とても長いので、切らなければなりません' },
  { id: 3, name: 'cafe\u0301 cat', description: 'e with a combining accent, and a family: 👩‍👩‍👧' },
  { id: 4, name: 'hostile \u001b[2J\u202e', description: 'tries to clear the screen\r\nand to turn the text round' },
  { id: Number.MAX_SAFE_INTEGER, name: 'a big one' },
];

const RAT = { id: 7, name: 'rat' };

const service = await startHttpFake(async ({ method, path }) => {
  const headers = { ...quotaHeaders(), 'x-ratelimit-reset': String(Math.floor(Date.now() / 1000) + 42) };
  if (path.startsWith('/limited/')) return errorResponse(429, 'slow', 'No.', { ...headers, 'retry-after': '42' });
  if (method === 'GET') return { body: CATEGORIES, headers };
  await setTimeout(500);
  CATEGORIES.push(RAT);
  return { status: 201, body: RAT, headers };
});
afterAll(service.close);

// Replaces values that differ between runs: seconds, the echo of Ctrl-C and the frame of the spinner.
function still(lines: readonly string[]): string {
  return lines
    .join('\n')
    .replace(/\b[34]\ds\b/g, '42s')
    .replace('^C', '')
    .replace(/[⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '⠋')
    .trimEnd();
}

async function screen(url: string, options: TerminalOptions = {}) {
  const outcome = await inTerminal(savedPlace(url), ['categories', 'list'], options);
  expect(outcome.cooked).toBe(true);
  // A hidden cursor must be shown again.
  expect(outcome.screen.lastIndexOf('\u001b[?25h')).toBeGreaterThanOrEqual(outcome.screen.lastIndexOf('\u001b[?25l'));
  return { outcome, shown: still(await picture(outcome.screen, 80, 24)) };
}

test('a list on a terminal has aligned columns that fit the terminal, bold headings and a quota line', async () => {
  const { outcome, shown } = await screen(service.url);
  expect(outcome).toMatchObject({ code: 0, screen: expect.stringContaining('\u001b[1m') });
  expect(shown).toMatchInlineSnapshot(`
    "              ID  NAME                  DESCRIPTION
                   1  dog                   Canis familiaris: a loyal companion of …
                   2  犬と猫                日本語の説明文はここに入ります。とても…
                   3  café cat              e with a combining accent, and a family…
                   4  hostile ␛[2J<U+202E>  tries to clear the screen␍␊and to turn …
    9007199254740991  a big one
    quota (production): 57 of 60 left, resets in 42s"
  `);
});

test('a countdown ended by Ctrl-C is replaced by the error', async () => {
  // After this text, the spinner has drawn its line.
  const after = 'retrying in 42s\u001b[?2026l';
  const { outcome, shown } = await screen(`${service.origin}/limited/v1`, { steps: [{ after, send: '\u0003' }] });
  expect(outcome.code).toBe(130);
  const painted = outcome.screen.slice(0, outcome.screen.indexOf(after) + after.length);
  expect(still(await picture(painted, 80, 24))).toBe('⠋ rate limited (429); retrying in 42s');
  expect(shown).toBe('error: interrupted');
});

test('an import stopped by Ctrl-Z while its spinner is shown continues after `fg`', async () => {
  const here = savedPlace(service.url);
  writeFileSync(join(here.dir, 'pets.ndjson'), '{"name":"rat"}');
  await inShell(here, [
    { after: 'shell> ', send: 'petstore categories import pets.ndjson --yes\r' },
    { after: '0 of 1', send: '\u001a' },
    { after: 'Stopped', send: 'fg\r' },
    { after: 'Created 1', send: 'exit\r' },
  ]);
});

test('a list in a pipe is complete and plain, and no quota line is shown on the terminal', async () => {
  const outcome = await inTerminal(savedPlace(service.url), ['categories', 'list'], { stdoutPiped: true });
  expect(outcome.out).toContain('Canis familiaris: a loyal companion of people for some fifteen thousand years');
  expect(outcome.out).not.toContain('\u001b');
  // A quota line would overwrite the screen of a pager.
  expect(outcome.screen).not.toContain('quota');
});
