// Handles one request: authenticates it, counts it against the rate limit, runs its operation and sends the response, with faults.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sleepLong } from '../clock.ts';
import { checkOrigin, keyOf, unauthorized } from './auth.ts';
import type { SandboxContext } from './context.ts';
import type { FaultPlan } from './faults.ts';
import { drawFaultPlan } from './faults.ts';
import type { QuotaStatus } from './limiter.ts';
import { ClientGone } from './new-category.ts';
import type { SandboxResponse } from './response.ts';
import { commonHeaders, HttpError, retryAfterHeader, sendResponse } from './response.ts';
import { findOperation } from './routes.ts';

interface Exchange {
  readonly request: IncomingMessage;
  quota: QuotaStatus;
  plan: FaultPlan;
}

/** Never rejects. */
export async function handleRequest(context: SandboxContext, request: IncomingMessage, to: ServerResponse) {
  const { clock, limiter, closing } = context;
  const quota = limiter.status(undefined, clock.now());
  const exchange: Exchange = { request, quota, plan: { delayMs: 0, fault: undefined } };
  try {
    const response = await operate(context, exchange).catch(toResponse);
    if (!response) return;
    await sleepLong(clock, exchange.plan.delayMs, closing);
    log(context, exchange, response);
    const headers = { ...commonHeaders(exchange.quota, clock.now()), ...response.headers };
    sendResponse(to, { ...response, headers }, exchange.plan.fault);
  } catch {
    // The server is closing.
    to.destroy();
  }
}

// A request with a valid key counts even if its operation fails; public operations do not count.
async function operate(context: SandboxContext, exchange: Exchange): Promise<SandboxResponse> {
  const { method = '', url = '' } = exchange.request;
  checkOrigin(exchange.request, context.port);
  exchange.plan = drawFaultPlan(context.faults ?? [], context.random);
  const operation = findOperation(method, url);
  const isPublic = !(operation instanceof HttpError) && operation.public === true;
  const key = keyOf(exchange.request, context.keyIds);
  if (key !== undefined && !isPublic) count(context, exchange, key);
  if (operation instanceof HttpError) throw operation;
  if (key === undefined && !isPublic) throw unauthorized(exchange.request);
  const { fault } = exchange.plan;
  if (fault === '500' || fault === '503') throw new HttpError(Number(fault), 'injected_fault', 'injected fault');
  if (fault === 'reset') return { status: 0, body: Buffer.alloc(0), headers: {} };
  return operation.handle(exchange.request, context);
}

/** @throws HttpError 429 */
function count({ limiter, clock, retryAfter }: SandboxContext, exchange: Exchange, key: string): void {
  const now = clock.now();
  const { status, rejection } = limiter.admit(key, now);
  exchange.quota = status;
  if (!rejection) return;
  const message =
    rejection === 'key_banned'
      ? 'this key is temporarily banned because it sent requests before Retry-After had passed'
      : `the limit of ${status.limit} request${status.limit === 1 ? '' : 's'} is exhausted`;
  throw new HttpError(429, rejection, message, retryAfterHeader(retryAfter, status.resetAt, now));
}

function log({ onRequest }: SandboxContext, { request, quota, plan }: Exchange, { status }: SandboxResponse): void {
  const { delayMs, fault = delayMs > 0 ? 'latency' : undefined } = plan;
  const { method = '', url = '' } = request;
  onRequest?.({ method, path: url, status: fault === 'reset' ? undefined : status, remaining: quota.remaining, fault });
}

// Returns undefined if the client is gone. Sends no other messages, since they may quote data.
function toResponse(error: unknown): SandboxResponse | undefined {
  if (error instanceof ClientGone) return undefined;
  if (error instanceof HttpError) return error.response;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') return new HttpError(507, 'storage_full', 'the disk is full').response;
  return new HttpError(500, 'internal_error', 'the sandbox failed').response;
}
