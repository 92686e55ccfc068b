// The responses of the sandbox: Error objects, rate-limit headers, and the effect of faults.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { isSystemError, systemReason } from '../errors.ts';
import type { FaultKind } from './faults.ts';
import type { QuotaStatus } from './limiter.ts';

type HeaderValues = Readonly<Record<string, string>>;

export interface SandboxResponse {
  readonly status: number;
  readonly body: Buffer;
  readonly headers: HeaderValues;
}

export function jsonResponse(status: number, json: string, headers: HeaderValues = {}): SandboxResponse {
  return { status, body: Buffer.from(json), headers };
}

/** An error response with an Error object (docs/service.md) as its body. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly response: SandboxResponse;

  /** @param message for people; must not quote the request */
  constructor(status: number, code: string, message: string, headers: HeaderValues = {}) {
    super(message);
    this.response = jsonResponse(status, JSON.stringify({ code, message, status }), headers);
  }
}

/** Converts an error to a response. Sends no message of another error, since it may quote data. */
export function toResponse(error: unknown): SandboxResponse {
  if (error instanceof HttpError) return error.response;
  if (isSystemError(error)) {
    // 507: Insufficient Storage.
    return new HttpError(507, 'storage_failed', `the sandbox cannot save its data (${systemReason(error)})`).response;
  }
  return new HttpError(500, 'internal_error', 'the sandbox failed').response;
}

/** The headers of every response; `resetAt` is rounded up, so that a client never wakes too early. */
export function commonHeaders(quota: QuotaStatus, now: number): HeaderValues {
  return {
    'Content-Type': 'application/json',
    Date: new Date(now).toUTCString(),
    'X-RateLimit-Limit': String(quota.limit),
    'X-RateLimit-Remaining': String(quota.remaining),
    'X-RateLimit-Reset': String(Math.ceil(quota.resetAt / 1000)),
  };
}

/** The service does not specify the format of `Retry-After`. */
export const RETRY_AFTER_FORMATS = ['seconds', 'date', 'none'] as const;
export type RetryAfterFormat = (typeof RETRY_AFTER_FORMATS)[number];

/** Rounded up to whole seconds. */
export function retryAfterHeader(format: RetryAfterFormat, until: number, now: number): HeaderValues {
  if (format === 'none') return {};
  if (format === 'seconds') return { 'Retry-After': String(Math.max(0, Math.ceil((until - now) / 1000))) };
  return { 'Retry-After': new Date(Math.ceil(until / 1000) * 1000).toUTCString() };
}

// The body of a garbage fault is neither JSON nor UTF-8.
const GARBAGE = Buffer.from('<\u0000\u001b[31mthis is not JSON\u00ff>', 'latin1');

/** Resolves when the response was sent or the connection has ended. */
export async function sendResponse(to: ServerResponse, outgoing: SandboxResponse, fault?: FaultKind): Promise<void> {
  const { socket } = to;
  if (!socket || socket.destroyed) return;
  if (fault === 'reset') return void socket.resetAndDestroy();
  if (fault === 'lost-response') return void socket.destroy();
  const body = fault === 'garbage' ? GARBAGE : outgoing.body;
  to.writeHead(outgoing.status, { ...outgoing.headers, 'Content-Length': String(body.length) });
  if (fault === 'truncate') to.write(body.subarray(0, Math.floor(body.length / 2)), () => socket.destroySoon());
  else to.end(body);
  await once(to, 'close');
}
