// The sandbox behind the profile `sandbox`: served by the command itself, over real HTTP, for as long as it runs.
import type { Clock } from '../clock.ts';
import { PLANS } from './plans.ts';
import { startSandbox } from './server.ts';

/**
 * The sandbox's key where none is chosen: it opens nothing but a server on loopback that no web page can speak to.
 */
export const SANDBOX_KEY = 'sandbox_0123456789abcdef';

/** A sandbox inside this process. */
export interface EmbeddedSandbox {
  /** `http://127.0.0.1:PORT/v1`, on any free port. */
  readonly baseUrl: string;
  readonly key: string;
  close(): Promise<void>;
}

/**
 * Starts the sandbox on the Free plan (service.md, section 8).
 * @param options `dataFile`: its data and windows, shared with every process on the same file, see `placeOf`
 * @returns resolves when it listens
 * @throws errors of the file system as they come
 */
export async function startEmbedded(options: {
  readonly dataFile: string;
  readonly clock: Clock;
}): Promise<EmbeddedSandbox> {
  const sandbox = await startSandbox({ ...options, port: 0, keys: [SANDBOX_KEY], limits: PLANS.free });
  return { baseUrl: sandbox.baseUrl, key: SANDBOX_KEY, close: sandbox.close };
}
