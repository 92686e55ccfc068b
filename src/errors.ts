// The program's errors; the kind of an error determines its exit code.
import type { ErrorKind } from './reference.ts';
import { EXIT_CODES } from './reference.ts';

export type { ErrorKind };

/**
 * An error in an input file; `row` counts data rows from 1.
 * @internal
 */
export interface Problem {
  readonly line: number;
  readonly row?: number | undefined;
  readonly message: string;
}

/**
 * Formats a command line to paste: `petstore`, the words quoted for the shell, and the profile that was typed.
 * @internal
 */
export type WriteCommand = (...words: readonly string[]) => string;

/**
 * Whether the service processed the failed request; `late`: it may still process it after the error.
 * @internal
 */
export type Processed = 'no' | 'perhaps' | 'late';

interface ErrorFacts {
  /** What to do, one action per line, without command-line options: the client library shows it too. */
  readonly hint?: string | undefined;
  /**
   * The hint that the command line shows instead, with commands or options.
   * @internal
   */
  readonly commandHint?: ((petstore: WriteCommand) => string) | undefined;
  /** The service's own error code (docs/service.md, errors). */
  readonly code?: string | undefined;
  readonly serviceMessage?: string | undefined;
  readonly status?: number | undefined;
  /** When the rate limit permits the next request, in epoch milliseconds. */
  readonly retryAt?: number | undefined;
  /**
   * Default: `perhaps` for the kinds `unknown_outcome` and `internal`, otherwise `no`.
   * @internal
   */
  readonly processed?: Processed | undefined;
  /**
   * All errors in an input file.
   * @internal
   */
  readonly problems?: readonly Problem[] | undefined;
  /**
   * Overrides the kind's exit code (143 after SIGTERM, 129 after SIGHUP).
   * @internal
   */
  readonly exitCode?: number | undefined;
  /** True if nothing is to be printed, for example after a prompt was answered with "no". */
  readonly silent?: boolean | undefined;
  readonly cause?: unknown;
}

/** The error of the program and the client library; its message never contains an API key. */
export class PetstoreError extends Error {
  override readonly name = 'PetstoreError';
  readonly kind: ErrorKind;
  /** What to do, one action per line. */
  readonly hint: string | undefined;
  /** The service's own error code. */
  readonly code: string | undefined;
  /** The service's own message. */
  readonly serviceMessage: string | undefined;
  /** The HTTP status, if the service responded. */
  readonly status: number | undefined;
  /** When the rate limit permits the next request, in epoch milliseconds. */
  readonly retryAt: number | undefined;
  /** `unknown` if an interrupted create may have been carried out. */
  readonly outcome: 'unknown' | undefined;
  /** @internal */
  readonly processed: Processed;
  /** @internal */
  readonly commandHint: ((petstore: WriteCommand) => string) | undefined;
  /** @internal */
  readonly problems: readonly Problem[] | undefined;
  /** @internal */
  readonly exitCode: number;
  /** @internal */
  readonly silent: boolean;

  /** @param message what happened, beginning in lower case and without a full stop */
  constructor(kind: ErrorKind, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.kind = kind;
    this.hint = facts.hint;
    this.code = facts.code;
    this.serviceMessage = facts.serviceMessage;
    this.status = facts.status;
    this.retryAt = facts.retryAt;
    this.processed = facts.processed ?? (kind === 'unknown_outcome' || kind === 'internal' ? 'perhaps' : 'no');
    this.outcome = kind === 'interrupted' && this.processed !== 'no' ? 'unknown' : undefined;
    this.commandHint = facts.commandHint;
    this.problems = facts.problems;
    this.exitCode = facts.exitCode ?? EXIT_CODES[kind].code;
    this.silent = facts.silent ?? false;
  }

  /** The error as `--json` prints it; `retryAt` is ISO 8601. */
  toJSON(): object {
    const { kind, message, hint, code, status, outcome, problems } = this;
    const retryAt = this.retryAt === undefined ? undefined : new Date(this.retryAt).toISOString();
    return { kind, message, hint, code, status, retryAt, outcome, problems };
  }
}

/**
 * Returns a copy with another message and, if given, another hint.
 * @internal
 */
export function rephrase(error: PetstoreError, message: string, hint?: string): PetstoreError {
  const { cause } = error;
  return new PetstoreError(error.kind, message, { ...error, ...(hint && { hint, commandHint: undefined }), cause });
}

/**
 * Returns a copy with the hint that the command line shows.
 * @internal
 */
export function withCommands(error: PetstoreError, petstore: WriteCommand): PetstoreError {
  return error.commandHint ? rephrase(error, error.message, error.commandHint(petstore)) : error;
}
