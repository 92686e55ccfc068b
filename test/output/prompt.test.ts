// Prompts on a fake terminal.
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { PetstoreError } from '../../src/errors.ts';
import type { PromptIO } from '../../src/output/prompt.ts';
import { askFor, askYesNo } from '../../src/output/prompt.ts';

function fakeTerminal() {
  const rawModes: boolean[] = [];
  const terminal = {
    isTTY: true,
    setRawMode(raw: boolean) {
      rawModes.push(raw);
      return this;
    },
  };
  const input = Object.assign(new PassThrough(), terminal);
  let stopped = (): void => undefined;
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
    interrupt: () => interrupt.abort(new PetstoreError('interrupted', 'by its signal')),
    suspend: (onContinue) => {
      stopped = onContinue;
    },
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    io,
    input,
    rawModes,
    continue: () => stopped(),
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
] as const)('a prompt for %s stops at Ctrl-Z without echo and is repeated when it continues', async (_what, hidden) => {
  const terminal = fakeTerminal();
  const answer = askFor(terminal.io, { message: 'what', hidden, parse: String });
  await terminal.type('old');
  await terminal.type('\u001a');
  expect(terminal.rawModes).toEqual([true, false, true]);
  terminal.continue();
  expect(terminal.rawModes.at(-1)).toBe(true);
  await terminal.type('new\r');
  expect(await answer).toBe('oldnew');
  expect(terminal.shown().split('what: ').length).toBeGreaterThan(2);
});

test.each([
  ['y\r', true, ''],
  ['YES\r', true, ''],
  ['\r', false, ''],
  ['no\r', false, ''],
  ['maybe\r', false, 'Canceled\n'],
])('a yes-or-no prompt resolves the input %j to %s and adds %j', async (typed, expected, added) => {
  const { io, type, shown } = fakeTerminal();
  const answer = askYesNo(io, 'really?');
  await type(typed);
  expect(await answer).toBe(expected);
  expect(shown().split('\r\n').at(-1)).toBe(added);
});

test.each([
  ['\u0003', 'by its signal'],
  ['\u0004', 'interrupted'],
])('the input %j ends a prompt on a new line, %s', async (typed, message) => {
  const { io, type, shown } = fakeTerminal();
  const answer = expect(askYesNo(io, 'really?')).rejects.toMatchObject({ kind: 'interrupted', message });
  await type(typed);
  await answer;
  expect(shown().endsWith('\n')).toBe(true);
});
