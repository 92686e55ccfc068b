// Handles one request: checks who sends it, counts it, runs its operation and sends the response, with faults.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sleepLong } from '../clock.ts';
import { checkOrigin } from './auth.ts';
import type { SandboxContext } from './context.ts';
import type { FaultPlan, FaultRule } from './faults.ts';
import { drawFaultPlan, FAULT_KINDS, NO_FAULT, parseFault } from './faults.ts';
import type { QuotaStatus } from './limiter.ts';
import { ClientGone } from './new-category.ts';
import type { SandboxResponse } from './response.ts';
import { commonHeaders, HttpError, retryAfterHeader, sendResponse } from './response.ts';
import { findOperation } from './routes.ts';

export class RequestHandler {
  readonly #context: SandboxContext;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #quota: QuotaStatus;
  #plan: FaultPlan = NO_FAULT;

  constructor(context: SandboxContext, request: IncomingMessage, response: ServerResponse) {
    this.#context = context;
    this.#request = request;
    this.#response = response;
    this.#quota = context.limiter.status(undefined, context.clock.now());
  }

  /** Never rejects. */
  async run(): Promise<void> {
    try {
      const response = await this.#handle().catch(toResponse);
      if (!response) return;
      await sleepLong(this.#context.clock, this.#plan.delayMs, this.#context.closing);
      this.#log(response);
      const headers = { ...commonHeaders(this.#quota, this.#context.clock.now()), ...response.headers };
      sendResponse(this.#response, { ...response, headers }, this.#plan.fault);
    } catch {
      // The server is closing.
      this.#response.destroy();
    }
  }

  async #handle(): Promise<SandboxResponse> {
    const { method = '', url = '', headers } = this.#request;
    const { authenticator, port, random } = this.#context;
    checkOrigin(this.#request, port);
    const operation = findOperation(method, url);
    const isPublic = !(operation instanceof HttpError) && operation.public === true;
    const key = authenticator.authenticate(headers.authorization);
    const rules = this.#faultRules();
    this.#plan = drawFaultPlan(rules ?? [], random);
    if (key !== undefined) this.#count(key, isPublic);
    if (!rules) throw new HttpError(400, 'unknown_fault', `x-sandbox-fault must be one of: ${FAULT_KINDS.join(', ')}`);
    if (!/^(?:100-continue)?$/i.test(headers.expect ?? '')) {
      throw new HttpError(417, 'expectation_failed', 'the only supported expectation is 100-continue');
    }
    if (operation instanceof HttpError) throw operation;
    if (key === undefined && !isPublic) throw unauthorized(headers.authorization);
    const { fault } = this.#plan;
    if (fault === '500' || fault === '503') throw new HttpError(Number(fault), 'injected_fault', 'requested fault');
    if (fault === 'reset') return { status: 0, body: Buffer.alloc(0), headers: {} };
    return operation.handle(this.#request, this.#context);
  }

  // The server's faults come first; undefined if the header names an unknown one.
  #faultRules(): readonly FaultRule[] | undefined {
    const names = String(this.#request.headers['x-sandbox-fault'] ?? '').split(',');
    const requested = names.filter((name) => name.trim() !== '').map(parseFault);
    const known = requested.filter((rule) => rule !== undefined);
    return known.length < requested.length ? undefined : [...(this.#context.faults ?? []), ...known];
  }

  // Every request with a valid key counts, also one that fails.
  #count(key: string, isPublic: boolean): void {
    const { limiter, clock, retryAfter } = this.#context;
    const now = clock.now();
    const { status, refusal } = isPublic ? { status: limiter.status(key, now) } : limiter.admit(key, now);
    this.#quota = status;
    if (!refusal) return;
    const message =
      refusal.code === 'key_banned'
        ? 'this key is temporarily banned for sending requests before Retry-After'
        : `the limit of ${status.limit} request${status.limit === 1 ? '' : 's'} is exhausted`;
    throw new HttpError(429, refusal.code, message, retryAfterHeader(retryAfter, refusal.until, now));
  }

  #log({ status }: SandboxResponse): void {
    const { delayMs, fault = delayMs > 0 ? 'latency' : undefined } = this.#plan;
    this.#context.onRequest?.({
      method: this.#request.method ?? '',
      path: this.#request.url ?? '',
      status: fault === 'reset' ? undefined : status,
      remaining: this.#quota.remaining,
      fault,
    });
  }
}

function unauthorized(authorization: string | undefined): HttpError {
  const message =
    authorization === undefined
      ? 'the API key is missing; send Authorization: Bearer <API_KEY>'
      : 'the API key is not valid';
  return new HttpError(401, 'unauthorized', message, { 'WWW-Authenticate': 'Bearer' });
}

// Undefined if nobody is left to respond to. Other messages may quote data, so they are not sent.
function toResponse(error: unknown): SandboxResponse | undefined {
  if (error instanceof ClientGone) return undefined;
  if (error instanceof HttpError) return error.response;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') return new HttpError(507, 'storage_full', 'the disk is full').response;
  return new HttpError(500, 'internal_error', 'the sandbox failed').response;
}
