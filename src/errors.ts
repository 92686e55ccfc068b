// The program's errors; the kind of an error determines its exit code. Other thrown values are converted to them.
import { getSystemErrorMap } from 'node:util';
import { EXIT_CODES } from './cli/reference.ts';
import type { ErrorKind } from './error-kind.ts';
import { escapeControls } from './text/escape.ts';

/** @internal An error in an input file; `row` counts data rows from 1. */
export interface Problem {
  readonly line: number;
  readonly row?: number | undefined;
  readonly message: string;
}

/** @internal Whether the service processed the failed request; `late`: it may still do so after the error. */
export type Processed = 'no' | 'perhaps' | 'late';

/** The optional parts of an error. */
export interface ErrorDetails {
  /** One action for the user, as an imperative phrase. */
  readonly hint?: string | undefined;
  /** @internal The words of the command that does what the hint says; the client library omits it. */
  readonly command?: readonly string[] | undefined;
  /** @internal Whether a wrong base URL may be the cause. */
  readonly suspectsUrl?: boolean | undefined;
  readonly code?: string | undefined;
  readonly serviceMessage?: string | undefined;
  /** @internal Why the outcome of a create is unknown, for a message about several creates. */
  readonly problem?: string | undefined;
  readonly status?: number | undefined;
  readonly retryAt?: number | undefined;
  /** @internal Default: `perhaps` for the kinds `unknown_outcome` and `internal`, otherwise `no`. */
  readonly processed?: Processed | undefined;
  /** @internal All errors in an input file. */
  readonly problems?: readonly Problem[] | undefined;
  /** @internal Overrides the kind's exit code (143 after SIGTERM, 129 after SIGHUP). */
  readonly exitCode?: number | undefined;
  /** @internal True if nothing is printed, for example after a prompt was answered with "no". */
  readonly silent?: boolean | undefined;
  readonly cause?: unknown;
}

/** @internal */
export type Hint = Pick<ErrorDetails, 'hint' | 'command' | 'suspectsUrl'>;

/** The error of the program and the client library; its message never contains an API key. */
export class PetstoreError extends Error {
  declare readonly name: 'PetstoreError';
  readonly kind: ErrorKind;
  /** One action for the user. */
  declare readonly hint: string | undefined;
  /** The service's own error code (docs/service.md, data). */
  declare readonly code: string | undefined;
  /** The service's own message. */
  declare readonly serviceMessage: string | undefined;
  /** The HTTP status, if the service responded. */
  declare readonly status: number | undefined;
  /** When the rate limit permits the next request, in epoch milliseconds. */
  declare readonly retryAt: number | undefined;
  /** `unknown` if an interrupted create may have been processed. */
  declare readonly outcome: 'unknown' | undefined;
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
  }

  /**
   * A program that both imports and requires the package has two classes; each accepts the errors of both.
   * @internal
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'PetstoreError';
  }

  /** @internal */
  get processed(): Processed {
    return this.details.processed ?? (this.kind === 'unknown_outcome' || this.kind === 'internal' ? 'perhaps' : 'no');
  }

  /** @internal */
  get exitCode(): number {
    return this.details.exitCode ?? EXIT_CODES[this.kind].code;
  }

  /** The error as `--json` prints it; `retryAt` is ISO 8601. */
  toJSON(): object {
    const { kind, message, hint, code, status, outcome } = this;
    const { problems } = this.details;
    const retryAt = this.retryAt === undefined ? undefined : new Date(this.retryAt).toISOString();
    return { kind, message, hint, code, status, retryAt, outcome, problems };
  }
}

/** @internal Returns a copy with another message and, if given, another hint, which replaces the command too. */
export function rephrase(error: PetstoreError, message: string, hint?: Hint): PetstoreError {
  return new PetstoreError(error.kind, message, { ...error.details, ...(hint && { command: undefined, ...hint }) });
}

/** @internal The system's own words for the code of an error, for example "connection refused" for ECONNREFUSED. */
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

/** @internal Whether a system call failed; Node.js marks wrong arguments with other codes. */
export function isSystemError(error: unknown): boolean {
  return /^E[A-Z0-9]+$/.test(String((error as NodeJS.ErrnoException | undefined)?.code));
}

/**
 * @internal The error of a file system call.
 * @param doing for example `read`
 * @param variable names the directory that the file is in, for example PETSTORE_STATE_DIR
 */
export function storageError(cause: unknown, doing: string, path: string, variable?: string): PetstoreError {
  const hint = variable && `set ${variable} to a directory that you can write to`;
  return systemError(cause, `${doing} "${escapeControls(path)}"`, hint);
}

const HINTS: Readonly<Record<string, string>> = {
  ENOSPC: 'free some disk space',
  EDQUOT: 'free some disk space',
  EMFILE: 'raise the open file limit (ulimit -n)',
  ENFILE: 'close other programs, which have too many open files',
};

/** @internal The hint for a system error that has one cause, for example a full disk. */
export function systemHint(error: unknown): string | undefined {
  return HINTS[(error as NodeJS.ErrnoException).code ?? ''];
}

/**
 * @internal The error of a system call: `cannot`, the operation, and the reason.
 * @param hint unless the code of the error has its own, for example on a full disk
 */
export function systemError(cause: unknown, what: string, hint?: string): PetstoreError {
  const message = `cannot ${what} (${systemReason(cause)})`;
  return new PetstoreError('storage', message, { hint: systemHint(cause) ?? hint, cause });
}

/**
 * @internal Converts any thrown value to an error of this program.
 * @param stateDir for the hint about a file in it, or about a parent that cannot be created
 */
export function toPetstoreError(error: unknown, stateDir?: string): PetstoreError {
  if (error instanceof PetstoreError) return error;
  const { syscall = '', path } = (error ?? {}) as NodeJS.ErrnoException;
  if (isSystemError(error)) {
    const isState = path !== undefined && stateDir && (path.startsWith(stateDir) || stateDir.startsWith(path));
    if (path !== undefined) return storageError(error, 'access', path, isState ? 'PETSTORE_STATE_DIR' : undefined);
    if (syscall === 'uv_cwd') return systemError(error, 'access the current directory');
    // Errors of an open file have no path.
    if (/^(?:read|write|close|f[a-z]+)$/.test(syscall)) return systemError(error, 'access a file');
  }
  // Third-party messages may contain secrets: only the error's name is printed without --verbose.
  const name = error instanceof Error ? error.name : typeof error;
  const hint = 'run the command again with --verbose and report the output';
  return new PetstoreError('internal', `unexpected ${name} (a bug in petstore)`, { hint, cause: error });
}
