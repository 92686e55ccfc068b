// The kinds of error, and the exit code of each.

/** The kinds of error, as `--json` names them (docs/cli.md, exit codes). */
export type ErrorKind =
  | 'internal'
  | 'usage'
  | 'auth'
  | 'rejected'
  | 'rate_limited'
  | 'network'
  | 'service'
  | 'unknown_outcome'
  | 'storage'
  | 'interrupted';

/** The exit code of each kind; a signal other than SIGINT sets its own. */
export const EXIT_CODES: Readonly<Record<ErrorKind, number>> = {
  internal: 1,
  usage: 2,
  auth: 3,
  rejected: 4,
  rate_limited: 5,
  network: 6,
  service: 7,
  unknown_outcome: 8,
  storage: 9,
  interrupted: 130,
};

/** One mistake in a file of rows: the line it stands on, and the data row counted from 1 where it belongs to one. */
export interface Problem {
  readonly line: number;
  readonly row?: number | undefined;
  readonly message: string;
}

interface ErrorFacts {
  /** The remedy, in one line. */
  readonly hint?: string | undefined;
  /** The service's own error code (docs/service.md, errors). */
  readonly code?: string | undefined;
  readonly serviceMessage?: string | undefined;
  readonly status?: number | undefined;
  /** When the rate limit permits the next request, in epoch milliseconds. */
  readonly retryAt?: number | undefined;
  /** Everything that is wrong with an input file. */
  readonly problems?: readonly Problem[] | undefined;
  /** Overrides the kind's exit code (143 after SIGTERM, 129 after SIGHUP). */
  readonly exitCode?: number | undefined;
  readonly cause?: unknown;
}

/** An expected error: its kind decides the exit code, and its message never contains an API key. */
export class PetstoreError extends Error {
  override readonly name = 'PetstoreError';
  readonly kind: ErrorKind;
  readonly hint: string | undefined;
  readonly code: string | undefined;
  readonly serviceMessage: string | undefined;
  readonly status: number | undefined;
  readonly retryAt: number | undefined;
  readonly problems: readonly Problem[] | undefined;
  readonly exitCode: number;

  /** @param message what happened, beginning in lower case and without a full stop */
  constructor(kind: ErrorKind, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.kind = kind;
    this.hint = facts.hint;
    this.code = facts.code;
    this.serviceMessage = facts.serviceMessage;
    this.status = facts.status;
    this.retryAt = facts.retryAt;
    this.problems = facts.problems;
    this.exitCode = facts.exitCode ?? EXIT_CODES[kind];
  }

  /** The same error with another message, or another hint too. */
  rephrase(message: string, hint = this.hint): PetstoreError {
    return new PetstoreError(this.kind, message, { ...this, hint, cause: this.cause });
  }

  /** The error as `--json` prints it; `retryAt` is ISO 8601. */
  toJSON(): object {
    const { kind, message, hint, code, status, problems } = this;
    const retryAt = this.retryAt === undefined ? undefined : new Date(this.retryAt).toISOString();
    return { kind, message, hint, code, status, retryAt, problems };
  }
}
