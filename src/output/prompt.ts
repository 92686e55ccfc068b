// The one door to prompts: questions on a terminal, asked on stderr, so that stdout holds the answer and nothing else.
import { confirm, isCancel, password, text } from '@clack/prompts';
import type { Environment } from '../environment.ts';
import { PetstoreError } from '../errors.ts';
import type { Input, JobControl, Output } from '../io.ts';
import { colorLevel } from '../io.ts';

/** The terminal a question is asked on. */
export interface PromptIO {
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
 * Asks for a secret; what is typed is not shown. After a stop (Ctrl-Z) it begins anew, as readpassphrase does.
 * @param asker the terminal
 * @param question what to ask
 * @returns the answer
 * @throws PetstoreError `interrupted` (130) after Ctrl-C or Escape
 */
export function askHidden(asker: PromptIO, question: Question): Promise<string> {
  return answered<string>(asker, (round) => password({ ...round.streams, ...checked(question, round) }));
}

/**
 * Asks for a line of text.
 * @param asker the terminal
 * @param question what to ask
 * @returns the answer, without blanks around it
 * @throws PetstoreError `interrupted` (130) after Ctrl-C or Escape
 */
export async function askText(asker: PromptIO, question: Question): Promise<string> {
  const answer = await answered<string>(asker, (round, initialValue = '') =>
    text({ ...round.streams, ...checked(question, round), initialValue }),
  );
  return answer.trim();
}

/**
 * Asks a question that is answered with yes or no.
 * @param asker the terminal
 * @param message the question, made visible before
 * @returns the answer
 * @throws PetstoreError `interrupted` (130) after Ctrl-C or Escape
 */
export function askYesNo(asker: PromptIO, message: string): Promise<boolean> {
  return answered<boolean>(asker, (round, initialValue = true) => confirm({ ...round.streams, message, initialValue }));
}

// Until a round ends with an answer: one that was stopped is followed by another, since the shell has written over the
// question and taken raw mode from the terminal. What was typed so far goes along.
async function answered<Answer>(
  asker: PromptIO,
  pose: (round: PromptSession, soFar: Answer | undefined) => Promise<Answer | symbol>,
): Promise<Answer> {
  const jobs = await asker.stdin.jobs?.();
  let soFar: Answer | undefined;
  for (;;) {
    const round = new PromptSession(asker, jobs);
    const answer = await pose(round, soFar).finally(() => round.end());
    if (!round.left) return settled(asker, answer);
    if (typeof answer !== 'symbol') soFar = answer;
    if (round.left === 'to stop') await jobs?.stop();
  }
}

interface Key {
  readonly ctrl: boolean;
  name: string | undefined;
}

const SHOW_CURSOR = '\u001b[?25h';

// A question on the terminal, from its first painting until it is answered or left.
class PromptSession {
  readonly streams;
  /** Why it was left without an answer. */
  left: 'to stop' | 'continued' | undefined;
  readonly #input: NodeJS.ReadStream;
  readonly #output: NodeJS.WriteStream;
  readonly #forget: (() => void) | undefined;
  #ended = false;

  constructor(asker: PromptIO, jobs: JobControl | undefined) {
    const { raw: input } = asker.stdin;
    const { raw: output } = asker.stderr;
    if (!input || !output) throw new PetstoreError('usage', 'there is no terminal to ask on');
    this.#input = input;
    this.#output = output;
    this.streams = { input, output: this.#adapted(asker), signal: asker.signal, withGuide: false };
    // Before readline's own: that one would stop this process alone, and leave a terminal that echoes where nothing stops.
    if (jobs) input.prependListener('keypress', this.#takeCtrlZ);
    this.#forget = jobs?.onContinue(() => this.#leave('continued'));
  }

  end(): void {
    this.#ended = true;
    this.#input.off('keypress', this.#takeCtrlZ);
    this.#forget?.();
  }

  #takeCtrlZ = (_text: string | undefined, key: Key): void => {
    if (!key.ctrl || key.name !== 'z') return;
    // A name that means nothing to those who hear of the key next.
    key.name = 'stop';
    setImmediate(() => this.#leave('to stop'));
  };

  // Entering what is there ends the prompt and tells what was typed; nothing of that is painted.
  #leave(why: 'to stop' | 'continued'): void {
    if (this.#ended || this.left) return;
    this.left = why;
    this.#output.write(SHOW_CURSOR);
    this.#input.emit('keypress', '\r', { sequence: '\r', name: 'return', ctrl: false, meta: false, shift: false });
  }

  // A terminal that does not know its width would get a line per character; colour is not the prompt's to decide.
  #adapted(asker: PromptIO): NodeJS.WriteStream {
    const raw = this.#output;
    const plain = colorLevel(asker.stderr, asker.env) === 0;
    const stream = Object.create(raw) as NodeJS.WriteStream;
    Object.defineProperty(stream, 'columns', { get: () => raw.columns || 80 });
    stream.write = (chunk: string | Uint8Array) =>
      this.left !== undefined ||
      raw.write(plain && typeof chunk === 'string' ? chunk.replace(/\u001b\[[0-9;]*m/g, '') : chunk);
    return stream;
  }
}

// What is there when a round is left need not be right.
function checked({ message, validate }: Question, round: PromptSession) {
  return {
    message,
    validate: (answer: string | undefined) => (round.left ? undefined : validate?.(answer ?? '')),
  };
}

function settled<Answer>(asker: PromptIO, answer: Answer | symbol): Answer {
  if (!isCancel(answer) && typeof answer !== 'symbol') return answer;
  asker.signal.throwIfAborted();
  throw new PetstoreError('interrupted', 'interrupted');
}
