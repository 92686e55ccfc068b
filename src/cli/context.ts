// The process as the program sees it: environment variables, streams, and whether a stream supports color.
import type { Clock } from '../clock.ts';
import type { Redactor } from '../text/redact.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** On Windows, which ignores the case of names, all names are in upper case. */
export function toEnvironment(env: Environment, platform: string): Environment {
  if (platform !== 'win32') return { ...env };
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name.toUpperCase(), value]));
}

export interface Output {
  /**
   * Writes text without escaping it: text from outside must be escaped first. Bytes are for response bodies, never for a
   * terminal. Resolves when the write has ended.
   */
  write(text: string | Uint8Array): Promise<void>;
  /** Whether the reader of a pipe has closed it, so that text was lost; this is not an error. */
  readonly isClosed?: boolean;
  readonly isTTY: boolean;
  /** Terminal width in cells; undefined for other streams, 0 if the terminal does not report it. */
  readonly columns: number | undefined;
  /** The underlying stream, for the spinner. */
  readonly raw?: NodeJS.WriteStream;
}

/** Only commands that need stdin read it, so that a command in a shell loop does not consume the loop's input. */
export interface Input {
  readonly isTTY: boolean;
  /** Whether a command has begun to read stdin. */
  readonly isRead?: boolean;
  read(): AsyncIterable<Uint8Array>;
  readonly raw?: NodeJS.ReadStream;
}

/**
 * In order of precedence: `--no-color`, NO_COLOR, FORCE_COLOR, whether the stream is a terminal (no-color.org, force-color.org).
 * @param wanted false after `--no-color`
 */
export function supportsColor(stream: Pick<Output, 'isTTY'>, env: Environment, wanted: boolean): boolean {
  if (!wanted || env['NO_COLOR']) return false;
  const forced = env['FORCE_COLOR'];
  return forced === undefined ? stream.isTTY && env['TERM'] !== 'dumb' : forced !== '0' && forced !== 'false';
}

/** The process as a command sees it; tests create their own. */
export interface Context {
  readonly args: readonly string[];
  readonly env: Environment;
  readonly cwd: string;
  readonly platform: string;
  readonly nodeVersion: string;
  /** Undefined if it cannot be determined. */
  readonly homeDir: string | undefined;
  readonly version: string;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly clock: Clock;
  /** Aborted with a PetstoreError `interrupted` when the process receives SIGINT or another signal that ends it. */
  readonly signal: AbortSignal;
  /** Interrupts the program, as Ctrl-C does outside of a prompt. */
  readonly interrupt: () => void;
  /** Suspends the program, as Ctrl-Z does outside of a prompt. */
  readonly suspend: (onContinue: () => void) => void;
  /** Applied to everything on stderr and to messages in results; every key in use is added to it. */
  readonly redactor: Redactor;
  /** Run after the result or error has been written. */
  readonly cleanups: (() => Promise<void>)[];
}
