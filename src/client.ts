// The service for programs: `import { createClient } from 'petstore-cli'`. The command line's limits and retries, no terminal.
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

/** The service, for one address and key. */
export interface Client extends Api {
  /** @returns what is left of the rate limit, as the last replies said; nothing is sent */
  quota(): QuotaView;
  /** Resolves when all that is under way has ended (`signal` ends it sooner); the client may not be used after. */
  close(): Promise<void>;
}

/**
 * Opens the service for a program. It shares the rate limit with every petstore process and client of the same key on
 * this machine: together they never send while a 429's wait runs, and no more than a window allows.
 * @param options address, key, and how patient to be
 * @returns the client; its operations throw PetstoreError, whose `kind` says what happened (`rate_limited`, `unknown_outcome`, …)
 * @throws PetstoreError `usage` for no address or a bad one, `auth` for a key that is missing, empty or malformed
 * @example
 * const client = createClient({ baseUrl: 'https://pets.example/v1', apiKey: process.env.PETSTORE_API_KEY });
 * for (const category of await client.categories.list()) console.log(String(category.id), category.name);
 * await client.close();
 */
export function createClient(options: ClientOptions): Client {
  // A program in JavaScript may forget the options altogether.
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
