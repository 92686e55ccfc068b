// Prompts on a terminal, written to stderr because stdout carries only the result.
import type { Interface } from 'node:readline/promises';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../text/escape.ts';
import type { Context, Output } from '../context.ts';

/** If the signal is aborted, the prompt rejects with its reason. */
export type PromptIO = Pick<Context, 'stdin' | 'stderr' | 'signal' | 'interrupt' | 'suspend'>;

/** The maximum number of times that a question is asked. */
const MAX_TRIES = 3;

interface QuestionOptions<T> {
  /** One line without control characters. */
  readonly message: string;
  /** True for a secret: typed characters are not shown. */
  readonly hidden?: boolean;
  /** Converts the trimmed answer; a PetstoreError is shown, and the question is asked again. */
  readonly parse: (answer: string) => T;
}

export type Question<T> = ReturnType<typeof createQuestion<T>>;

/** A question that may be asked again if its answer is rejected. */
export function createQuestion<T>(io: PromptIO, { message, hidden = false, parse }: QuestionOptions<T>) {
  let left = MAX_TRIES;
  return {
    canAsk: (): boolean => left > 0,
    /**
     * Asks until the answer is valid.
     * @param rejection why the last answer was rejected
     * @throws PetstoreError `interrupted` (130) after Ctrl-C or Ctrl-D; the error of `parse` after the last try
     */
    async ask(rejection = ''): Promise<T> {
      for (let reason = rejection; ; ) {
        if (reason !== '') await io.stderr.write(`${escapeControls(reason)}\n`);
        left--;
        const answer = await ask(io, `${message}: `, hidden);
        try {
          return parse(answer.trim());
        } catch (error) {
          if (!(error instanceof PetstoreError) || left === 0) throw error;
          reason = [error.message, error.hint].filter(Boolean).join('; ');
        }
      }
    },
  };
}

/** Asks a question whose default answer is no; throws as a question does. */
export async function askYesNo(io: PromptIO, message: string): Promise<boolean> {
  return /^\s*y(?:es)?\s*$/i.test(await ask(io, `${message} [y/N] `, false));
}

/** Reads one line; a hidden one is not shown as it is typed. */
async function ask(io: PromptIO, message: string, hidden: boolean): Promise<string> {
  const { stdin, stderr, signal, interrupt } = io;
  const { raw: input } = stdin;
  if (!input) throw new PetstoreError('usage', 'no terminal for the prompt');
  const output = echo(stderr, hidden);
  // The terminal stops echoing here, before the question is shown.
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  const ended = new AbortController();
  const end = (): void => ended.abort();
  // Ctrl-D, or a closed terminal.
  lines.on('close', end).on('error', end);
  lines.on('SIGINT', interrupt).on('SIGTSTP', () => suspend(io, input, lines, hidden ? message : undefined));
  if (hidden) await stderr.write(message);
  try {
    return await lines.question(hidden ? '' : message, { signal: AbortSignal.any([signal, ended.signal]) });
  } catch {
    throw signal.reason ?? new PetstoreError('interrupted', 'interrupted');
  } finally {
    lines.close();
    // Flush readline's output before anything else is written.
    await new Promise<void>((done) => output.end(done));
    // Readline has ended the line of a visible prompt.
    if (hidden) await stderr.write('\n');
  }
}

/** The stream to which readline writes the question and the typed text. */
function echo(stderr: Output, hidden: boolean): Writable {
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (hidden) done();
      else stderr.write(String(chunk)).then(() => done(), done);
    },
  });
  return Object.assign(output, { columns: stderr.columns || 80 });
}

/**
 * Suspends the program, as Ctrl-Z does; after `fg`, the question is shown again.
 * @param hiddenMessage the question, if its answer is hidden
 */
function suspend(io: PromptIO, input: NodeJS.ReadStream, lines: Interface, hiddenMessage: string | undefined): void {
  // The text typed so far is invisible, so it is deleted: Ctrl-E moves to its end, Ctrl-U deletes to its beginning.
  if (hiddenMessage !== undefined) for (const name of ['e', 'u']) lines.write(null, { ctrl: true, name });
  input.setRawMode(false);
  io.suspend(() => {
    // The shell may have changed the mode meanwhile.
    input.setRawMode(false).setRawMode(true);
    if (hiddenMessage === undefined) lines.prompt(true);
    else void io.stderr.write(hiddenMessage);
  });
  // Without job control, the process does not stop, and the terminal must not echo.
  input.setRawMode(true);
}
