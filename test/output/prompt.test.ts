// Prompts on a fake terminal: hidden input, stops, validation, and that nothing listens afterwards.
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { JobControl } from '../../src/io.ts';
import type { PromptIO } from '../../src/output/prompt.ts';
import { askHidden, askText, askYesNo } from '../../src/output/prompt.ts';

function bench() {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const listeners = new Set<() => void>();
  const jobs: JobControl = {
    onContinue(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stop: async () => undefined,
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
    signal: new AbortController().signal,
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  const type = async (text: string): Promise<void> => {
    await settle();
    input.write(text);
    await settle();
  };
  return { io, input, listeners, type, shown: () => shown };
}

test('a hidden prompt shows neither the secret nor its length', async () => {
  const { io, type, shown, listeners, input } = bench();
  const answer = askHidden(io, { message: 'API key' });
  await type('sk_secret\r');
  expect(await answer).toBe('sk_secret');
  expect(shown()).toBe('API key: \n');
  expect(listeners.size + input.listenerCount('keypress')).toBe(0);
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

test.each(['\u0003', '\u0004'])('%j at a question ends it as interrupted', async (typed) => {
  const { io, type } = bench();
  const answer = expect(askYesNo(io, 'really?')).rejects.toMatchObject({ kind: 'interrupted', exitCode: 130 });
  await type(typed);
  await answer;
});
