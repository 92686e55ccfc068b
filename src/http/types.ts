// Requests, responses and failed attempts, between the HTTP client and the transport below it.

/** Lower-case names; a repeated header is an array. */
export type HttpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface HttpRequest {
  readonly method: string;
  /** Path and query below the base URL, beginning with `/`. */
  readonly path: string;
  /** Sent with `Content-Type: application/json`. */
  readonly body?: string | Uint8Array | undefined;
  /** True for GET and HEAD: sent twice it changes nothing more, so it is retried after a failure. */
  readonly safe: boolean;
  /** Ends this request: its waits, and the request itself, also a create that was sent. */
  readonly signal?: AbortSignal | undefined;
  /** Overrides the client's timeout per attempt. */
  readonly timeoutMs?: number | undefined;
  /** The name of the category that it creates, for messages. */
  readonly creates?: string | undefined;
  /** True: a cache on the way is to ask the service. */
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

export type Head = Pick<HttpResponse, 'status' | 'headers' | 'receivedAt' | 'sentAt'>;

/** Why an attempt ended without a complete response. */
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
  | 'encoding'
  | 'aborted';

export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly reason: TransportErrorReason;
  readonly requestSent: boolean;
  readonly detail: string;
  readonly head: Head | undefined;
  readonly code: string | undefined;
  /**
   * @param requestSent whether any byte of the request may have reached the service: then a create is not sent again
   * @param detail for people, without secrets or foreign messages, for example `connection refused`
   * @param head status and headers, if they had arrived
   * @param code Node's or undici's own, for example `ECONNREFUSED`
   */
  constructor(reason: TransportErrorReason, requestSent: boolean, detail: string, head?: Head, code?: string) {
    super(`${reason}: ${detail}`);
    this.reason = reason;
    this.requestSent = requestSent;
    this.detail = detail;
    this.head = head;
    this.code = code;
  }
}

/** Sends one attempt. It follows no redirect, decodes nothing and retries nothing. */
export interface Transport {
  /**
   * @param options `timeoutMs`: from connect to last byte; `onHead`: called once, before the body is read; `canSend`: asked just
   *   before the first byte is sent: if it returns false nothing is sent, and the attempt ends as `aborted`
   * @throws TransportError; `aborted` after `signal`
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
  /** Ends idle connections. */
  close(): Promise<void>;
}

/** A wait, as commands show it. */
export interface Wait {
  /** Epoch milliseconds. */
  readonly until: number;
  /**
   * `blocked`: after a 429; `window`: the limit is exhausted; `pending`: the response to a request in flight, of this process or another,
   * decides; `backoff`: after a failed read.
   */
  readonly reason: 'blocked' | 'window' | 'pending' | 'backoff';
  /** The failure, if the reason is `backoff`. */
  readonly failure?: string;
}

/** Sends requests within the rate limit, and retries if allowed. */
export interface HttpClient {
  /**
   * Returns the final response, which has any status but 429.
   * @throws PetstoreError `rate_limited`, `network`, `service`, `unknown_outcome` or `interrupted`
   */
  send(request: HttpRequest): Promise<HttpResponse>;
  /** Waits for every request that was sent, since its response is news for other processes, and closes the ledger. */
  close(): Promise<void>;
}
