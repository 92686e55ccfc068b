// What a request, a reply and a failed try are, between the loop that sends and the transport below it.

/** Reply headers: lower-case names; a repeated header is an array. */
export type HttpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** One request, relative to the base URL. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query below the base URL, beginning with `/`. */
  readonly path: string;
  /** Sent with `Content-Type: application/json` where given. */
  readonly body?: string | Uint8Array | undefined;
  /** True where sending it twice changes nothing more (GET, HEAD): it may be retried after a failure. */
  readonly safe: boolean;
  /** Called just before the first byte is sent. What it throws is thrown by the client, and nothing is sent. */
  readonly beforeSend?: (() => void) | undefined;
}

/** A whole reply: status, headers and every byte of the body. */
export interface HttpResponse {
  readonly status: number;
  readonly headers: HttpHeaders;
  readonly body: Uint8Array;
  /** Wall clock when the head arrived, epoch milliseconds. */
  readonly receivedAt: number;
  /** Wall clock when the request was handed over, epoch milliseconds. */
  readonly sentAt: number;
}

/** The part of a reply that comes first: what the ledger needs. */
export type Head = Pick<HttpResponse, 'status' | 'headers' | 'receivedAt' | 'sentAt'>;

/** Why a try failed without a whole reply. */
export type TransportErrorReason =
  | 'dns'
  | 'refused'
  | 'unreachable'
  | 'connect'
  | 'tls'
  | 'connect-timeout'
  | 'proxy'
  | 'proxy-auth'
  | 'proxy-refused'
  | 'timeout'
  | 'reset'
  | 'protocol'
  | 'too-large'
  | 'encoding'
  | 'aborted';

/** A try that gave no whole reply. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly reason: TransportErrorReason;
  readonly requestSent: boolean;
  readonly detail: string;
  readonly head: Head | undefined;
  /**
   * @param reason what went wrong, in our own words
   * @param requestSent whether any byte of the request may have reached the service: decides whether a create may be sent again
   * @param detail a sanitised word more, for example `ECONNREFUSED 127.0.0.1:9`; never a foreign message with data in it
   * @param head status and headers where they had arrived before it failed
   */
  constructor(reason: TransportErrorReason, requestSent: boolean, detail: string, head?: Head) {
    super(`${reason}: ${detail}`);
    this.reason = reason;
    this.requestSent = requestSent;
    this.detail = detail;
    this.head = head;
  }
}

/** Sends one try. Throws TransportError; follows no redirect, decodes nothing, retries nothing. */
export interface Transport {
  /**
   * @param request what to send
   * @param options `timeoutMs`: from connect to last byte; `signal`: ends it (reason `aborted`); `onHead`: called once, as soon as
   *   status and headers are there and before the body is read; `mayGo`: asked just before the first byte goes out, when
   *   the connection is made: where it says false nothing is sent (reason `aborted`, not handed over)
   */
  send(
    request: HttpRequest,
    options: {
      readonly timeoutMs: number;
      readonly signal: AbortSignal;
      readonly onHead?: (head: Head) => void;
      readonly canSend?: () => boolean;
    },
  ): Promise<HttpResponse>;
}

/** Why the loop is waiting, for whoever shows it. */
export interface Wait {
  /** Epoch milliseconds. */
  readonly until: number;
  /** `blocked`: a 429 said so; `window`: nothing left before the reset; `sibling`: a request under way, of this process or another, will tell; `backoff`: after a failed read. */
  readonly reason: 'blocked' | 'window' | 'sibling' | 'backoff';
}

/** Sends a request politely: the ledger first, then the transport, again where that is allowed. */
export interface HttpClient {
  /**
   * @param request what to send
   * @returns the last reply, whatever its status but 429
   * @throws PetstoreError: `rate_limited` (with retryAt), `network`, `service`, `unknown_outcome`, `interrupted`
   */
  send(request: HttpRequest): Promise<HttpResponse>;
  /**
   * Announces a run of many requests, so that the quota's windows can be planned to its end.
   * @param ahead how many of them are still to be handed to `send`
   */
  expect(ahead: () => number): void;
  /** Lets go of the ledger, once all that was handed to `send` has ended: its replies are still everybody's to know. */
  close(): Promise<void>;
}
