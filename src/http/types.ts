// Requests, responses and failures of the HTTP client and its transport.
import type { Clock } from '../clock.ts';
import type { Wait } from '../public-types.ts';
import type { Ledger } from '../rate-limit/ledger.ts';

/** Names are lowercase; the different values of a repeated header are joined with commas. */
export type HttpHeaders = Readonly<Record<string, string | undefined>>;

export interface HttpRequest {
  readonly method: string;
  /** Path and query below the base URL, beginning with `/`. */
  readonly path: string;
  readonly body?: string | Uint8Array | undefined;
  /** Aborts this request and its waits instead of the client's signal; even a create that was sent, without a grace period. */
  readonly signal?: AbortSignal | undefined;
  /** Ends the waits of this request instead of the other signals, whose aborts it must include; a create that was sent continues. */
  readonly stop?: AbortSignal | undefined;
  /** Overrides the client's timeout per attempt. */
  readonly timeoutMs?: number | undefined;
  /** True if the request neither waits for the rate limit nor is retried, even after a 429. */
  readonly once?: boolean;
  /** Sends `Cache-Control: no-cache`. */
  readonly noCache?: boolean;
  /** Called just before the first byte is sent. If it throws, nothing is sent and the client throws the same error. */
  readonly beforeSend?: (() => void) | undefined;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: Uint8Array;
  /** When the head arrived, epoch milliseconds. */
  readonly receivedAt: number;
  /** When the request was sent, epoch milliseconds. */
  readonly sentAt: number;
}

export type ResponseHead = Pick<HttpResponse, 'status' | 'headers' | 'receivedAt' | 'sentAt'>;

export type TransportErrorReason =
  | 'connect'
  | 'tls'
  | 'proxy'
  | 'proxy-auth'
  | 'proxy-refused'
  | 'timeout'
  | 'reset'
  | 'protocol'
  | 'too-large'
  | 'aborted';

export class TransportError extends Error {
  readonly reason: TransportErrorReason;
  readonly requestSent: boolean;
  readonly head: ResponseHead | undefined;
  readonly code: string | undefined;
  readonly hint: string | undefined;
  /**
   * @param requestSent whether any byte of the request may have reached the service; a create is then not retried
   * @param message for people, without secrets or third-party messages, for example `connection refused`
   * @param details `head`: if it had arrived; `code`: that of Node.js or undici, for example `ECONNREFUSED`; `hint`: if the
   *   proxy failed
   */
  constructor(
    reason: TransportErrorReason,
    requestSent: boolean,
    message: string,
    { head, code, hint }: Partial<Pick<TransportError, 'head' | 'code' | 'hint'>> = {},
  ) {
    super(message);
    this.reason = reason;
    this.requestSent = requestSent;
    this.head = head;
    this.code = code;
    this.hint = hint;
    // The library's errors have this error as their cause, whose code console.log shows.
    for (const name of ['reason', 'requestSent', 'head', 'hint']) {
      Object.defineProperty(this, name, { enumerable: false });
    }
    Object.defineProperty(this, 'name', { value: 'TransportError' });
  }
}

export interface SendOptions {
  /** From connect to last byte. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called before the body is read. */
  readonly onHead?: (head: ResponseHead) => void;
  /** Called just before the first byte is sent; if it throws, nothing is sent. */
  readonly beforeSend?: () => void;
}

/** Sends one attempt; it neither follows redirects nor decodes nor retries. The body of an error may be incomplete. */
export interface Transport {
  /** @throws TransportError, `aborted` after `signal`; errors of `beforeSend` */
  send(request: HttpRequest, options: SendOptions): Promise<HttpResponse>;
  close(): Promise<void>;
}

export interface HttpWait extends Wait {
  /** Whether the request in flight belongs to this process, if the reason is `pending`. */
  readonly isOwn?: boolean;
  /** The failure, if the reason is `backoff`. */
  readonly failure?: string;
  /** The status of the refusal, if the reason is `blocked`. */
  readonly status?: number;
}

export interface RequestLimits {
  readonly maxWaitMs: number;
  readonly maxRetries: number;
  readonly timeoutMs: number;
}

export interface HttpClientOptions {
  readonly transport: Transport;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Aborts all waits and requests; its reason is thrown. */
  readonly signal: AbortSignal;
  readonly limits: RequestLimits;
  /** Called when a wait begins or changes, and with undefined when it ends. */
  readonly onWait?: ((wait: HttpWait | undefined) => void) | undefined;
  readonly onBusy?: ((requests: number) => void) | undefined;
}
