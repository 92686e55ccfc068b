// The sandbox: the service of docs/service.md as an HTTP server on loopback.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../clock.ts';
import { identifyKeys } from './auth.ts';
import type { SandboxContext, ServerOptions } from './context.ts';
import { seededRandom } from './faults.ts';
import { Limiter } from './limiter.ts';
import { PLANS, SANDBOX_KEY } from './plans.ts';
import { handleRequest } from './request-handler.ts';
import { Store } from './store.ts';

export interface RunningSandbox {
  readonly port: number;
  /** `http://127.0.0.1:PORT/v1` */
  readonly baseUrl: string;
  /** Ends open connections. Any further call returns the same promise. */
  close(): Promise<void>;
}

/** @throws PetstoreError `storage` for damaged data; errors of the file system and of `listen` unchanged */
export async function startServer(options: ServerOptions): Promise<RunningSandbox> {
  const closing = new AbortController();
  // A missing Host is rejected by `checkOrigin`, with an Error object.
  const server = createServer({ requireHostHeader: false });
  // Listen first, so that a busy port does not reset the data.
  await once(server.listen({ port: options.port, host: '127.0.0.1' }), 'listening');
  const { port } = server.address() as AddressInfo;
  let context: SandboxContext;
  try {
    context = openContext({ ...options, port }, closing.signal);
  } catch (error) {
    server.close();
    throw error;
  }
  const pending = new Set<Promise<void>>();
  server.on('request', (request, response) => {
    const done = handleRequest(context, request, response).finally(() => pending.delete(done));
    pending.add(done);
  });
  const stop = async (): Promise<void> => {
    const ended = once(server.close(), 'close');
    closing.abort();
    server.closeAllConnections();
    await Promise.all([ended, ...pending]);
    context.store.close();
    context.limiter.close();
  };
  let closed: Promise<void> | undefined;
  return { port, baseUrl: `http://127.0.0.1:${port}/v1`, close: () => (closed ??= stop()) };
}

/** Starts the sandbox that a command with the profile `sandbox` uses: any free port, the Free plan. */
export async function startEmbedded(options: {
  readonly dataFile: string;
  readonly clock: Clock;
}): Promise<RunningSandbox & { readonly key: string }> {
  const sandbox = await startServer({ ...options, port: 0, keys: [SANDBOX_KEY], limits: PLANS.free });
  return { ...sandbox, key: SANDBOX_KEY };
}

function openContext(options: ServerOptions, closing: AbortSignal): SandboxContext {
  const { clock, seed, dataFile } = options;
  return {
    ...options,
    store: new Store(dataFile, options),
    limiter: new Limiter(dataFile, options.limits, options),
    keyIds: identifyKeys(options.keys),
    random: seed === undefined ? () => clock.random() : seededRandom(seed),
    closing,
  };
}
