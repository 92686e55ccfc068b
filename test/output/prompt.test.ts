// Prompts on a fake terminal: hidden input, Ctrl-Z, validation, and that nothing listens afterwards.
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { PromptIO } from '../../src/output/prompt.ts';
import { askHidden, askText, askYesNo } from '../../src/output/prompt.ts';

function bench() {
  const rawModes: boolean[] = [];
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (raw: boolean) => void rawModes.push(raw),
  });
  const interrupt = new AbortController();
  let shown = '';
  const io: PromptIO = {
    stdin: { isTTY: true, async *read() {}, raw: input as unknown as NodeJS.ReadStream },
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
    rawModes,
    shown: () => shown,
    type: async (text: string): Promise<void> => {
      await settle();
      input.write(text);
      await settle();
    },
  };
}

test('a hidden prompt shows neither the secret nor its length', async () => {
  const { io, type, shown, input } = bench();
  const answer = askHidden(io, { message: 'API key' });
  await type('sk_secret\r');
  expect(await answer).toBe('sk_secret');
  expect(shown()).toBe('API key: \n');
  expect(input.listenerCount('keypress')).toBe(0);
});

test.each([
  ['a secret', askHidden],
  ['a line', askText],
] as const)('the question for %s ignores Ctrl-Z', async (_what, ask) => {
  const { io, type, rawModes } = bench();
  const answer = ask(io, { message: 'what' });
  await type('old');
  await type('\u001a');
  expect(rawModes).toEqual([true]);
  await type('new\r');
  expect(await answer).toBe('oldnew');
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

test('a signal ends the question', async () => {
  const { io, interrupt } = bench();
  const answer = expect(askYesNo(io, 'really?')).rejects.toThrow();
  interrupt.abort();
  await answer;
});
