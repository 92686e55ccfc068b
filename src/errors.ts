// The program's errors; the kind of an error determines its exit code. Other thrown values are converted to them.
import { getSystemErrorMap } from 'node:util';
import type { ImportDocument } from './public-types.ts';
import { escapeControls } from './text/escape.ts';

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

/** An error in the input of an import; `row` counts data rows from 1. A row of a JSON array or a program has no line. */
export interface Problem {
  readonly line?: number | undefined;
  readonly row?: number | undefined;
  readonly message: string;
}

/** @internal Whether the service processed the failed request; `late`: it may still do so after the error. */
export type Processed = 'no' | 'perhaps' | 'late';

/** @internal A cause for which the command line has its own hint (src/cli/hints.ts), and the facts that the hint needs. */
export type Reason =
  | { readonly is: 'long_wait' | 'no_connection' | 'timed_out' | 'unknown_host' | 'wrong_service' }
  | { readonly is: 'needs_id' | 'no_category' | 'extra_fields' }
  | { readonly is: 'unknown_create'; readonly category: string }
  | { readonly is: 'no_access'; readonly path: string }
  /** `to`: the purpose of another import. */
  | { readonly is: 'import_ended'; readonly to: string };

export interface ErrorDetails {
  /** One action for the user in the imperative, or `did you mean …?`. */
  readonly hint?: string | undefined;
  /** @internal */
  readonly reason?: Reason | undefined;
  readonly code?: string | undefined;
  readonly serviceMessage?: string | undefined;
  /** @internal Why the outcome of a create is unknown, for a message about several creates. */
  readonly problem?: string | undefined;
  readonly status?: number | undefined;
  readonly retryAt?: number | undefined;
  /** @internal Default: `perhaps` for the kinds `unknown_outcome` and `internal`, otherwise `no`. */
  readonly processed?: Processed | undefined;
  /** All invalid rows of an import. */
  readonly problems?: readonly Problem[] | undefined;
  /** The results of an import before it failed. */
  readonly document?: ImportDocument | undefined;
  /** @internal Overrides the kind's exit code (143 after SIGTERM, 129 after SIGHUP). */
  readonly exitCode?: number | undefined;
  /** @internal True if the error is not printed, for example after a prompt was answered with "no". */
  readonly silent?: boolean | undefined;
  readonly cause?: unknown;
}

/** @internal */
export type Hint = Pick<ErrorDetails, 'hint' | 'reason'>;

/** The error of the program and the client library; neither users nor callers see an API key in it. */
export class PetstoreError extends Error {
  declare readonly name: 'PetstoreError';
  readonly kind: ErrorKind;
  /** One action for the user. */
  declare readonly hint: string | undefined;
  /** The service's error code (docs/service.md, data); after `get`, also `not_found` or `ambiguous`. */
  declare readonly code: string | undefined;
  /** The service's own message. */
  declare readonly serviceMessage: string | undefined;
  /** The HTTP status, if the service responded. */
  declare readonly status: number | undefined;
  /** When the rate limit permits the next request, in epoch milliseconds. */
  declare readonly retryAt: number | undefined;
  /** `unknown` if an interrupted create or other change may have been processed. */
  declare readonly outcome: 'unknown' | undefined;
  /** All invalid rows of an import. */
  declare readonly problems: readonly Problem[] | undefined;
  /** The results of an import before it failed. */
  declare readonly document: ImportDocument | undefined;
  /** @internal */
  declare readonly details: ErrorDetails;

  static {
    // On the prototype, the name is part of the stack and not a property that console.log repeats.
    Object.defineProperty(PetstoreError.prototype, 'name', { value: 'PetstoreError' });
  }

  /** @param message what happened, beginning in lower case and without a full stop */
  constructor(kind: ErrorKind, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    Object.defineProperty(this, 'details', { value: details });
    const outcome = kind === 'interrupted' && this.processed !== 'no' ? 'unknown' : undefined;
    const { hint, code, serviceMessage, status, retryAt } = details;
    for (const [name, value] of Object.entries({ hint, code, serviceMessage, status, retryAt, outcome })) {
      // console.log and loggers show enumerable properties.
      Object.defineProperty(this, name, { value, enumerable: value !== undefined });
    }
    // These values are too long for a log.
    for (const name of ['problems', 'document'] as const) Object.defineProperty(this, name, { value: details[name] });
  }

  /** @internal */
  get processed(): Processed {
    return this.details.processed ?? (this.kind === 'unknown_outcome' || this.kind === 'internal' ? 'perhaps' : 'no');
  }

  /** The error as `--json` prints it; `retryAt` is ISO 8601. */
  toJSON(): object {
    const { kind, message, hint, code, status, outcome, problems } = this;
    const retryAt = this.retryAt === undefined ? undefined : new Date(this.retryAt).toISOString();
    return { kind, message, hint, code, status, retryAt, outcome, problems };
  }
}

/** @internal Returns a copy with another message and, if given, another hint and reason. */
export function rephrase(error: PetstoreError, message: string, hint: Hint = error.details): PetstoreError {
  return new PetstoreError(error.kind, message, { ...error.details, hint: hint.hint, reason: hint.reason });
}

/** @internal The system's description of an error code, for example "connection refused" for ECONNREFUSED. */
export function systemErrorText(code: string | undefined): string | undefined {
  return [...getSystemErrorMap().values()].find(([name]) => name === code)?.[1];
}

/** @internal Why a certificate was rejected, by the code of the error; undefined for another error. */
export function certificateProblem(code: string): string | undefined {
  if (code === 'CERT_HAS_EXPIRED') return 'the certificate has expired';
  if (code === 'CERT_NOT_YET_VALID') return 'the certificate is not valid yet';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH')
    return 'the certificate is for another host name';
  if (/^(?:CERT_|ERR_TLS_CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA$)/.test(code))
    return 'the certificate is not trusted';
  return undefined;
}

/** @internal Explains the error of a system call, for example "not a directory"; the code if the system does not explain it. */
export function systemReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return systemErrorText(code) ?? code ?? message;
}

/** @internal Whether the error is that of a system call; Node.js marks wrong arguments with other codes. */
export function isSystemError(error: unknown): boolean {
  return /^E[A-Z0-9]+$/.test(String((error as NodeJS.ErrnoException | undefined)?.code));
}

/** @internal The error of a file system call. @param doing for example `read` */
export function storageError(cause: unknown, doing: string, path: string, hint?: string): PetstoreError {
  return systemError(cause, `${doing} "${escapeControls(path)}"`, { hint, reason: { is: 'no_access', path } });
}

const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: 'free some disk space',
  EDQUOT: 'free some disk space',
  EMFILE: 'raise the open file limit with `ulimit -n`',
  ENFILE: 'close other programs, which have too many open files',
};

/** @internal The hint for a system error that has one cause, for example a full disk. */
export function systemHint(error: unknown): string | undefined {
  return HINTS[(error as NodeJS.ErrnoException).code ?? ''];
}

/**
 * @internal The error of a system call, with a message of `cannot`, the operation, and the reason.
 * @param hint used unless the code of the error has its own hint, for example on a full disk
 */
export function systemError(cause: unknown, what: string, hint?: Hint): PetstoreError {
  const message = `cannot ${what} (${systemReason(cause)})`;
  const own = systemHint(cause);
  return new PetstoreError('storage', message, { ...(own ? { hint: own } : hint), cause });
}

/** @internal Converts any thrown value to an error of this program. */
export function toPetstoreError(error: unknown): PetstoreError {
  if (error instanceof PetstoreError) return error;
  const { syscall = '', path } = (error ?? {}) as NodeJS.ErrnoException;
  if (isSystemError(error)) {
    if (path !== undefined) return storageError(error, 'access', path);
    if (syscall === 'uv_cwd') return systemError(error, 'access the current directory');
    // Errors of an open file have no path.
    if (/^(?:read|write|close|f[a-z]+)$/.test(syscall)) return systemError(error, 'access a file');
  }
  // Third-party messages may contain secrets: only the error's name is printed without --verbose.
  const name = error instanceof Error ? error.name : typeof error;
  return new PetstoreError('internal', `unexpected ${name} (a bug in petstore)`, { cause: error });
}
