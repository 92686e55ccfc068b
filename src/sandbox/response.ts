// What the sandbox answers: status, body, headers; and every failure in the Error shape of service.md, section 2.
import type { QuotaStatus } from './rate-windows.ts';

/** One answer, before faults and the headers that every answer carries. */
export interface SandboxResponse {
  readonly status: number;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * @param status the HTTP status
 * @param json the body, already JSON
 * @param headers further headers
 * @returns an answer with that body
 */
export function jsonResponse(
  status: number,
  json: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): SandboxResponse {
  return { status, body: typeof json === 'string' ? Buffer.from(json) : json, headers };
}

/** A request that fails: thrown where it is noticed, answered in the Error shape. */
export class HttpError extends Error {
  override readonly name = 'Failure';
  readonly answer: SandboxResponse;

  /**
   * @param status the HTTP status, also inside the body
   * @param code a machine-readable word
   * @param message what is wrong, for a person; it quotes nothing the client sent
   * @param headers further headers, for example `Allow`
   */
  constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.answer = jsonResponse(status, JSON.stringify({ code, message, status }), headers);
  }
}

/**
 * @param standing where the caller stands
 * @param skewMs how far the service's clock is off, milliseconds: it tells its own time
 * @returns the three headers of service.md, section 8; a reset is never told too early
 */
export function limitHeaders(standing: QuotaStatus, skewMs = 0): Record<string, string> {
  return {
    'X-RateLimit-Limit': String(standing.limit),
    'X-RateLimit-Remaining': String(standing.remaining),
    'X-RateLimit-Reset': String(Math.ceil((standing.resetAt + skewMs) / 1000)),
  };
}

/** How a 429 says when to come back; service.md leaves the form open. */
export type RetryAfterForm = 'seconds' | 'date' | 'none';

/**
 * @param form seconds, an HTTP date, or no header at all
 * @param until when requests pass again, epoch milliseconds
 * @param now epoch milliseconds
 * @param skewMs how far the service's clock is off, milliseconds
 * @returns the header, rounded up to whole seconds
 */
export function retryAfterHeader(form: RetryAfterForm, until: number, now: number, skewMs = 0): Record<string, string> {
  if (form === 'none') return {};
  if (form === 'seconds') return { 'Retry-After': String(Math.max(0, Math.ceil((until - now) / 1000))) };
  return { 'Retry-After': new Date(Math.ceil((until + skewMs) / 1000) * 1000).toUTCString() };
}
