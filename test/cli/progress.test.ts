// Progress on stderr: waits in a pipe, countdowns and spinners on a terminal, JSON with --json.
import { expect, test } from 'vitest';
import { Progress } from '../../src/cli/progress.ts';
import type { HttpWait } from '../../src/http/types.ts';
import { ManualClock } from '../support/fake-clock.ts';
import type { WorldOptions } from '../support/world.ts';
import { world } from '../support/world.ts';

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);

type Options = Partial<ConstructorParameters<typeof Progress>[1]>;

function start(options: Options = {}, place: WorldOptions = {}) {
  const clock = new ManualClock(NOW);
  const context = world([], { clock, ...place });
  const progress = new Progress(context, { json: false, quiet: false, verbose: false, color: true, ...options });
  return { context, clock, progress, shown: context.stderr.text };
}

const wait = (seconds: number, reason: HttpWait['reason'] = 'window') => ({ until: NOW + seconds * 1000, reason });

// Loading the spinner takes real time.
async function appears(shown: () => string, text: string): Promise<void> {
  await expect.poll(shown, { timeout: 10_000, interval: 5 }).toContain(text);
}

test('stderr in a pipe shows no wait that ends at most 1.5 s after the end of the last shown wait', () => {
  const { progress, shown } = start();
  progress.wait(wait(43));
  progress.wait(wait(43));
  progress.wait(undefined);
  progress.wait(wait(44.5));
  progress.wait({ ...wait(60, 'blocked'), status: 503 });
  expect(shown()).toBe('waiting 43s for the rate limit to reset\nrate limited (503); retrying in 1m\n');
});

const LINE = 'waiting 43s for the rate limit to reset\n';
const JSON_LINE = '{"waiting":{"until":"2026-11-21T12:00:43.000Z","reason":"window"}}\n';

test.each<[Options, WorldOptions, HttpWait, string]>([
  [{}, {}, { ...wait(2, 'backoff'), failure: 'refused' }, 'request failed (refused); retrying in 2s\n'],
  [{}, {}, wait(43, 'pending'), 'waiting for another petstore process\n'],
  [{}, {}, { ...wait(43, 'pending'), isOwn: true }, 'waiting for a response\n'],
  [{}, {}, wait(0.9), ''],
  [{}, { columns: 0 }, wait(43), LINE],
  [{}, { columns: 80, env: { TERM: 'dumb' } }, wait(43), LINE],
  [{}, { columns: 80, env: { CI: 'true' } }, wait(43), LINE],
  // Under `xargs -P`, stdin is not a terminal.
  [{}, { columns: 80, stdin: '' }, wait(43), LINE],
  [{ verbose: true }, { columns: 80 }, wait(43), LINE],
  [{ json: true }, {}, wait(43), JSON_LINE],
  [{ json: true }, { columns: 80 }, wait(43), JSON_LINE],
  [{ quiet: true }, {}, wait(43), ''],
  [{ quiet: true }, { columns: 80 }, wait(43), ''],
])('with the options %j and the context %j, the wait %j prints %j on stderr', async (options, place, given, line) => {
  const { clock, progress, shown } = start(options, place);
  progress.wait(given);
  expect(progress.isWaiting).toBe(given.until > NOW + 1000);
  progress.status(() => '3 of 9 rows');
  progress.busy(1);
  // Time for a spinner to load and appear.
  await import('ora');
  await clock.advance(1000);
  await clock.advance(1000);
  expect(shown()).toBe(line);
});

test('a wait on a terminal counts down next to the current status', async () => {
  const { clock, progress, shown } = start({}, { columns: 80 });
  let done = 3;
  progress.status(() => `${done} of 9 rows`);
  progress.wait(wait(43));
  await clock.advance(150);
  await appears(shown, '3 of 9 rows · waiting 43s for the rate limit to reset');
  done = 8;
  await clock.advance(1000);
  await appears(shown, '8 of 9 rows · waiting 42s');
  progress.wait(undefined);
  await clock.advance(1000);
  await appears(shown, ' 8 of 9 rows\u001b');
  progress.stop();
});

const REFUSED: HttpWait = { ...wait(5, 'backoff'), failure: 'cannot connect to 127.0.0.1:4010: connection refused' };
const ROWS = '118 of 2,000 · 32m left';

test.each<[columns: number, expected: string, status: string | undefined, given: HttpWait]>([
  [80, '118 of 2,000 · 32m left · waiting 41s for the rate limit to reset', ROWS, wait(41)],
  [61, '118 of 2,000 · 32m left · waiting 41s for the rate limit', ROWS, wait(41)],
  [40, '118 of 2,000 · 32m left · wait 41s', ROWS, wait(41)],
  [36, '118 of 2,000 · 32m left', ROWS, wait(41)],
  [20, 'wait 41s', 'a text that is far longer than the terminal is wide', wait(41)],
  [80, 'asking ␛[2J · waiting 41s for the rate limit to reset', 'asking \u001b[2J', wait(41)],
  [120, 'request failed (cannot connect to 127.0.0.1:4010: connection refused); retrying in 5s', undefined, REFUSED],
  [40, 'connection refused; retrying in 5s', undefined, REFUSED],
  [30, 'wait 5s', undefined, REFUSED],
  [40, 'status 503; retrying in 5s', undefined, { ...REFUSED, failure: 'status 503' }],
  [40, 'waiting for another process', undefined, wait(5, 'pending')],
  [40, 'incomplete list; retrying in 5s', undefined, wait(5, 'list')],
  [40, 'waiting 5s for earlier creates', undefined, wait(5, 'requests')],
  [40, 'waiting 5s to confirm the lock', undefined, wait(5, 'lock')],
])('at %i columns, the spinner text is "%s" (status %j, wait %j)', async (columns, expected, status, given) => {
  const { clock, progress, shown } = start({}, { columns });
  if (status !== undefined) progress.status((room) => (room === columns - 5 ? status : 'no room'));
  progress.wait(given);
  await clock.advance(150);
  await appears(shown, ` ${expected}\u001b`);
  progress.stop();
});

test('with stdin from a pipe, a command shows a spinner only after it has read stdin', async () => {
  const { context, clock, progress, shown } = start({}, { columns: 80, stdin: 'name' });
  progress.busy(1);
  await clock.advance(5000);
  progress.busy(0);
  expect(shown()).toBe('');
  for await (const _ of context.stdin.read());
  progress.busy(1);
  await clock.advance(150);
  await appears(shown, 'Contacting the service…');
  progress.stop();
});

test('no spinner appears for a request that ends in less than 150 ms', async () => {
  const { clock, progress, shown } = start({}, { columns: 80 });
  progress.busy(1);
  await clock.advance(149);
  progress.busy(0);
  await clock.advance(5000);
  expect(shown()).toBe('');
});

test('the spinner appears for each request before `stop`, clears its line at the end, and never hides the cursor', async () => {
  const { clock, progress, shown } = start({}, { columns: 80 });
  let { length } = '';
  for (const end of [() => progress.busy(0), () => progress.stop()]) {
    progress.busy(1);
    await clock.advance(150);
    await appears(() => shown().slice(length), 'Contacting the service…');
    end();
    ({ length } = shown());
    expect(shown()).toMatch(/\u001b\[0K$/);
  }
  progress.busy(1);
  await clock.advance(5000);
  expect(shown()).toHaveLength(length);
  expect(shown()).not.toContain('\u001b[?25l');
});
