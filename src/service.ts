// The service with one key: its ledger, HTTP client and operations, each opened at its first use, for the command line and the
// library.
import type { Categories } from './api/categories.ts';
import type { HttpClient } from './http/http-client.ts';
import type { HttpClientOptions } from './http/types.ts';
import { initialState } from './rate-limit/key-state.ts';
import type { Ledger } from './rate-limit/ledger.ts';
import type { MachineOptions } from './rate-limit/machine-ledger.ts';
import { openMachineLedger } from './rate-limit/machine-ledger.ts';
import type { Quota } from './rate-limit/quota.ts';
import { quotaOf } from './rate-limit/quota.ts';
import type { StateServer, StateServerOptions } from './shared-log/state-server.ts';

interface Endpoint {
  readonly baseUrl: string;
  readonly key: string;
  close?(): Promise<void>;
}

export interface ServiceOptions extends MachineOptions, Omit<HttpClientOptions, 'ledger' | 'transport'> {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The version of this program, for `User-Agent`. */
  readonly version: string;
  /** The server of the ledger; without one, the ledger is on this machine. */
  readonly stateServer?: StateServerOptions | undefined;
  /** Opens the endpoint before the first request; `close` closes it. Default: the endpoint for the ledger's base URL and key. */
  readonly openEndpoint?: (() => Promise<Endpoint>) | undefined;
  /** Receives the trace of each request and response, line by line. */
  readonly onTrace?: ((line: string) => void) | undefined;
}

export class Service {
  readonly #options: ServiceOptions;
  #stateServer: StateServer | undefined;
  #ledger: Promise<Ledger> | undefined;
  #openedLedger: Ledger | undefined;
  #client: Promise<HttpClient> | undefined;
  #endpoint: Endpoint | undefined;

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  /** The server that shares state among machines, if there is one. */
  async stateServer(): Promise<StateServer | undefined> {
    const options = this.#options.stateServer;
    if (!options) return undefined;
    const { StateServer } = await import('./shared-log/state-server.ts');
    this.#stateServer ??= new StateServer(options);
    return this.#stateServer;
  }

  ledger(): Promise<Ledger> {
    this.#ledger ??= this.#openLedger();
    return this.#ledger;
  }

  /** @throws PetstoreError `usage` for an invalid proxy variable; errors of `openEndpoint` */
  httpClient(): Promise<HttpClient> {
    this.#client ??= this.#openClient();
    return this.#client;
  }

  /** Throws as `httpClient` does. */
  async categories(): Promise<Categories> {
    const { createCategories } = await import('./api/categories.ts');
    return createCategories(await this.httpClient());
  }

  /** The rate limit as of the last response. With a state server, nothing is known before the ledger is opened. */
  quota(): Quota {
    if (!this.#options.stateServer) this.#openedLedger ??= openMachineLedger(this.#options);
    return this.#openedLedger?.quota() ?? { ...quotaOf(initialState(), 0), shared: false, stateServer: null };
  }

  /** Waits for requests in progress. */
  async close(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    await (client ?? this.#openedLedger)?.close();
    this.#stateServer?.close();
    await this.#endpoint?.close?.();
  }

  async #openLedger(): Promise<Ledger> {
    const server = await this.stateServer();
    if (server) {
      const { openSharedLedger } = await import('./rate-limit/shared-ledger.ts');
      this.#openedLedger = openSharedLedger(server, this.#options);
    }
    this.#openedLedger ??= openMachineLedger(this.#options);
    return this.#openedLedger;
  }

  async #openClient(): Promise<HttpClient> {
    const { env, version, clock, openEndpoint, onTrace } = this.#options;
    const loading = Promise.all([import('./http/transport.ts'), import('./http/http-client.ts')]);
    const ledger = await this.ledger();
    const [{ createTransport }, { HttpClient }] = await loading;
    this.#endpoint = (await openEndpoint?.()) ?? this.#options;
    const { baseUrl, key } = this.#endpoint;
    let transport = createTransport({ baseUrl, key, version, env, now: () => clock.now() });
    if (onTrace) {
      const { withTracing } = await import('./http/trace.ts');
      transport = withTracing(transport, baseUrl, clock, onTrace);
    }
    return new HttpClient({ ...this.#options, ledger, transport });
  }
}
