// Prompts on a fake terminal.
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { PetstoreError } from '../../src/errors.ts';
import type { PromptIO } from '../../src/output/prompt.ts';
import { askFor, askYesNo } from '../../src/output/prompt.ts';

function fakeTerminal() {
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

test('a hidden prompt shows neither the secret nor its length, and removes its listener', async () => {
  const { io, type, shown, input } = fakeTerminal();
  const answer = askFor(io, { message: 'API key', hidden: true, parse: String });
  await type('sk_secret\r');
  expect(await answer).toBe('sk_secret');
  expect(shown()).toBe('API key: \n');
  expect(input.listenerCount('keypress')).toBe(0);
});

test.each([
  ['a secret', true],
  ['a line of text', false],
] as const)('a prompt for %s ignores Ctrl-Z', async (_what, hidden) => {
  const { io, type, rawModes } = fakeTerminal();
  const answer = askFor(io, { message: 'what', hidden, parse: String });
  await type('old');
  await type('\u001a');
  expect(rawModes).toEqual([true]);
  await type('new\r');
  expect(await answer).toBe('oldnew');
});

test('a prompt explains invalid input and asks again', async () => {
  const { io, type, shown } = fakeTerminal();
  const parse = (text: string): string => {
    if (text === 'right') return text;
    throw new PetstoreError('usage', 'not right', { hint: 'type right' });
  };
  const answer = askFor(io, { message: 'what', parse });
  await type('wrong\r');
  expect(shown()).toContain('not right; type right\n');
  await type('right\r');
  expect(await answer).toBe('right');
});

test.each([
  ['y\r', true],
  ['yes\r', true],
  ['\r', false],
  ['n\r', false],
])('a yes-or-no prompt resolves the input %j to %s', async (typed, expected) => {
  const { io, type } = fakeTerminal();
  const answer = askYesNo(io, 'really?');
  await type(typed);
  expect(await answer).toBe(expected);
});

test.each(['\u0003', '\u0004'])('the input %j ends a prompt with exit code 130', async (typed) => {
  const { io, type } = fakeTerminal();
  const answer = expect(askYesNo(io, 'really?')).rejects.toMatchObject({ kind: 'interrupted', exitCode: 130 });
  await type(typed);
  await answer;
});

test('an abort ends a prompt', async () => {
  const { io, interrupt } = fakeTerminal();
  const answer = expect(askYesNo(io, 'really?')).rejects.toThrow();
  interrupt.abort();
  await answer;
});
