// The network between a process and the service: connections, latency, and the faults on the way.
import type { HttpRequest, HttpResponse, ResponseHead, SendOptions, Transport } from '../../src/http/types.ts';
import { TransportError } from '../../src/http/types.ts';
import { RULES } from '../../src/rate-limit/rules.ts';
import type { Faults } from './faults.ts';
import type { Invariants } from './invariants.ts';
import type { Scheduler, SimulatedProcess } from './scheduler.ts';
import type { Service, ServiceResponse } from './service.ts';

interface NetworkOptions {
  readonly scheduler: Scheduler;
  readonly service: Service;
  readonly faults: Faults;
  readonly invariants: Invariants;
  /** The time to connect, in milliseconds. */
  readonly connectMs: number;
  /** The longest time from the record of a ticket to its attempt, in milliseconds: the way back from the state server. */
  readonly ticketMs: number;
}

/** Faults of the network; all others are faults of the service. */
const ON_THE_WAY = new Set('lost-response late-request slow slow-response silent truncated'.split(' '));
// The longest times by fault, in milliseconds: of a request to the service, and of a response back.
const TO_MS: Readonly<Record<string, number>> = { 'late-request': 1500, slow: 6500 };
const BACK_MS: Readonly<Record<string, number>> = { 'slow-refusal': 8000, 'slow-response': 8000 };

export class Network {
  readonly #options: NetworkOptions;
  #requests = 0;

  constructor(options: NetworkOptions) {
    this.#options = options;
  }

  /** @param now the program's clock, for `sentAt` and `receivedAt` */
  connect(process: SimulatedProcess, now: () => number): Transport {
    return {
      close: async () => undefined,
      send: (request, how) => this.#send(process, now, request, how),
    };
  }

  #send(
    process: SimulatedProcess,
    now: () => number,
    { method, body }: HttpRequest,
    { timeoutMs, signal, onHead, beforeSend }: SendOptions,
  ): Promise<HttpResponse> {
    const { scheduler, service, faults, invariants, connectMs, ticketMs } = this.#options;
    const kind = method === 'GET' ? 'list' : 'create';
    const isList = kind === 'list';
    const name = typeof body === 'string' ? (JSON.parse(body) as { name: string }).name : undefined;
    const number = ++this.#requests;
    const takenAt = scheduler.now;
    return new Promise((resolve, reject) => {
      let sent = false;
      let endedAt: number | undefined;
      let head: ResponseHead | undefined;
      let sentAt = 0;
      let sentOn = 0;
      const cancels: (() => void)[] = [];
      const after = (ms: number, happen: () => void): void => void cancels.push(scheduler.after(ms, process, happen));
      const end = (settle: () => void): void => {
        if (endedAt !== undefined) return;
        endedAt = scheduler.now;
        for (const cancel of cancels) cancel();
        signal.removeEventListener('abort', onAbort);
        if (sent) process.inFlight[kind]--;
        else process.connecting--;
        process.activeAt = scheduler.now;
        settle();
      };
      const fail = (reason: TransportError['reason'], detail: string): void =>
        end(() => {
          scheduler.note(process, `#${number} ${kind} ${reason}${sent ? '' : ', not sent'}`);
          if (!isList && sent) process.lost++;
          invariants.failed(number);
          // A 429 counts even if its body is cut off.
          if (head?.status === 429 && reason !== 'aborted') resolve({ ...head, body: new Uint8Array() });
          else reject(new TransportError(reason, sent, detail, { head }));
        });
      const onAbort = (): void => fail('aborted', 'interrupted');
      process.connecting++;
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      after(timeoutMs, () => fail('timeout', 'no complete response in time'));

      const deliver = (response: ServiceResponse, fault: string | undefined): void => {
        const received = { status: response.status, headers: response.headers, sentAt, receivedAt: now() };
        head = received;
        const { status, waitUntil } = response;
        const wait = waitUntil === undefined ? '' : `, wait ${((waitUntil - scheduler.now) / 1000).toFixed(1)} s`;
        scheduler.note(process, `#${number} ${kind} <- ${status}${fault ? ` (${fault})` : ''}${wait}`);
        process.refusedUntil = response.waitUntil ?? process.refusedUntil;
        try {
          onHead?.(head);
        } finally {
          invariants.heard(process, isList, response, sentOn);
        }
        after(scheduler.between(0.1, 3), () => {
          if (fault === 'truncated') return fail('reset', 'the connection was closed');
          end(() => resolve({ ...received, body: new TextEncoder().encode(response.body) }));
        });
      };
      const arrive = (fault: string): void => {
        const ofService = fault === 'slow-refusal' ? 'refuse' : ON_THE_WAY.has(fault) ? undefined : fault;
        // Other requests wait at most 5 s for a request that is on its way (docs/rate-limits.md).
        const overdueAt = takenAt - ticketMs + RULES.overdueMs;
        const overdueSince = sentOn <= overdueAt && scheduler.now > overdueAt ? overdueAt : undefined;
        const lateSince = endedAt ?? (process.dead ? process.activeAt : overdueSince);
        const response = service.serve({ name, process, sentAt: sentOn, lateSince }, ofService);
        if (fault === 'silent') return;
        after(scheduler.between(2, BACK_MS[fault] ?? 60), () =>
          fault === 'lost-response' || fault === 'late-request'
            ? fail('reset', 'the connection was closed')
            : deliver(response, fault),
        );
      };
      after(scheduler.between(0.5, connectMs), () => {
        const fault = faults.onRequest(process, kind) ?? '';
        if (fault === 'no-connection') return fail('connect', 'connection refused');
        try {
          beforeSend?.();
        } catch (error) {
          return end(() => reject(error));
        }
        sent = true;
        sentAt = now();
        sentOn = scheduler.now;
        process.connecting--;
        process.inFlight[kind]++;
        if (!isList) process.creates++;
        process.activeAt = scheduler.now;
        invariants.sent(process, number, name);
        scheduler.note(
          process,
          `#${number} ${kind} ${name === undefined ? '' : `${name} `}->${fault ? ` (${fault})` : ''}`,
        );
        if (fault === 'lost-request')
          return after(scheduler.between(2, 900), () => fail('reset', 'the connection was closed'));
        if (fault === 'late-request') after(50, () => fail('reset', 'the connection was closed'));
        // The request arrives even if its process is killed.
        scheduler.after(scheduler.between(1, TO_MS[fault] ?? 40), undefined, () => arrive(fault));
      });
    });
  }
}
