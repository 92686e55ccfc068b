// Screens of commands in a real pseudo-terminal.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, test as anyTest, expect } from 'vitest';
import { hasPty } from '../support/capabilities.ts';
import { errorResponse, quotaHeaders, startHttpFake } from '../support/http-fake.ts';
import type { Place } from '../support/processes.ts';
import { inShell, inTerminal, petstore, savedPlace } from '../support/program.ts';
import type { TerminalOptions, TerminalOutcome } from '../support/terminal.ts';
import { picture } from '../support/terminal.ts';

const test = anyTest.runIf(hasPty);

const CATEGORIES = [
  { id: 1, name: 'dog', description: 'Canis familiaris: a loyal companion of people for some fifteen thousand years' },
  { id: 2, name: '犬と猫', description: '日本語の説明文はここに入ります。とても長いので、切らなければなりません' },
  { id: 3, name: 'cafe\u0301 cat', description: 'e with a combining accent, and a family: 👩‍👩‍👧' },
  { id: 4, name: 'hostile \u001b[2J\u202e', description: 'tries to clear the screen\r\nand to turn the text round' },
  { id: Number.MAX_SAFE_INTEGER, name: 'a big one' },
];

// The first segment of the path chooses the response.
let created: object[] = [];
const service = await startHttpFake(async ({ method, path, body }) => {
  const kind = path.split('/')[1];
  const headers = { ...quotaHeaders(), 'x-ratelimit-reset': String(Math.floor(Date.now() / 1000) + 42) };
  if (kind === 'limited') return errorResponse(429, 'slow', 'Slow down.', { ...headers, 'retry-after': '42' });
  if (method === 'GET') return { body: kind === 'empty' ? created : CATEGORIES, headers };
  await setTimeout(500);
  const { name } = JSON.parse(body) as { name: string };
  const category = { id: created.length + 7, name };
  created.push(category);
  return { status: 201, body: category, headers };
});
afterAll(service.close);

/** A place whose saved profile is of the service that behaves like this. */
function at(kind: string): Place {
  created = [];
  return savedPlace(`${service.origin}/${kind}/v1`);
}

// Replaces values that differ between runs: seconds and the frame of the spinner.
function still(lines: readonly string[]): string {
  return lines
    .join('\n')
    .replace(/\b[34]\ds\b/g, '42s')
    .replace('^C', '')
    .replace(/[⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '⠋')
    .trimEnd();
}

// The screen just after the spinner has painted a text.
async function moment({ screen }: TerminalOutcome, text: string | RegExp, columns = 80): Promise<string> {
  const from = screen.search(text);
  expect(from).toBeGreaterThanOrEqual(0);
  return still(await picture(screen.slice(0, screen.indexOf('\u001b[?2026l', from)), columns, 24));
}

async function screen(kind: string, args: readonly string[], options: TerminalOptions = {}) {
  const outcome = await inTerminal(at(kind), args, options);
  expect(outcome.cooked).toBe(true);
  // A hidden cursor must be shown again.
  expect(outcome.screen.lastIndexOf('\u001b[?25h')).toBeGreaterThanOrEqual(outcome.screen.lastIndexOf('\u001b[?25l'));
  return { outcome, shown: still(await picture(outcome.screen, 80, 24)) };
}

test('a list on a terminal has aligned columns of the width of the terminal, bold headings and a quota line', async () => {
  const { outcome, shown } = await screen('ok', ['categories', 'list']);
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

test('a countdown ended by Ctrl-C is replaced by the quota and the error', async () => {
  const steps = [{ after: 'for the rate limit to reset\u001b[?2026l', send: '\u0003' }];
  const { outcome, shown } = await screen('limited', ['categories', 'list'], { steps });
  expect(outcome.code).toBe(130);
  expect(await moment(outcome, /for the rate limit/)).toBe('⠋ waiting 42s for the rate limit to reset');
  expect(shown).toBe('quota (production): rate limited, try again in 42s\nerror: interrupted');
});

test('the progress line of an import fits 40 columns, and Ctrl-C restores the terminal and prints the counts', async () => {
  const here = at('empty');
  writeFileSync(join(here.dir, 'pets.csv'), `name\n${Array.from({ length: 30 }, (_, row) => `pet ${row}\n`).join('')}`);
  const outcome = await inTerminal(here, ['categories', 'import', 'pets.csv', '--concurrency', '2'], {
    columns: 40,
    steps: [
      { after: 'Create 30 categories', send: 'y\r' },
      { after: ' of 30', send: '\u0003' },
    ],
  });
  expect(outcome).toMatchObject({ cooked: true, code: 130, signal: 'SIGINT' });
  const shown = (await moment(outcome, / of 30/, 40)).split('\n');
  expect(Math.max(...shown.map((line) => line.length))).toBeLessThanOrEqual(40);
  expect(shown.at(-1)).toMatch(/ of 30 · /);
  expect(outcome.screen).toMatch(/Created \d+[\s\S]*pending\s+\d+/);
});

test('an import stopped by Ctrl-Z during its spinner continues after fg', async () => {
  const here = at('empty');
  writeFileSync(join(here.dir, 'pets.ndjson'), '{"name":"dog"}');
  await inShell(here, [
    { after: 'shell> ', send: 'petstore categories import pets.ndjson --yes\r' },
    { after: '0 of 1', send: '\u001a' },
    { after: 'Stopped', send: 'fg\r' },
    { after: 'Created 1', send: 'exit\r' },
  ]);
});

test('a list in a pipe is complete, plain unless FORCE_COLOR is set, and its quota line is not shown', async () => {
  const outcome = await inTerminal(at('ok'), ['categories', 'list'], { stdoutPiped: true });
  expect(outcome.out).toContain('Canis familiaris: a loyal companion of people for some fifteen thousand years');
  expect(outcome.out).not.toContain('\u001b');
  // A quota line would paint over a pager.
  expect(outcome.screen).not.toContain('quota');
  const forced = at('ok');
  forced.env['FORCE_COLOR'] = '1';
  expect((await petstore(forced, ['categories', 'list'])).out).toContain('\u001b[1m');
});
