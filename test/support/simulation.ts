// Simulates several processes and a rate-limited service in virtual time, with real ledgers in a directory.
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { Clock } from '../../src/clock.ts';
import { HttpClient } from '../../src/http/http-client.ts';
import type { HttpRequest, HttpResponse, Transport } from '../../src/http/types.ts';
import { TransportError } from '../../src/http/types.ts';
import { openMachineLedger } from '../../src/rate-limit/machine-ledger.ts';
import { seededRandom } from '../../src/sandbox/faults.ts';
import { FakeClock } from './fake-clock.ts';
import type { LimiterOptions, Verdict } from './limiter.ts';
import { Limiter } from './limiter.ts';
import { tempDir } from './temp-dir.ts';

/** A simulated service; by default the limiter that the options describe. */
export interface Service {
  take(now: number): Verdict;
}

export interface Simulation extends LimiterOptions {
  readonly service?: Service;
  readonly processes: number;
  readonly workers: number;
  readonly requests: number;
  /** The service's clock minus the machines' clock, in milliseconds. */
  readonly skewMs?: number;
  /** The shortest and the longest time of a response, in milliseconds; each time is drawn at random. */
  readonly latencyMs?: readonly [number, number];
  readonly seed?: number;
  /** The start of the simulation, in epoch milliseconds by the machines' clock. */
  readonly startsAt?: number;
  readonly maxWaitMs?: number;
  /** The share of responses that are lost, 0 to 1; the requests are then reads and are retried. */
  readonly lose?: number;
  /** Once it returns true for a request that is about to be sent, its process and the next one fail, as by SIGKILL or SIGSTOP. */
  readonly failsAt?: (request: number, last: Verdict | undefined) => boolean;
}

/** Runs the processes; `makespan` is the virtual time from their start to the last success, in milliseconds. */
export async function simulate(options: Simulation) {
  const dir = tempDir();
  const draw = seededRandom(options.seed ?? 1);
  const clock = new FakeClock(options.startsAt, draw);
  const service: Service = options.service ?? new Limiter(options);
  // `insideLate`: the requests inside a wait that were sent after its 429 had been received.
  const counts = { sent: 0, refused: 0, insideWait: 0, insideLate: 0, answered: 0 };
  const failures: unknown[] = [];
  const [fastest, slowest] = options.latencyMs ?? [10, 10];
  const failed = new Set<number>();
  const lives = Array.from({ length: options.processes }, () => new AbortController());
  const never = new Promise<never>(() => undefined);
  let last: Verdict | undefined;
  const fail = (sender: number): void => {
    for (const index of [sender, (sender + 1) % options.processes]) {
      failed.add(index);
      lives[index]?.abort();
    }
  };
  // The clock of a process that has failed does not wake it.
  const clockOf = (index: number): Clock => ({
    ...clock,
    sleep: (ms, signal) => clock.sleep(ms, signal).then(() => (failed.has(index) ? never : undefined)),
  });
  const transportOf = (index: number): Transport => ({
    close: async () => undefined,
    async send(_request, how) {
      if (failed.size === 0 && options.failsAt?.(counts.sent + 1, last)) fail(index);
      if (failed.has(index)) return never;
      const sentAt = clock.now();
      const latency = fastest + draw() * (slowest - fastest);
      await clock.sleep(latency / 2);
      counts.sent++;
      const verdict = service.take(clock.now() + (options.skewMs ?? 0));
      last = verdict;
      if (!verdict.allowed) counts.refused++;
      if (verdict.insideWait !== undefined) counts.insideWait++;
      if ((verdict.insideWait ?? 0) > slowest) counts.insideLate++;
      await clock.sleep(latency / 2);
      if (options.lose && draw() < options.lose) throw new TransportError('reset', true, 'lost');
      if (failed.has(index)) return never;
      const head = { status: verdict.allowed ? 200 : 429, headers: verdict.headers, sentAt, receivedAt: clock.now() };
      how.onHead?.(head);
      return { ...head, body: new Uint8Array() } satisfies HttpResponse;
    },
  });
  let makespan = 0;
  let left = options.requests;
  const retries = { maxRetries: options.lose ? 30 : 4, timeoutMs: 30_000 };
  const limits = { maxWaitMs: options.maxWaitMs ?? 86_400_000, ...retries };
  const startClient = (index: number): HttpClient => {
    const clock = clockOf(index);
    const ledger = openMachineLedger({
      stateDir: dir,
      baseUrl: 'test',
      key: 'key',
      clock,
    });
    const { signal } = new AbortController();
    return new HttpClient({ transport: transportOf(index), ledger, clock, signal, limits });
  };
  const senders = Array.from({ length: options.processes }, (_, index) => startClient(index));
  const request: HttpRequest = options.lose
    ? { method: 'GET', path: '/categories' }
    : { method: 'POST', path: '/categories', body: '{}' };
  const work = async (sender: HttpClient): Promise<void> => {
    while (left-- > 0) {
      try {
        await sender.send(request);
        counts.answered++;
        makespan = clock.monotonic();
      } catch (error) {
        failures.push(error);
      }
    }
  };
  const workOf = async (sender: HttpClient, { signal }: AbortController): Promise<void> => {
    const works = Promise.all(Array.from({ length: options.workers }, () => work(sender)));
    await Promise.race([works.then(() => sender.close()), once(signal, 'abort')]);
  };
  await Promise.all(senders.map((sender, index) => workOf(sender, lives[index] as AbortController)));
  rmSync(dir, { recursive: true, force: true });
  return { ...counts, failures, makespan };
}
