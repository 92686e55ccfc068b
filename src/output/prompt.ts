// Prompts on a terminal, written to stderr because stdout carries only the result.
import type { Interface } from 'node:readline';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { PetstoreError } from '../errors.ts';
import type { Context } from '../io.ts';

/** If the signal is aborted, the prompt rejects with its reason. */
export type PromptIO = Pick<Context, 'stdin' | 'stderr' | 'signal'>;

export interface Question<T> {
  /** One line without control characters. */
  readonly message: string;
  /** True for a secret: typed characters are not shown. */
  readonly hidden?: boolean;
  /** Converts the trimmed answer; a PetstoreError is shown, and the question is asked again. */
  readonly parse: (answer: string) => T;
}

/**
 * Asks a question until the answer is valid.
 * @throws PetstoreError `interrupted` (130) after Ctrl-C or Ctrl-D
 */
export async function askFor<T>(io: PromptIO, { message, hidden = false, parse }: Question<T>): Promise<T> {
  for (;;) {
    const answer = await ask(io, `${message}: `, hidden);
    try {
      return parse(answer.trim());
    } catch (error) {
      if (!(error instanceof PetstoreError)) throw error;
      await io.stderr.write(`${[error.message, error.hint].filter(Boolean).join('; ')}\n`);
    }
  }
}

/** Asks a question whose default answer is no; throws as `askFor` does. */
export async function askYesNo(io: PromptIO, message: string): Promise<boolean> {
  return /^\s*y(?:es)?\s*$/i.test(await ask(io, `${message} (y/N) `, false));
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
    // The terminal was closed, and its modes cannot be restored.
    lines.on('error', end);
    if (signal.aborted) end();
  });
  // Remove the listener: all prompts of a command share one signal.
  return answer.finally(() => signal.removeEventListener('abort', end));
}
