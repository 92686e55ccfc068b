// The one door to prompts: questions on a terminal, asked on stderr, so that stdout holds the answer and nothing else.
import { confirm, isCancel, password, text } from '@clack/prompts';
import { PetstoreError } from '../errors.ts';
import type { Environment, Input, Output } from '../io.ts';
import { colorLevel } from '../io.ts';

/** The terminal a question is asked on. */
export interface Asker {
  readonly stdin: Input;
  readonly stderr: Output;
  readonly env: Environment;
  /** Ends the question; the promise then rejects with its reason. */
  readonly signal: AbortSignal;
}

/** One question. */
export interface Question {
  /** In one line, made visible before. */
  readonly message: string;
  /** @returns what is wrong with an answer, shown until it is right; undefined where nothing is */
  readonly validate?: (answer: string) => string | undefined;
}

/**
 * Asks for a secret; what is typed is not shown.
 * @param asker the terminal
 * @param question what to ask
 * @returns the answer
 * @throws PetstoreError `interrupted` (130) after Ctrl-C or Escape
 */
export async function askHidden(asker: Asker, question: Question): Promise<string> {
  return settled<string>(asker, await password({ ...streams(asker), ...checked(question) }));
}

/**
 * Asks for a line of text.
 * @param asker the terminal
 * @param question what to ask
 * @returns the answer, without blanks around it
 * @throws PetstoreError `interrupted` (130) after Ctrl-C or Escape
 */
export async function askText(asker: Asker, question: Question): Promise<string> {
  return settled<string>(asker, await text({ ...streams(asker), ...checked(question) })).trim();
}

/**
 * Asks a question that is answered with yes or no.
 * @param asker the terminal
 * @param message the question, made visible before
 * @returns the answer
 * @throws PetstoreError `interrupted` (130) after Ctrl-C or Escape
 */
export async function askYesNo(asker: Asker, message: string): Promise<boolean> {
  return settled<boolean>(asker, await confirm({ ...streams(asker), message }));
}

function checked({ message, validate }: Question) {
  return { message, validate: (answer: string | undefined) => validate?.(answer ?? '') };
}

function streams(asker: Asker) {
  const { raw: input } = asker.stdin;
  const { raw: output } = asker.stderr;
  if (!input || !output) throw new PetstoreError('usage', 'there is no terminal to ask on');
  return { input, output: adapted(output, asker), signal: asker.signal, withGuide: false };
}

// A terminal that does not know its width would get a line per character; colour is not the prompt's to decide.
function adapted(raw: NodeJS.WriteStream, asker: Asker): NodeJS.WriteStream {
  const plain = colorLevel(asker.stderr, asker.env) === 0;
  const stream = Object.create(raw) as NodeJS.WriteStream;
  Object.defineProperty(stream, 'columns', { get: () => raw.columns || 80 });
  stream.write = (chunk: string | Uint8Array) =>
    raw.write(plain && typeof chunk === 'string' ? chunk.replace(/\u001b\[[0-9;]*m/g, '') : chunk);
  return stream;
}

function settled<Answer>(asker: Asker, answer: Answer | symbol): Answer {
  if (!isCancel(answer) && typeof answer !== 'symbol') return answer;
  asker.signal.throwIfAborted();
  throw new PetstoreError('interrupted', 'interrupted');
}
