// The client library: `import { createClient } from 'petstore-cli'`, with the limits and retries of the command line.
import { createApi } from './api/categories.ts';
import type { Api, Category, NewCategory } from './api/types.ts';
import { parseStateUrl } from './append-log/state-url.ts';
import type { ClientOptions } from './client-options.ts';
import { readOptions } from './client-options.ts';
import { systemClock } from './clock.ts';
import type { ErrorKind } from './errors.ts';
import { PetstoreError } from './errors.ts';
import { createHttpClient } from './http/http-client.ts';
import { createTransport } from './http/transport.ts';
import type { HttpClient, Wait } from './http/types.ts';
import { checkKey } from './profiles/api-key.ts';
import { checkBaseUrl } from './profiles/base-url.ts';
import type { Ledger } from './rate-limit/ledger.ts';
import { openLedger } from './rate-limit/ledger.ts';
import { initialState } from './rate-limit/ledger-state.ts';
import type { QuotaView } from './rate-limit/quota-view.ts';
import { quotaView } from './rate-limit/quota-view.ts';
import { VERSION } from './version.ts';

export type { Category, ClientOptions, ErrorKind, NewCategory, QuotaView, Wait };
export { PetstoreError };

/** The service at one base URL, with one key. */
export interface Client extends Api {
  /** What is left of the rate limit according to the last response; nothing is sent. */
  quota(): QuotaView;
  /** Resolves when every request has ended; the client cannot be used afterwards. */
  close(): Promise<void>;
}

/**
 * Opens the service. All petstore processes and clients that use the same key share one rate limit.
 * @throws PetstoreError `usage` for a missing or invalid base URL, `auth` for a missing or malformed key. The operations
 *   throw PetstoreError, whose `kind` says what happened (`rate_limited`, `unknown_outcome`, …)
 * @example
 * const client = createClient({ baseUrl: 'https://pets.example/v1', apiKey: process.env.PETSTORE_API_KEY });
 * for (const category of await client.categories.list()) console.log(String(category.id), category.name);
 * await client.close();
 */
export function createClient(options: ClientOptions): Client {
  // JavaScript callers may omit the options.
  const given: Partial<ClientOptions> = options ?? {};
  const { url } = checkBaseUrl(given.baseUrl, 'baseUrl');
  const key = checkKey(given.apiKey, 'apiKey');
  const { world, signal, limits, onWait, onWarning } = readOptions(options);
  const { timeoutMs } = limits;
  const own = { identity: url, key, clock: systemClock, timeoutMs, onWarning };
  const openLocal = (): Ledger => openLedger({ ...own, stateDir: world.stateDir, tempDir: world.tempDir });
  const address = given.stateUrl && parseStateUrl(given.stateUrl, given.statePassword, 'stateUrl');
  let ledger = address ? undefined : openLocal();
  const open = async (): Promise<HttpClient> => {
    if (address) {
      const { StateServer } = await import('./append-log/state-server.ts');
      const { SharedLedger } = await import('./rate-limit/shared-ledger.ts');
      const server = new StateServer({ address, clock: systemClock });
      ledger = new SharedLedger({ ...own, server, openLocal });
    }
    const used = ledger ?? openLocal();
    const { clock } = used;
    const { env, nodeVersion } = world;
    const now = (): number => clock.now();
    const transport = createTransport({ baseUrl: url, key, version: VERSION, env, nodeVersion, now });
    return createHttpClient({ transport, ledger: used, clock, signal, limits, onWait });
  };
  let opened: Promise<HttpClient> | undefined;
  const httpClient: Pick<HttpClient, 'send'> = {
    async send(request) {
      opened ??= open();
      return (await opened).send(request);
    },
  };
  return {
    ...createApi(httpClient),
    quota: () => ledger?.view() ?? quotaView(initialState(), systemClock.now(), true),
    close: async () => (opened ? (await opened).close() : ledger?.close()),
  };
}
