// A prompt and what it leaves behind: nobody listens once it has its answer, also where it was stopped on the way.
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { JobControl } from '../../src/io.ts';
import type { PromptIO } from '../../src/output/prompt.ts';
import { askHidden, askText, askYesNo } from '../../src/output/prompt.ts';

interface Bench {
  readonly asker: PromptIO;
  readonly shown: () => string;
  /** Types, once everything typed before has been read. */
  readonly type: (text: string) => Promise<void>;
  readonly goOn: () => void;
  readonly told: { listeners: number; stops: number };
  readonly interrupt: AbortController;
  readonly input: PassThrough;
}

function bench(whenStopped = (): void => undefined): Bench {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => input });
  const output = Object.assign(new PassThrough(), { columns: 80, rows: 24 });
  const listeners = new Set<() => void>();
  const told = { stops: 0, listeners: 0 };
  const interrupt = new AbortController();
  const jobs: JobControl = {
    onContinue(listener) {
      listeners.add(listener);
      told.listeners = listeners.size;
      return () => {
        listeners.delete(listener);
        told.listeners = listeners.size;
      };
    },
    onStop: () => () => undefined,
    stop: async () => {
      told.stops++;
      whenStopped();
    },
  };
  let shown = '';
  output.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  return {
    asker: {
      stdin: {
        isTTY: true,
        async *read() {},
        raw: input as unknown as NodeJS.ReadStream,
        jobs: async () => jobs,
      },
      stderr: { isTTY: true, columns: 80, write: async () => undefined, raw: output as unknown as NodeJS.WriteStream },
      env: { NO_COLOR: '1' },
      signal: interrupt.signal,
    },
    shown: () => shown,
    type: async (text) => {
      input.write(text);
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    },
    goOn: () => {
      for (const listener of listeners) listener();
    },
    told,
    interrupt,
    input,
  };
}

const KINDS = [
  ['a secret', (asker: PromptIO) => askHidden(asker, { message: 'what' }), 'new', 'new'],
  ['a line', (asker: PromptIO) => askText(asker, { message: 'what' }), 'new', 'oldnew'],
] as const;

test.each(KINDS)('%s is asked for again after a stop and after going on, and nobody listens then', async (...kind) => {
  const [, ask, typed, answer] = kind;
  const { asker, type, goOn, told, input, shown } = bench();
  const asked = ask(asker);
  await type('old');
  expect(told).toEqual({ listeners: 1, stops: 0 });
  await type('\u001a');
  expect(told).toEqual({ listeners: 1, stops: 1 });
  goOn();
  await type('');
  await type(`${typed}\r`);
  expect(await asked).toBe(answer);
  expect(told).toEqual({ listeners: 0, stops: 1 });
  expect(input.listenerCount('keypress')).toBe(0);
  expect(shown().match(/what/g)?.length).toBeGreaterThanOrEqual(3);
});

test('what is there at a stop is not checked, and not taken for the answer', async () => {
  const { asker, type, told } = bench();
  const asked = askText(asker, { message: 'what', validate: (text) => (text === 'right' ? undefined : 'wrong') });
  await type('rig\u001a');
  await type('ht\r');
  expect(await asked).toBe('right');
  expect(told.stops).toBe(1);
});

test('a signal that came while it was stopped ends it', async () => {
  const { asker, type, told, interrupt } = bench(() => interrupt.abort());
  const asked = askYesNo(asker, 'really?');
  const ended = expect(asked).rejects.toThrow();
  await type('\u001a');
  await ended;
  expect(told.listeners).toBe(0);
});
