// Prompts on a fake terminal: hidden input, stops, validation, and that nothing listens afterwards.
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { JobControl } from '../../src/io.ts';
import type { PromptIO } from '../../src/output/prompt.ts';
import { askHidden, askText, askYesNo } from '../../src/output/prompt.ts';
import { hasSignals } from '../support/capabilities.ts';

function bench(whenStopped = (): void => undefined) {
  const rawModes: boolean[] = [];
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (raw: boolean) => void rawModes.push(raw),
  });
  const listeners = new Set<() => void>();
  const interrupt = new AbortController();
  const jobs: JobControl = {
    onContinue(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop: async () => whenStopped(),
  };
  let shown = '';
  const io: PromptIO = {
    stdin: { isTTY: true, async *read() {}, raw: input as unknown as NodeJS.ReadStream, jobs },
    stderr: {
      isTTY: true,
      columns: 80,
      write: async (text) => {
        shown += String(text);
      },
    },
    signal: interrupt.signal,
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    io,
    input,
    interrupt,
    listeners,
    rawModes,
    shown: () => shown,
    type: async (text: string): Promise<void> => {
      await settle();
      input.write(text);
      await settle();
    },
    resume: (): void => {
      for (const listener of listeners) listener();
    },
  };
}

test('a secret is not shown, nor its length', async () => {
  const { io, type, shown, listeners, input } = bench();
  const answer = askHidden(io, { message: 'API key' });
  await type('sk_canary\r');
  expect(await answer).toBe('sk_canary');
  expect(shown()).toBe('API key: \n');
  expect(listeners.size + input.listenerCount('keypress')).toBe(0);
});

test.runIf(hasSignals).each([
  ['a secret', askHidden],
  ['a line', askText],
] as const)('%s is asked for again after Ctrl-Z and fg, with raw mode on', async (_what, ask) => {
  const { io, type, resume, rawModes, shown, listeners } = bench();
  const answer = ask(io, { message: 'what' });
  await type('old');
  await type('\u001a');
  expect(rawModes.slice(-2)).toEqual([false, true]);
  const before = rawModes.length;
  resume();
  expect(rawModes.slice(before)).toEqual([false, true]);
  await type('new\r');
  expect(await answer).toBe('oldnew');
  expect(shown().match(/what/g)?.length).toBeGreaterThanOrEqual(2);
  expect(listeners.size).toBe(0);
});

test('an invalid answer is explained and asked for again', async () => {
  const { io, type, shown } = bench();
  const answer = askText(io, { message: 'what', validate: (text) => (text === 'right' ? undefined : 'not right') });
  await type('wrong\r');
  expect(shown()).toContain('not right\n');
  await type('right\r');
  expect(await answer).toBe('right');
});

test.each([
  ['y\r', true],
  ['yes\r', true],
  ['\r', false],
  ['n\r', false],
])('%j to a yes-or-no question is %s', async (typed, expected) => {
  const { io, type } = bench();
  const answer = askYesNo(io, 'really?');
  await type(typed);
  expect(await answer).toBe(expected);
});

test.each(['\u0003', '\u0004'])('%j ends the question as interrupted', async (typed) => {
  const { io, type } = bench();
  const answer = expect(askYesNo(io, 'really?')).rejects.toMatchObject({ kind: 'interrupted', exitCode: 130 });
  await type(typed);
  await answer;
});

test.runIf(hasSignals)('a signal during a stop ends the question', async () => {
  const { io, type, interrupt, listeners } = bench(() => interrupt.abort());
  const answer = expect(askYesNo(io, 'really?')).rejects.toThrow();
  await type('\u001a');
  await answer;
  expect(listeners.size).toBe(0);
});
