// The sandbox as an HTTP server on loopback: listens, judges each request, answers, and ends at once when told.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { LogFs } from '../append-log/generations.ts';
import type { Clock } from '../clock.ts';
import { Authenticator } from './auth.ts';
import { respondToClientError } from './client-errors.ts';
import type { FaultRule } from './faults.ts';
import { seededRandom } from './faults.ts';
import { Limiter } from './limiter.ts';
import { placeOf } from './paths.ts';
import type { Limit } from './plans.ts';
import type { RequestRecord } from './request-handler.ts';
import { RequestHandler } from './request-handler.ts';
import type { RetryAfterForm } from './response.ts';
import type { Markers } from './routes.ts';
import { Store } from './store.ts';

/** What a sandbox is started with. */
export interface SandboxOptions {
  /** Where its data is kept, see `placeOf`; any number of processes may share it. */
  readonly dataFile: string;
  readonly clock: Clock;
  /** 0: any free port. */
  readonly port: number;
  readonly keys: readonly string[];
  /** All hold at once; none: no limit. */
  readonly limits: readonly Limit[];
  readonly retryAfter?: RetryAfterForm;
  readonly faults?: readonly FaultRule[];
  /** What faults are drawn from; the clock's chance unless given. */
  readonly seed?: number;
  readonly markers?: Markers;
  /** Empties data and windows first. */
  readonly reset?: boolean;
  /** The least id to be given from now on. */
  readonly firstId?: bigint;
  /** The file system; tests hand in one that fails. */
  readonly fs?: LogFs;
  /** Told of every request when its answer is decided. */
  readonly onRequest?: (record: RequestRecord) => void;
}

/** A sandbox that is listening. */
export interface RunningSandbox {
  readonly port: number;
  /** With the version segment: `http://127.0.0.1:PORT/v1`. */
  readonly baseUrl: string;
  /** Ends every connection and lets go of the files. */
  close(): Promise<void>;
}

/** What every exchange works with. */
export interface SandboxContext extends SandboxOptions {
  readonly store: Store;
  readonly limiter: Limiter;
  readonly authenticator: Authenticator;
  readonly random: () => number;
  readonly retryAfter: RetryAfterForm;
  readonly markers: Markers;
  /** Aborted when the server ends. */
  readonly ending: AbortSignal;
}

/**
 * Starts a sandbox on 127.0.0.1.
 * @param options data, keys, limits, faults
 * @returns resolves when it listens
 * @throws errors of the file system and of `listen` (EADDRINUSE, EACCES) as they come
 */
export async function startSandbox(options: SandboxOptions): Promise<RunningSandbox> {
  const ending = new AbortController();
  const server = createServer(SERVER_LIMITS);
  server.maxConnections = 100;
  // Listening comes first: a busy port must not reset the data.
  await listen(server, options.port);
  const { port } = server.address() as AddressInfo;
  let world: SandboxContext;
  try {
    world = openWorld({ ...options, port }, ending.signal);
  } catch (error) {
    server.close();
    throw error;
  }
  const pending = serve(server, world);
  return {
    port,
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      ending.abort();
      server.closeAllConnections();
      await Promise.all([closed, ...pending]);
      world.store.close();
      world.limiter.close();
    },
  };
}

// Slow heads and bodies end after these milliseconds (fault H5); a missing Host is answered by us, in the Error shape.
const SERVER_LIMITS = {
  headersTimeout: 5_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 30_000,
  requireHostHeader: false,
  noDelay: true,
} as const;

function openWorld(options: SandboxOptions, ending: AbortSignal): SandboxContext {
  const place = placeOf(options.dataFile);
  const { clock, seed, reset = false, firstId, fs } = options;
  const store = new Store(place, { reset, firstId, fs });
  return {
    retryAfter: 'seconds',
    markers: new Map(),
    ...options,
    store,
    limiter: new Limiter(place, options.limits, { reset, fs }),
    authenticator: new Authenticator(options.keys),
    random: seed === undefined ? () => clock.random() : seededRandom(seed),
    ending,
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // The address is explicit: the default is every interface of the machine.
    server.listen({ port, host: '127.0.0.1' }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function serve(server: Server, world: SandboxContext): Set<Promise<void>> {
  const pending = new Set<Promise<void>>();
  const take = (request: IncomingMessage, response: ServerResponse): void => {
    const done: Promise<void> = new RequestHandler(world, request, response).run().finally(() => pending.delete(done));
    pending.add(done);
  };
  server.on('request', take);
  server.on('checkExpectation', take);
  server.on('connect', (_request: IncomingMessage, socket: Socket) => respondToClientError(world, 'CONNECT', socket));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    respondToClientError(world, error.code, socket),
  );
  return pending;
}
