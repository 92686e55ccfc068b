// Prompts on a fake terminal; test/cli/commands/auth/login-terminal.test.ts uses a pseudo-terminal.
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { PromptIO } from '../../../src/cli/output/prompt.ts';
import { askYesNo, createQuestion } from '../../../src/cli/output/prompt.ts';
import { PetstoreError } from '../../../src/errors.ts';
import { world } from '../../support/world.ts';

function fakeTerminal() {
  const rawModes: boolean[] = [];
  const setRawMode = (raw: boolean): PassThrough => {
    rawModes.push(raw);
    return input;
  };
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode });
  const context = world([], { columns: 80 });
  const stopped: (() => void)[] = [];
  const io: PromptIO = {
    ...context,
    stdin: { ...context.stdin, raw: input as unknown as NodeJS.ReadStream },
    suspend: (onContinue) => void stopped.push(onContinue),
  };
  const type = async (text: string): Promise<void> => {
    for (let turns = 0; turns < 5; turns++) await turn();
    input.write(text);
    for (let turns = 0; turns < 5; turns++) await turn();
  };
  return { io, input, rawModes, stopped, type, shown: context.stderr.text };
}

test('a hidden prompt shows neither the secret nor its length, and removes its `keypress` listener', async () => {
  const { io, type, shown, input } = fakeTerminal();
  const answer = createQuestion(io, { message: 'API key', hidden: true, parse: String }).ask();
  await type(' sk_secret \r');
  expect(await answer).toBe('sk_secret');
  expect(shown()).toBe('API key: \n');
  expect(input.listenerCount('keypress')).toBe(0);
});

test.each([
  ['visible', 'oldnew'],
  ['hidden', 'new'],
])('without job control, a %s prompt reads "old", Ctrl-Z, "new" as "%s" and resumes raw mode', async (kind, read) => {
  const { io, type, rawModes, stopped } = fakeTerminal();
  const answer = createQuestion(io, { message: 'what', hidden: kind === 'hidden', parse: String }).ask();
  await type('old\u001a');
  expect([rawModes, stopped.length]).toEqual([[true, false, true], 1]);
  await type('new\r');
  expect(await answer).toBe(read);
});

test('a prompt throws the error of the third invalid answer', async () => {
  const { io, type, shown } = fakeTerminal();
  const parse = () => {
    throw new PetstoreError('usage', 'is wrong', { hint: 'correct it' });
  };
  const answer = expect(createQuestion(io, { message: 'what', parse }).ask()).rejects.toThrow('is wrong');
  for (const text of ['a\r', 'b\r', 'c\r']) await type(text);
  await answer;
  expect(shown().match(/what: /g)).toHaveLength(3);
  expect(shown().match(/is wrong; correct it\n/g)).toHaveLength(2);
});

test.each([
  ['y\r', true],
  [' YES \r', true],
  ['\r', false],
  ['no\r', false],
  ['yo\r', false],
])('a yes-or-no prompt reads the input %j as %s and prints nothing after it', async (typed, expected) => {
  const { io, type, shown } = fakeTerminal();
  const answer = askYesNo(io, 'really?');
  await type(typed);
  expect(await answer).toBe(expected);
  expect(shown().split('\r\n').at(-1)).toBe('');
});

test('Ctrl-D interrupts a prompt and ends its line', async () => {
  const { io, type, shown } = fakeTerminal();
  const answer = expect(askYesNo(io, 'really?')).rejects.toMatchObject({ kind: 'interrupted', message: 'interrupted' });
  await type('\u0004');
  await answer;
  expect(shown()).toMatch(/y\/N\] [^\n]*\n$/);
});
