// The sandbox for tests: `import { startSandbox } from 'petstore-cli/sandbox'`.
/// <reference lib="esnext.disposable" preserve="true" />

import { systemClock } from '../clock.ts';
import { checkOptions } from '../settings/check-options.ts';
import { startServer } from './server.ts';
import { SANDBOX_OPTIONS } from './settings.ts';

export interface SandboxOptions {
  /** On 127.0.0.1 (default: any free port). */
  readonly port?: number | undefined;
  /** The API keys to accept, each with its own rate limit (default: one key). */
  readonly keys?: readonly string[] | undefined;
  /** Rate limits such as `60/6s`, instead of a plan's; all of them apply. */
  readonly limits?: readonly string[] | undefined;
  /** The plan with the rate limits (default: `free`); `enterprise` has none. */
  readonly plan?: 'free' | 'pro' | 'business' | 'enterprise' | undefined;
  /** Faults to inject, KIND or KIND:PERCENT, such as `503:10` or `latency=300ms` (docs/cli.md, commands). */
  readonly faults?: readonly string[] | undefined;
  /** Seed for random faults (default: random). */
  readonly seed?: number | undefined;
  /** The format of `Retry-After` in a 429 (default: `seconds`). */
  readonly retryAfter?: 'seconds' | 'date' | 'none' | undefined;
  /** Path of the data files, without suffix (default: in memory). */
  readonly data?: string | undefined;
}

export interface Sandbox {
  /** `http://127.0.0.1:PORT/v1` */
  readonly url: string;
  /** The first of the accepted API keys. */
  readonly key: string;
  /** The options of `createClient` for the first key; for a sandbox in memory, `stateDir` is null. */
  readonly client: { readonly baseUrl: string; readonly apiKey: string; readonly stateDir: null | undefined };
  /** Resolves when the server has ended. */
  readonly close: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

/**
 * Starts the service of docs/service.md on loopback, in this process.
 * @throws PetstoreError `usage` for an unknown or unusable option or a port in use, `storage` for unusable data
 * @example
 * await using sandbox = await startSandbox({ plan: 'enterprise' });
 * await using client = createClient(sandbox.client);
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const given = checkOptions<SandboxOptions>(options, SANDBOX_OPTIONS, 'startSandbox');
  const { baseUrl, key, dataFile, close } = await startServer({ ...given, clock: systemClock, nameOf: String });
  const client = { baseUrl, apiKey: key, stateDir: dataFile === undefined ? null : undefined };
  return { url: baseUrl, key, client, close, [Symbol.asyncDispose]: close };
}
