// Prompts on a terminal, written to stderr because stdout carries only the result.
import type { Interface } from 'node:readline';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { PetstoreError } from '../errors.ts';
import type { Input, Output } from '../io.ts';
import { wrap } from './wrap.ts';

export interface PromptIO {
  readonly stdin: Input;
  readonly stderr: Output;
  /** Aborts the prompt, which rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

export interface Question {
  /** One line without control characters. */
  readonly message: string;
  /** Returns the problem of an invalid answer; the question is then asked again. */
  readonly validate?: (answer: string) => string | undefined;
}

/**
 * Asks for a secret: nothing is shown while it is typed.
 * @throws PetstoreError `interrupted` (130) after Ctrl-C or Ctrl-D
 */
export function askHidden(io: PromptIO, question: Question): Promise<string> {
  return askUntilValid(io, question, true);
}

/** Prompts for a line of text and trims it; throws as `askHidden` does. */
export function askText(io: PromptIO, question: Question): Promise<string> {
  return askUntilValid(io, question, false).then((answer) => answer.trim());
}

/** Asks a question whose default answer is no; throws as `askHidden` does. */
export async function askYesNo(io: PromptIO, message: string): Promise<boolean> {
  return /^\s*y(?:es)?\s*$/i.test(await ask(io, `${message} (y/N) `, false));
}

async function askUntilValid(io: PromptIO, { message, validate }: Question, hidden: boolean): Promise<string> {
  for (;;) {
    const answer = await ask(io, `${message}: `, hidden);
    const problem = validate?.(answer);
    if (problem === undefined) return answer;
    await io.stderr.write(`${wrap(problem, io.stderr.columns)}\n`);
  }
}

async function ask({ stdin, stderr, signal }: PromptIO, message: string, hidden: boolean): Promise<string> {
  const { raw: input } = stdin;
  if (!input) throw new PetstoreError('usage', 'no terminal for the prompt');
  // Readline writes the question and the typed text to this stream.
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (hidden) done();
      else stderr.write(String(chunk)).then(() => done(), done);
    },
  });
  Object.assign(output, { columns: stderr.columns || 80 });
  // The terminal stops echoing here, before the question is shown.
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  if (hidden) await stderr.write(message);
  lines.setPrompt(message);
  // Ignore Ctrl-Z: after the shell's `fg` the terminal would echo the key.
  lines.on('SIGTSTP', () => undefined);
  try {
    if (!hidden) lines.prompt();
    return await answered(lines, signal);
  } finally {
    lines.close();
    // Flush readline's output before anything else is written.
    await new Promise<void>((done) => output.end(done));
    if (hidden) await stderr.write('\n');
  }
}

function answered(lines: Interface, signal: AbortSignal): Promise<string> {
  let end = (): void => undefined;
  const answer = new Promise<string>((resolve, reject) => {
    end = () => reject(signal.reason ?? new PetstoreError('interrupted', 'interrupted'));
    signal.addEventListener('abort', end, { once: true });
    lines.once('line', resolve);
    lines.once('SIGINT', end);
    lines.once('close', end);
    if (signal.aborted) end();
  });
  // Remove the listener: all prompts of a command share one signal.
  return answer.finally(() => signal.removeEventListener('abort', end));
}
