// What is said beside a running command: each wait once, on a terminal a countdown, with --json as JSON, with --quiet nothing.
import { expect, test } from 'vitest';
import { startProgress } from '../../src/commands/command-progress.ts';
import { openSession, readGlobalOptions } from '../../src/session.ts';
import { FakeClock } from '../support/fake-clock.ts';
import type { WorldOptions } from '../support/world.ts';
import { world } from '../support/world.ts';

const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);

async function beside(options: Record<string, unknown>, place: WorldOptions = {}) {
  const clock = FakeClock.manual(NOW);
  const context = world([], { clock, ...place });
  const session = openSession(context, readGlobalOptions(options, {}));
  const end = await startProgress(session);
  return { clock, watch: session.progress, end, said: context.stderr.text };
}

const wait = (seconds: number, reason: 'blocked' | 'window' | 'sibling' | 'backoff' = 'window') => ({
  until: NOW + seconds * 1000,
  reason,
});

test('in a pipe a wait is one line, however often it is reported, and a longer one is another', async () => {
  const { watch, end, said } = await beside({});
  watch.wait?.(wait(43));
  watch.wait?.(wait(43));
  watch.wait?.(undefined);
  watch.wait?.(wait(60, 'blocked'));
  end();
  expect(said()).toBe(
    'quota used up, going on in 43s (until 2026-11-21T12:00:43.000Z)\n' +
      'rate limited, going on in 1m (until 2026-11-21T12:01:00.000Z)\n',
  );
});

test('a wait that is over before it is read is not said', async () => {
  const { watch, said } = await beside({});
  watch.wait?.(wait(0.9));
  expect(said()).toBe('');
});

test('with --json a wait is one JSON document on a line', async () => {
  const { watch, said } = await beside({ json: true });
  watch.wait?.(wait(43, 'backoff'));
  watch.status?.(() => '3 of 9 rows');
  watch.busy?.(1);
  expect(said()).toBe('{"waiting":{"until":"2026-11-21T12:00:43.000Z","reason":"backoff"}}\n');
});

test('with --quiet nothing is said', async () => {
  const { watch, end, said } = await beside({ quiet: true }, { columns: 80 });
  watch.wait?.(wait(43));
  watch.busy?.(1);
  end();
  expect(said()).toBe('');
});

test('in a pipe a long work says a line every ten seconds', async () => {
  const { clock, watch, end, said } = await beside({});
  watch.status?.(() => '1 of 9 rows');
  await clock.advance(10_000);
  watch.status?.(() => '4 of 9 rows');
  watch.status?.(() => '5 of 9 rows');
  end();
  expect(said()).toBe('4 of 9 rows\n');
});

// Loading the spinner takes real time of its own; what was asked for is looked at until it is there.
async function appears(said: () => string, text: string): Promise<void> {
  await expect.poll(said, { timeout: 10_000 }).toContain(text);
}

test('on a terminal the wait counts down, before what else there is to say', async () => {
  const { clock, watch, end, said } = await beside({}, { columns: 80 });
  watch.status?.(() => '3 of 9 rows');
  watch.wait?.(wait(43));
  await clock.advance(150);
  await appears(said, 'quota used up, going on in 43s · 3 of 9 rows');
  await clock.advance(850);
  await appears(said, 'going on in 42s');
  watch.wait?.(undefined);
  await appears(said, ' 3 of 9 rows');
  end();
  expect(said().lastIndexOf('\u001b[?25h')).toBeGreaterThan(said().lastIndexOf('\u001b[?25l'));
});

test('what a long work says is made anew with every second of a wait', async () => {
  const { clock, watch, end, said } = await beside({}, { columns: 80 });
  let done = 3;
  watch.status?.(() => `${done} of 9 rows`);
  watch.wait?.(wait(43));
  await clock.advance(150);
  await appears(said, 'going on in 43s · 3 of 9 rows');
  done = 8;
  await clock.advance(850);
  await appears(said, 'going on in 42s · 8 of 9 rows');
  end();
});

test('without a request under way nothing is painted, so that a question stays as it is', async () => {
  const { clock, watch, end, said } = await beside({}, { columns: 80 });
  await clock.advance(5000);
  watch.busy?.(1);
  watch.busy?.(0);
  await clock.advance(5000);
  expect(said()).toBe('');
  watch.busy?.(1);
  await clock.advance(150);
  await appears(said, 'asking the service');
  end();
});

test('with --verbose there are lines instead of a spinner', async () => {
  const { clock, watch, end, said } = await beside({ verbose: true }, { columns: 80 });
  watch.busy?.(1);
  await clock.advance(5000);
  watch.wait?.(wait(43, 'sibling'));
  end();
  expect(said()).toContain('waiting for the answer to a request under way');
  expect(said()).not.toContain('\u001b');
});
