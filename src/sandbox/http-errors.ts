// The failures that any operation may meet, in words and codes.
import type { IncomingMessage } from 'node:http';
import { ClientGone } from './body.ts';
import { faultNames } from './faults.ts';
import type { SandboxResponse } from './response.ts';
import { HttpError } from './response.ts';

/**
 * service.md, section 5: missing or invalid is the same status; which of them it was helps whoever tries it out.
 * @param authorization the header, where there was one
 * @returns 401
 */
export function unauthorized(authorization: string | undefined): HttpError {
  const missing = authorization === undefined;
  const message = missing ? 'no API key: send Authorization: Bearer <API_KEY>' : 'the API key is not valid';
  return new HttpError(401, 'unauthorized', message, { 'WWW-Authenticate': 'Bearer' });
}

/**
 * @param request its head
 * @throws Failure 417 for an expectation that is not met (RFC 9110, 10.1.1)
 */
export function checkExpectation({ headers }: IncomingMessage): void {
  if (headers.expect === undefined || headers.expect.toLowerCase() === '100-continue') return;
  throw new HttpError(417, 'expectation_failed', 'the only expectation that can be met is 100-continue');
}

/** @returns 400 for a fault in `x-sandbox-fault` that is none, naming those there are */
export function unknownFault(): HttpError {
  return new HttpError(400, 'unknown_fault', `x-sandbox-fault knows: ${faultNames()}`);
}

/**
 * @param status 500 or 503
 * @returns a failure that was asked for
 */
export function injectedError(status: number): HttpError {
  return new HttpError(status, 'injected_fault', 'a fault that was asked for');
}

/**
 * @param error whatever an operation threw
 * @returns its answer; undefined where the client went away. What is unexpected is told without its message, which may
 *   quote data
 */
export function errorResponse(error: unknown): SandboxResponse | undefined {
  if (error instanceof ClientGone) return undefined;
  if (error instanceof HttpError) return error.answer;
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOSPC' || code === 'EDQUOT') return new HttpError(507, 'storage_full', 'the disk is full').answer;
  return new HttpError(500, 'internal_error', 'the sandbox itself failed').answer;
}
