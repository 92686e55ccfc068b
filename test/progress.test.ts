// Progress on stderr: each wait once, a countdown on a terminal, JSON with --json, nothing with --quiet.
import { expect, test } from 'vitest';
import { openSession, readGlobalOptions } from '../src/session.ts';
import { FakeClock } from './support/fake-clock.ts';
import type { WorldOptions } from './support/world.ts';
import { world } from './support/world.ts';

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);

async function beside(options: Record<string, unknown>, place: WorldOptions = {}) {
  const clock = FakeClock.manual(NOW);
  const context = world([], { clock, ...place });
  const session = openSession(context, readGlobalOptions(options, {}));
  const { progress } = session;
  return { clock, watch: progress, end: progress.stop, shown: context.stderr.text };
}

const wait = (seconds: number, reason: 'blocked' | 'window' | 'sibling' | 'backoff' = 'window') => ({
  until: NOW + seconds * 1000,
  reason,
});

test('in a pipe a wait is one line, however often it is reported, and a longer one is another', async () => {
  const { watch, end, shown } = await beside({});
  watch.wait(wait(43));
  watch.wait(wait(43));
  watch.wait(undefined);
  watch.wait(wait(60, 'blocked'));
  end();
  expect(shown()).toBe('waiting for the rate limit, 43s\n' + 'waiting for the rate limit, 1m\n');
});

test('a wait for a retry names what failed', async () => {
  const { watch, end, shown } = await beside({});
  watch.wait({ ...wait(2, 'backoff'), failure: 'connection refused' });
  end();
  expect(shown()).toBe('request failed (connection refused); retrying in 2s\n');
});

test('a wait of less than a second is not shown', async () => {
  const { watch, shown } = await beside({});
  watch.wait(wait(0.9));
  expect(shown()).toBe('');
});

test('with --json a wait is one JSON document on a line', async () => {
  const { watch, shown } = await beside({ json: true });
  watch.wait(wait(43, 'backoff'));
  watch.status(() => '3 of 9 rows');
  watch.busy(1);
  expect(shown()).toBe('{"waiting":{"until":"2026-11-21T12:00:43.000Z","reason":"backoff"}}\n');
});

test('with --quiet nothing is shown', async () => {
  const { watch, end, shown } = await beside({ quiet: true }, { columns: 80 });
  watch.wait(wait(43));
  watch.busy(1);
  end();
  expect(shown()).toBe('');
});

test('in a pipe a long command writes a line every ten seconds', async () => {
  const { clock, watch, end, shown } = await beside({});
  watch.status(() => '1 of 9 rows');
  await clock.advance(10_000);
  watch.status(() => '4 of 9 rows');
  watch.status(() => '5 of 9 rows');
  end();
  expect(shown()).toBe('4 of 9 rows\n');
});

// Loading the spinner takes real time.
async function appears(shown: () => string, text: string): Promise<void> {
  await expect.poll(shown, { timeout: 10_000 }).toContain(text);
}

test('on a terminal the wait counts down, after the status', async () => {
  const { clock, watch, end, shown } = await beside({}, { columns: 80 });
  watch.status(() => '3 of 9 rows');
  watch.wait(wait(43));
  await clock.advance(150);
  await appears(shown, '3 of 9 rows · waiting for the rate limit, 43s');
  await clock.advance(850);
  await appears(shown, 'rate limit, 42s');
  watch.wait(undefined);
  await appears(shown, ' 3 of 9 rows');
  end();
});

test('the status is updated with every second of a wait', async () => {
  const { clock, watch, end, shown } = await beside({}, { columns: 80 });
  let done = 3;
  watch.status(() => `${done} of 9 rows`);
  watch.wait(wait(43));
  await clock.advance(150);
  await appears(shown, '3 of 9 rows · waiting for the rate limit, 43s');
  done = 8;
  await clock.advance(850);
  await appears(shown, '8 of 9 rows · waiting for the rate limit, 42s');
  end();
});

test('without a request nothing is shown, so that a prompt is not painted over', async () => {
  const { clock, watch, end, shown } = await beside({}, { columns: 80 });
  await clock.advance(5000);
  watch.busy(1);
  watch.busy(0);
  await clock.advance(5000);
  expect(shown()).toBe('');
  watch.busy(1);
  await clock.advance(150);
  await appears(shown, 'Contacting the service…');
  end();
});

test('with --verbose there are lines instead of a spinner', async () => {
  const { clock, watch, end, shown } = await beside({ verbose: true }, { columns: 80 });
  watch.busy(1);
  await clock.advance(5000);
  watch.wait(wait(43, 'sibling'));
  end();
  expect(shown()).toContain('waiting for another request to finish');
  expect(shown()).not.toContain('\u001b');
});
