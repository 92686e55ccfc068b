// One request and its answer: who asks, may they, what comes of it, what goes wrong, what is told of it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { LONGEST_SLEEP_MS } from '../clock.ts';
import { maskKey } from '../redact.ts';
import type { AuthenticatedKey } from './auth.ts';
import { checkOrigin } from './auth.ts';
import type { FaultKind, FaultPlan, FaultRule } from './faults.ts';
import { drawFaultPlan, NO_FAULT, parseFault } from './faults.ts';
import { checkExpectation, errorResponse, injectedError, unauthorized, unknownFault } from './http-errors.ts';
import type { QuotaStatus } from './rate-windows.ts';
import type { SandboxResponse } from './response.ts';
import { HttpError, limitHeaders, retryAfterHeader } from './response.ts';
import type { Operation } from './routes.ts';
import { findOperation } from './routes.ts';
import { sendResponse } from './send-response.ts';
import type { SandboxContext } from './server.ts';

/** What a log line tells of a request. */
export interface RequestRecord {
  readonly method: string;
  /** The target as it came: to be made visible before it is shown. */
  readonly path: string;
  /** Undefined where the connection was reset before anything was done. */
  readonly status: number | undefined;
  /** The valid key's last four characters; undefined where there was none: a foreign key is not shown at all. */
  readonly key: string | undefined;
  readonly remaining: number;
  /** The fault that struck, if any. */
  readonly fault: FaultKind | undefined;
}

// Faults that strike before anything is done.
const EARLY: ReadonlySet<FaultKind | undefined> = new Set<FaultKind>(['429', '500', '503', 'reset']);

/** One request on its way. */
export class RequestHandler {
  readonly #world: SandboxContext;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #caller: AuthenticatedKey | undefined;
  #standing: QuotaStatus;
  #fate: FaultPlan = NO_FAULT;
  #operation: Operation | undefined;

  /**
   * @param world the sandbox
   * @param request the request's head; its body is still to be read
   * @param response not begun
   */
  constructor(world: SandboxContext, request: IncomingMessage, response: ServerResponse) {
    this.#world = world;
    this.#request = request;
    this.#response = response;
    this.#standing = world.limiter.standing(undefined, world.clock.now());
  }

  /** Answers the request. Never rejects: a fault of the sandbox is answered 500. */
  async run(): Promise<void> {
    try {
      const answer = await this.#answer().catch((error: unknown) => errorResponse(error));
      if (!answer) return;
      const { latencyMs } = this.#fate;
      if (latencyMs > 0) await this.#sleep(latencyMs);
      this.#tell(answer);
      const parcel = { response: this.#response, answer, headers: this.#headers(answer) };
      await sendResponse(parcel, this.#fate.fault, this.#world.clock, this.#world.ending);
    } catch {
      // The server is ending, or the client went away: nobody is left to answer.
      this.#response.destroy();
    }
  }

  async #answer(): Promise<SandboxResponse> {
    const { method = '', url = '', headers } = this.#request;
    const world = this.#world;
    const found = findOperation(method, url);
    this.#operation = found instanceof HttpError ? undefined : found;
    checkOrigin(this.#request, world.port);
    this.#caller = world.authenticator.identify(headers.authorization);
    const rules = this.#rules();
    this.#fate = drawFaultPlan(rules ?? [], world.random);
    if (this.#caller) this.#admit(this.#caller);
    if (!rules) throw unknownFault();
    checkExpectation(this.#request);
    if (found instanceof HttpError) throw found;
    if (!this.#caller && !found.open) throw unauthorized(headers.authorization);
    this.#failEarly();
    const answer = await found.handle(this.#request, world);
    if (this.#fate.fault?.kind === '500-after-commit') throw injectedError(500);
    return answer;
  }

  // Faults of the server come first: a header adds to them. Undefined: the header names one that is not known.
  #rules(): readonly FaultRule[] | undefined {
    const rules = [...(this.#world.faults ?? [])];
    for (const text of String(this.#request.headers['x-sandbox-fault'] ?? '').split(',')) {
      if (text.trim() === '') continue;
      const rule = parseFault(text);
      if (!rule) return undefined;
      rules.push(rule);
    }
    return rules;
  }

  // A request is counted once its key is valid, whatever becomes of it after; what is open to all is not.
  #admit(caller: AuthenticatedKey): void {
    const { limiter, clock } = this.#world;
    const now = clock.now();
    if (this.#operation?.open) {
      this.#standing = limiter.standing(caller.fingerprint, now);
      return;
    }
    const { standing, refusal } = limiter.admit(caller.fingerprint, now);
    this.#standing = standing;
    if (refusal) throw this.#tooMany(refusal.code, refusal.until, now);
  }

  #tooMany(code: 'rate_limited' | 'key_banned', until: number, now: number): HttpError {
    const message =
      code === 'key_banned'
        ? 'this key is banned for a while: it went on sending while it was told to wait'
        : `the limit of ${this.#standing.limit} request${this.#standing.limit === 1 ? '' : 's'} is reached`;
    return new HttpError(429, code, message, retryAfterHeader(this.#world.retryAfter, until, now, this.#fate.skewMs));
  }

  #failEarly(): void {
    const { fault } = this.#fate;
    if (!fault || !EARLY.has(fault.kind)) return;
    const now = this.#world.clock.now();
    if (fault.kind === '429') throw this.#tooMany('rate_limited', now + fault.ms, now);
    throw injectedError(fault.kind === '503' ? 503 : 500);
  }

  #headers(answer: SandboxResponse): Record<string, string> {
    const { clock, markers } = this.#world;
    const { skewMs } = this.#fate;
    const marker = this.#operation && markers.get(this.#operation.name);
    return {
      'Content-Type': 'application/json',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      Date: new Date(clock.now() + skewMs).toUTCString(),
      ...limitHeaders(this.#standing, skewMs),
      ...(marker ? { 'X-Stability': marker } : {}),
      ...answer.headers,
    };
  }

  #tell(answer: SandboxResponse): void {
    this.#world.onRequest?.({
      method: this.#request.method ?? '',
      path: this.#request.url ?? '',
      status: this.#fate.fault?.kind === 'reset' ? undefined : answer.status,
      key: this.#caller && maskKey(this.#caller.key),
      remaining: this.#standing.remaining,
      fault:
        this.#fate.fault?.kind ??
        (this.#fate.latencyMs > 0 ? 'latency' : this.#fate.skewMs !== 0 ? 'skewed-date' : undefined),
    });
  }

  async #sleep(ms: number): Promise<void> {
    const { clock, ending } = this.#world;
    for (let left = ms; left > 0; left -= LONGEST_SLEEP_MS) await clock.sleep(Math.min(left, LONGEST_SLEEP_MS), ending);
  }
}
