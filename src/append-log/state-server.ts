// The state server as its users see it: one address, reconnected when needed, waited for when it has answered before.
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import type { Reply, Script, ServerAddress } from './valkey-connection.ts';
import { StateServerError, ValkeyConnection } from './valkey-connection.ts';

// A restart or a failover takes about this long; a server that never answered is not waited for.
const PATIENCE_MS = 5000;
const RETRY_EVERY_MS = 100;

export interface StateServerOptions {
  readonly address: ServerAddress;
  readonly clock: Clock;
  /** Called when a wait for the server begins. */
  readonly onOutage?: ((text: string) => void) | undefined;
  /** Per step (connect, reply), milliseconds. */
  readonly timeoutMs?: number | undefined;
}

export class StateServer {
  readonly #options: StateServerOptions;
  #connection: ValkeyConnection | undefined;
  #opening: Promise<ValkeyConnection> | undefined;
  #answered = false;
  #downSince: number | undefined;

  constructor(options: StateServerOptions) {
    this.#options = options;
  }

  get tls(): boolean {
    return this.#options.address.tls;
  }

  /** Host and port, as messages name the server. */
  get name(): string {
    const { host, port } = this.#options.address;
    return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  }

  /**
   * Runs a script, again after a failure for as long as the server is waited for: it must be safe to run twice.
   * @throws StateServerError
   */
  run(script: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<Reply> {
    return this.#patiently((connection) => connection.run(script, keys, args));
  }

  /**
   * Works with the server where a failure ends the command.
   * @throws PetstoreError `usage` where the server rejects the configuration, `storage` where it cannot be reached
   */
  async checked<T>(work: (connection: ValkeyConnection) => Promise<T>): Promise<T> {
    try {
      return await this.#patiently(work);
    } catch (error) {
      throw this.toPetstoreError(error);
    }
  }

  /** The error of a command that cannot do without the server. */
  toPetstoreError(error: unknown): unknown {
    if (!(error instanceof StateServerError)) return error;
    const message = `the state server at ${this.name} cannot be used: ${error.message}`;
    if (!error.refused) {
      return new PetstoreError('storage', message, {
        hint: 'run the same command again when the server is back; `petstore doctor` checks it',
      });
    }
    return new PetstoreError('usage', message, {
      hint: '`petstore doctor` checks its address, certificate, password and permissions',
    });
  }

  close(): void {
    this.#connection?.close();
    this.#opening?.then(
      (connection) => connection.close(),
      () => undefined,
    );
  }

  async #patiently<T>(work: (connection: ValkeyConnection) => Promise<T>): Promise<T> {
    const { clock, onOutage } = this.#options;
    for (;;) {
      try {
        const result = await work(await this.#connect());
        this.#answered = true;
        this.#downSince = undefined;
        return result;
      } catch (error) {
        if (!(error instanceof StateServerError) || error.refused) throw error;
        const now = clock.monotonic();
        if (this.#answered && this.#downSince === undefined) {
          onOutage?.(`no answer from the state server at ${this.name} (${error.message}); waiting up to 5s`);
        }
        this.#downSince ??= now;
        if (!this.#answered || now - this.#downSince >= PATIENCE_MS) throw error;
        await clock.sleep(RETRY_EVERY_MS);
      }
    }
  }

  // Calls made at the same time share one attempt to connect.
  #connect(): Promise<ValkeyConnection> {
    if (this.#connection?.open) return Promise.resolve(this.#connection);
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<ValkeyConnection> {
    try {
      this.#connection = await ValkeyConnection.open(this.#options.address, this.#options.timeoutMs);
      return this.#connection;
    } finally {
      this.#opening = undefined;
    }
  }
}
