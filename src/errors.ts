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
 * Whether the service processed the failed request; `late`: it may still process it after the error.
 * @internal
 */
export type Processed = 'no' | 'perhaps' | 'late';

export interface Hint {
  /** One action for the user, as an imperative phrase. The client library shows it without the command. */
  readonly hint?: string | undefined;
  /**
   * The words of the command that does what the hint says.
   * @internal
   */
  readonly command?: readonly string[] | undefined;
}

export interface ErrorFacts extends Hint {
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
  declare readonly name: 'PetstoreError';
  readonly kind: ErrorKind;
  /** One action for the user. */
  declare readonly hint: string | undefined;
  /** The service's own error code. */
  declare readonly code: string | undefined;
  /** The service's own message. */
  declare readonly serviceMessage: string | undefined;
  /** The HTTP status, if the service responded. */
  declare readonly status: number | undefined;
  /** When the rate limit permits the next request, in epoch milliseconds. */
  declare readonly retryAt: number | undefined;
  /** `unknown` if an interrupted create may have been carried out. */
  declare readonly outcome: 'unknown' | undefined;
  readonly #facts: ErrorFacts;

  static {
    // On the prototype, the name is part of the stack and not a property that console.log repeats.
    Object.defineProperty(PetstoreError.prototype, 'name', { value: 'PetstoreError' });
  }

  /** @param message what happened, beginning in lower case and without a full stop */
  constructor(kind: ErrorKind, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.kind = kind;
    this.#facts = facts;
    const outcome = kind === 'interrupted' && this.processed !== 'no' ? 'unknown' : undefined;
    const { hint, code, serviceMessage, status, retryAt } = facts;
    for (const [name, value] of Object.entries({ hint, code, serviceMessage, status, retryAt, outcome })) {
      // console.log and loggers show enumerable properties.
      Object.defineProperty(this, name, { value, enumerable: value !== undefined });
    }
  }

  /**
   * A program that both imports and requires the package has two classes; either accepts the errors of both.
   * @internal
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'PetstoreError';
  }

  /**
   * What else is known about the failure.
   * @internal
   */
  get facts(): ErrorFacts {
    return this.#facts;
  }

  /** @internal */
  get processed(): Processed {
    return this.#facts.processed ?? (this.kind === 'unknown_outcome' || this.kind === 'internal' ? 'perhaps' : 'no');
  }

  /** @internal */
  get problems(): readonly Problem[] | undefined {
    return this.#facts.problems;
  }

  /** @internal */
  get exitCode(): number {
    return this.#facts.exitCode ?? EXIT_CODES[this.kind].code;
  }

  /** The error as `--json` prints it; `retryAt` is ISO 8601. */
  toJSON(): object {
    const { kind, message, hint, code, status, outcome, problems } = this;
    const retryAt = this.retryAt === undefined ? undefined : new Date(this.retryAt).toISOString();
    return { kind, message, hint, code, status, retryAt, outcome, problems };
  }
}

/**
 * Returns a copy with another message and, if given, another hint, which replaces the command too.
 * @internal
 */
export function rephrase(error: PetstoreError, message: string, hint?: string): PetstoreError {
  return new PetstoreError(error.kind, message, { ...error.facts, ...(hint && { hint, command: undefined }) });
}
