// Spinner and progress lines on a fake terminal.
import { expect, test } from 'vitest';
import type { Output } from '../../src/io.ts';
import {
  canSpin,
  createLineProgress,
  createSpinnerProgress,
  LINE_EVERY_MS,
  SPINNER_DELAY_MS,
} from '../../src/output/progress.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { rawTerminal } from '../support/world.ts';

function screen(
  columns: number | undefined,
): Output & { text: () => string; appeared: (text: string) => Promise<void> } {
  let all = '';
  const waiting: { text: string; resolve: () => void }[] = [];
  return {
    isTTY: columns !== undefined,
    columns,
    ...(columns && { raw: rawTerminal(columns) }),
    text: () => all,
    appeared: (text) =>
      new Promise((resolve) => {
        if (all.includes(text)) resolve();
        else waiting.push({ text, resolve });
      }),
    async write(text) {
      all += String(text);
      for (const one of waiting) if (all.includes(one.text)) one.resolve();
    },
  };
}

function spinner({ columns = 80, colorLevel = 0 }: { columns?: number; colorLevel?: 0 | 1 } = {}) {
  const clock = FakeClock.manual();
  const stderr = screen(columns);
  return { clock, stderr, progress: createSpinnerProgress({ stderr, clock, colorLevel }) };
}

const HIDE_CURSOR = '\u001b[?25l';
const CLEARED = '\u001b[0K';

test('a response within 150 ms shows no spinner', async () => {
  const { clock, stderr, progress } = spinner();
  progress.update('asking');
  await clock.advance(SPINNER_DELAY_MS - 1);
  progress.update(undefined);
  await clock.advance(SPINNER_DELAY_MS);
  progress.stop();
  expect(stderr.text()).toBe('');
});

test('a spinner appears after 150 ms, and its line is cleared at the end', async () => {
  const { clock, stderr, progress } = spinner();
  progress.update('asking');
  await clock.advance(SPINNER_DELAY_MS);
  await stderr.appeared('asking');
  progress.update('waiting \u001b[2J');
  progress.stop();
  const text = stderr.text();
  expect(text).not.toContain(HIDE_CURSOR);
  expect(text.slice(-CLEARED.length)).toBe(CLEARED);
  expect(text).not.toContain('\u001b[2J');
  expect(text).not.toContain('\u001b[36m');
});

test('the spinner appears and disappears with its text', async () => {
  const { clock, stderr, progress } = spinner();
  progress.update('first');
  await clock.advance(SPINNER_DELAY_MS);
  await stderr.appeared('first');
  progress.update(undefined);
  expect(stderr.text().slice(-CLEARED.length)).toBe(CLEARED);
  progress.update('second');
  await clock.advance(SPINNER_DELAY_MS);
  await stderr.appeared('second');
  progress.stop();
  expect(stderr.text().slice(-CLEARED.length)).toBe(CLEARED);
});

test('nothing is written after stop', async () => {
  const { clock, stderr, progress } = spinner({ colorLevel: 1 });
  progress.update('asking');
  progress.stop();
  await clock.advance(SPINNER_DELAY_MS);
  progress.update('too late');
  await clock.advance(SPINNER_DELAY_MS);
  expect(stderr.text()).toBe('');
});

test('a long text is cut to one line', async () => {
  const { clock, stderr, progress } = spinner({ columns: 20 });
  progress.update('a text that is far longer than the terminal is wide');
  await clock.advance(SPINNER_DELAY_MS);
  await stderr.appeared('a text that is…');
  progress.stop();
});

test('the frame has colour only where the stream has', async () => {
  const { clock, stderr, progress } = spinner({ colorLevel: 1 });
  progress.update('asking');
  await clock.advance(SPINNER_DELAY_MS);
  await stderr.appeared('asking');
  progress.stop();
  expect(stderr.text()).toMatch(/\u001b\[36m\S\u001b\[39m asking/);
});

test.each([
  ['a pipe', undefined, {}, false],
  ['a terminal', 80, {}, true],
  ['a terminal of 0 columns', 0, {}, false],
  ['a terminal that cannot move its cursor', 80, { TERM: 'dumb' }, false],
  ['a terminal in CI', 80, { CI: 'true' }, false],
])('%s can show a spinner: %s columns, %o, %s', (_what, columns, env, can) => {
  expect(canSpin(screen(columns), env)).toBe(can);
});

test('without a terminal at most one line is written every ten seconds', async () => {
  const clock = FakeClock.manual();
  const stderr = screen(undefined);
  const progress = createLineProgress({ stderr, clock });
  progress.update('1 of 9');
  await clock.advance(LINE_EVERY_MS);
  progress.update('2 of 9\u0007');
  progress.update('3 of 9');
  await clock.advance(LINE_EVERY_MS - 1);
  progress.update('4 of 9');
  await clock.advance(1);
  progress.update('5 of 9');
  progress.stop();
  await clock.advance(LINE_EVERY_MS);
  progress.update('6 of 9');
  expect(stderr.text()).toBe('2 of 9␇\n5 of 9\n');
});
