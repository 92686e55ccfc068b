// Streams as the program sees them, and whether each may carry colour.
import type { Environment } from './environment.ts';

/** What a shell does to the process: Ctrl-Z, `fg` and `bg`. */
export interface JobControl {
  /**
   * Tells when the process goes on after a stop (`fg`): the shell has used the terminal meanwhile.
   * @param listener called each time
   * @returns ends that
   */
  onContinue(listener: () => void): () => void;
  /**
   * Tells of a Ctrl-Z that the terminal itself heard: for whoever hid the cursor, which the shell wants.
   * @param listener called with true before the process stops, and with false when it goes on
   * @returns ends that
   */
  onStop(listener: (stops: boolean) => void): () => void;
  /**
   * Stops the process and those of its job, as a typed Ctrl-Z does.
   * @returns resolves when it goes on, and at once where nobody is there to continue it
   */
  stop(): Promise<void>;
}

/** Where output goes. */
export interface Output {
  /**
   * @param text to write as it is; what comes from outside has passed `visible` or a JSON serialiser before.
   *   Bytes are for a body that goes out as it arrived, and never for a terminal
   * @returns resolves when the stream has room for more
   */
  write(text: string | Uint8Array): Promise<void>;
  readonly isTTY: boolean;
  /** Terminal width in cells; undefined where the stream is no terminal, 0 where the terminal does not know. */
  readonly columns: number | undefined;
  /** The stream itself, for what draws on a terminal (ora); undefined in tests. */
  readonly raw?: NodeJS.WriteStream;
  /** Job control; absent where the platform knows none. */
  jobs?(): Promise<JobControl>;
}

/** Where input comes from. It is touched only by what asks for it (contract, section 2). */
export interface Input {
  readonly isTTY: boolean;
  /** @returns everything up to the end, as bytes, in the pieces they come in */
  read(): AsyncIterable<Uint8Array>;
  /** The stream itself, for what prompts on a terminal; reading it begins only when it is asked for. */
  readonly raw?: NodeJS.ReadStream;
  /** Job control; absent where the platform knows none. */
  jobs?(): Promise<JobControl>;
}

/** 0: no colour; 1: 16 colours; 2: 256; 3: true colour. */
export type ColorLevel = 0 | 1 | 2 | 3;

/**
 * Decides colour for one stream: `--no-color`, then NO_COLOR, then FORCE_COLOR, then whether it is a terminal
 * (no-color.org, force-color.org; chalk itself ignores NO_COLOR).
 * @param stream the stream that would carry the colour
 * @param env the environment
 * @param noColor whether `--no-color` was given
 * @returns the level to hand to chalk
 */
export function colorLevel(stream: Pick<Output, 'isTTY'>, env: Environment, noColor = false): ColorLevel {
  if (noColor || (env['NO_COLOR'] ?? '') !== '') return 0;
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined) {
    if (forced === '0' || forced === 'false') return 0;
    return forced === '2' ? 2 : forced === '3' ? 3 : 1;
  }
  if (!stream.isTTY || env['TERM'] === 'dumb') return 0;
  if (/^(truecolor|24bit)$/.test(env['COLORTERM'] ?? '')) return 3;
  return /256/.test(env['TERM'] ?? '') ? 2 : 1;
}
