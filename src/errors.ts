// What can go wrong, by kind, and the exit code each kind ends the process with.

/** The kinds of failure, as `--json` names them (contract, section 3). */
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

/** The exit code of each kind (contract, section 3); a signal other than SIGINT sets its own. */
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

/** What a failure tells besides its kind and message. */
export interface ErrorFacts {
  /** What to do next, in one line. */
  readonly hint?: string | undefined;
  /** The service's own machine-readable code (service.md, section 7), where it sent one. */
  readonly code?: string | undefined;
  /** The service's own message, made visible, where it sent one. */
  readonly serviceMessage?: string | undefined;
  /** The HTTP status, where the service answered. */
  readonly status?: number | undefined;
  /** When the rate limit permits the next request, in epoch milliseconds, where known. */
  readonly retryAt?: number | undefined;
  /** Overrides the kind's exit code (143 after SIGTERM, 129 after SIGHUP). */
  readonly exitCode?: number | undefined;
  /** What caused it; shown with `--verbose` only. */
  readonly cause?: unknown;
}

/** A failure that a user can be told about: its kind decides the exit code, its message never holds a key. */
export class PetstoreError extends Error {
  override readonly name = 'PetstoreError';
  readonly kind: ErrorKind;
  readonly hint: string | undefined;
  readonly code: string | undefined;
  readonly serviceMessage: string | undefined;
  readonly status: number | undefined;
  readonly retryAt: number | undefined;
  readonly exitCode: number;

  /**
   * @param kind the kind of failure; it decides the exit code
   * @param message what happened, without a final full stop
   * @param facts what to do next, and what the service said
   */
  constructor(kind: ErrorKind, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.kind = kind;
    this.hint = facts.hint;
    this.code = facts.code;
    this.serviceMessage = facts.serviceMessage;
    this.status = facts.status;
    this.retryAt = facts.retryAt;
    this.exitCode = facts.exitCode ?? EXIT_CODES[kind];
  }
}
