// Screens of commands at 80x24 and 40x24 in a real pseudo-terminal.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, test as anyTest, expect } from 'vitest';
import { hasPty } from '../support/capabilities.ts';
import { errorResponse, quotaHeaders, startHttpFake } from '../support/http-fake.ts';
import type { Place } from '../support/processes.ts';
import { place } from '../support/processes.ts';
import { inShell, inTerminal, petstore, savedPlace } from '../support/program.ts';
import type { TerminalOptions, TerminalOutcome } from '../support/terminal.ts';
import { picture } from '../support/terminal.ts';

const test = anyTest.runIf(hasPty);

const ROWS = 24;

const CATEGORIES = [
  { id: 1, name: 'dog', description: 'Canis familiaris: a loyal companion of people for some fifteen thousand years' },
  { id: 2, name: '犬と猫', description: '日本語の説明文はここに入ります。とても長いので、切らなければなりません' },
  { id: 3, name: 'cafe\u0301 cat', description: 'e with a combining accent, and a family: 👩‍👩‍👧' },
  { id: 4, name: 'hostile \u001b[2J\u202e', description: 'tries to clear the screen\r\nand to turn the text round' },
  { id: '9007199254740993', name: 'a big one' },
].map((category) => ({ ...category, id: Number(category.id) }));

// The first segment of the path chooses the response.
let created: object[] = [];
const service = await startHttpFake(async ({ method, path, body }) => {
  const kind = path.split('/')[1];
  const headers = { ...quotaHeaders(), 'x-ratelimit-reset': String(Math.floor(Date.now() / 1000) + 42) };
  if (kind === 'unauthorized') return errorResponse(401, 'invalid_key', 'The API key is not valid.', headers);
  if (kind === 'limited') return errorResponse(429, 'slow', 'Slow down.', { ...headers, 'retry-after': '42' });
  if (method === 'GET') return { body: kind === 'empty' ? created : CATEGORIES, headers };
  await setTimeout(500);
  const { name } = JSON.parse(body) as { name: string };
  const category = { id: Number(/\d+/.exec(name) ?? 7), name };
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
    .replace(/\^C/g, '')
    .replace(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '⠋')
    .trimEnd();
}

// The screen just after the spinner has painted a text.
async function moment(outcome: TerminalOutcome, text: string | RegExp, columns: number): Promise<string> {
  const from = outcome.screen.search(text);
  expect(from).toBeGreaterThanOrEqual(0);
  const end = outcome.screen.indexOf('\u001b[?2026l', from);
  return still(await picture(outcome.screen.slice(0, end), columns, ROWS));
}

async function screen(kind: string, args: readonly string[], columns: number, options: TerminalOptions = {}) {
  const outcome = await inTerminal(at(kind), args, { columns, rows: ROWS, ...options });
  expect(outcome.cooked).toBe(true);
  // A hidden cursor must be shown again.
  expect(outcome.screen.lastIndexOf('\u001b[?25h')).toBeGreaterThanOrEqual(outcome.screen.lastIndexOf('\u001b[?25l'));
  const lines = await picture(outcome.screen, columns, ROWS);
  return { outcome, shown: still(lines) };
}

test.each<[string, number, number, string, string[]]>([
  ['a list', 80, 0, 'ok', ['categories', 'list']],
  ['a list', 40, 0, 'ok', ['categories', 'list']],
  ['a rejected key', 80, 3, 'unauthorized', ['categories', 'list']],
  ['a rejected key', 40, 3, 'unauthorized', ['categories', 'list']],
  ['a create', 80, 0, 'ok', ['categories', 'create', '--name', 'dog']],
])('the screen of %s at %i columns matches its snapshot', async (_what, columns, code, kind, args) => {
  const { outcome, shown } = await screen(kind, args, columns);
  expect(outcome.code).toBe(code);
  // A create is slow enough for a spinner, which is then cleared.
  if (args[1] === 'create') expect(outcome.screen).toContain('⠋');
  expect(shown).toMatchSnapshot();
});

test('the screen of the first run without configuration matches its snapshot', async () => {
  const outcome = await inTerminal(place(), ['categories', 'list']);
  expect(outcome.code).toBe(3);
  expect(still(await picture(outcome.screen, 80, ROWS))).toMatchSnapshot();
});

test('the screen of a countdown ended by Ctrl-C matches its snapshots', async () => {
  const steps = [{ after: 'for the rate limit', send: '\u0003' }];
  const { outcome, shown } = await screen('limited', ['categories', 'list'], 80, { steps });
  expect(outcome.code).toBe(130);
  expect(await moment(outcome, /for the rate limit/, 80)).toMatchSnapshot('counting');
  expect(shown).toMatchSnapshot('afterwards');
});

test.each([80, 40])(
  'the progress line of an import fits %i columns, and Ctrl-C restores the terminal and prints the counts',
  async (columns) => {
    const rows = Array.from({ length: 30 }, (_, row) => JSON.stringify({ name: `pet ${row + 10}` })).join('\n');
    const here = at('empty');
    writeFileSync(join(here.dir, 'pets.ndjson'), rows);
    const outcome = await inTerminal(here, ['categories', 'import', 'pets.ndjson', '--concurrency', '2'], {
      columns,
      rows: ROWS,
      steps: [
        { after: 'Create 30 categories', send: 'y\r' },
        { after: ' of 30', send: '\u0003' },
      ],
    });
    expect(outcome).toMatchObject({ cooked: true, code: 130, signal: 'SIGINT' });
    const shown = await moment(outcome, / of 30/, columns);
    for (const line of shown.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
    expect(shown.split('\n').at(-1)).toMatch(/ of 30 · /);
    expect(outcome.screen).toMatch(/Created \d+[\s\S]*pending\s+\d+/);
  },
);

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

test('a list in a pipe is complete and plain, and its quota line is not shown', async () => {
  const outcome = await inTerminal(at('ok'), ['categories', 'list'], { stdoutPiped: true });
  expect(outcome.out).toContain('Canis familiaris: a loyal companion of people for some fifteen thousand years');
  expect(outcome.out).not.toContain('\u001b');
  // A quota line would paint over a pager.
  expect(outcome.screen).not.toContain('quota');
});

test('FORCE_COLOR enables color in a pipe, and NO_COLOR disables it on a terminal', async () => {
  const piped = at('ok');
  piped.env['FORCE_COLOR'] = '1';
  expect((await petstore(piped, ['categories', 'list'])).out).toContain('\u001b[1m');
  const plain = at('ok');
  plain.env['NO_COLOR'] = '1';
  expect((await inTerminal(plain, ['categories', 'list'])).screen).not.toMatch(/\u001b\[\d+m/);
});
