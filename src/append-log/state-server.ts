// The client of the state server: reconnects on demand, and waits for a server that has responded before.
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../escape.ts';
import type { Reply, ServerAddress } from './valkey-connection.ts';
import { StateServerError, ValkeyConnection } from './valkey-connection.ts';

// A restart or a failover takes about this long; a server that never responded is not waited for.
const PATIENCE_MS = 5000;
const RETRY_EVERY_MS = 100;

// The hints for the reasons of a rejection (valkey-connection.ts).
const hintsFor = (setting: string): Readonly<Record<string, string>> => ({
  'user name or password rejected': `check ${setting.replace('URL', 'PASSWORD').replace('Url', 'Password')} and the user in ${setting}`,
  'permission denied': `grant the user in ${setting} the permissions that docs/fleet.md lists`,
  'its certificate is not trusted': 'set NODE_EXTRA_CA_CERTS to the certificate file of the authority to trust',
});

export interface StateServerOptions {
  readonly address: ServerAddress;
  readonly clock: Clock;
  /** Called when a wait for the server begins. */
  readonly onOutage?: ((text: string) => void) | undefined;
  /** Timeout of each step (connect, reply), in milliseconds. */
  readonly timeoutMs?: number | undefined;
}

export class StateServer {
  readonly #options: StateServerOptions;
  #connection: ValkeyConnection | undefined;
  #opening: Promise<ValkeyConnection> | undefined;
  /** Whether it has responded, and no call has failed for 5 s since. */
  #isUp = false;
  #isClosed = false;
  #failedAt = Number.NEGATIVE_INFINITY;
  /** Whether the server has run a script: a user may be permitted to run `INFO` only. */
  #accepted = false;

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
   * Runs a script and retries it while the server is unavailable; the script must be safe to run twice.
   * @throws StateServerError
   */
  async run(script: string, key: string, args: readonly (string | number)[]): Promise<Reply> {
    const reply = await this.#patiently((connection) => connection.run(script, key, args));
    this.#accepted = true;
    return reply;
  }

  /** @throws StateServerError */
  async evictionPolicy(): Promise<string | undefined> {
    const info = await this.#patiently((connection) => connection.info());
    const policy = info.get('maxmemory_policy') ?? 'noeviction';
    return policy === 'noeviction' || info.get('maxmemory') === '0' ? undefined : escapeControls(policy);
  }

  /**
   * @returns why the server is unavailable
   * @throws every other error; PetstoreError `usage` or `storage` if the server rejects the configuration
   */
  outageReason(error: unknown): string {
    if (error instanceof StateServerError && error.problem === 'unavailable') return error.message;
    throw this.toPetstoreError(error);
  }

  /** The error of a command that requires the server: `usage` if the server rejects its first script, otherwise `storage`. */
  toPetstoreError(error: unknown): unknown {
    if (!(error instanceof StateServerError)) return error;
    const message = `cannot use state server ${this.name}: ${error.message}`;
    if (error.problem === 'unavailable') {
      return new PetstoreError('storage', message, {
        hint: 'run the same command again when the state server is available',
      });
    }
    const kind = this.#accepted ? 'storage' : 'usage';
    const { database, from = 'PETSTORE_STATE_URL' } = this.#options.address;
    if (/DB index/.test(error.message)) {
      const hint = `correct the number at the end of ${from}`;
      return new PetstoreError(kind, `state server ${this.name} has no database ${database}`, { hint });
    }
    return new PetstoreError(kind, message, { hint: hintsFor(from)[error.message] ?? `correct ${from}` });
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.close();
    this.#opening?.then(
      (connection) => connection.close(),
      () => undefined,
    );
  }

  // Each call has its own patience, since a server may answer reads while it refuses writes.
  async #patiently<T>(work: (connection: ValkeyConnection) => Promise<T>): Promise<T> {
    const { clock } = this.#options;
    for (let failingSince: number | undefined; ; ) {
      try {
        const result = await work(await this.#connect());
        this.#isUp = true;
        return result;
      } catch (error) {
        if (!(error instanceof StateServerError) || error.problem !== 'unavailable') throw error;
        const now = clock.monotonic();
        failingSince ??= now;
        if (now - failingSince >= PATIENCE_MS) this.#isUp = false;
        const isNew = now - this.#failedAt > PATIENCE_MS;
        this.#failedAt = now;
        if (!this.#isUp) throw error;
        if (isNew) this.#reportOutage(error.message);
        await clock.sleep(RETRY_EVERY_MS);
      }
    }
  }

  #reportOutage(reason: string): void {
    if (this.#isClosed) return;
    this.#options.onOutage?.(`state server ${this.name} is not responding (${reason}); retrying for up to 5s`);
  }

  // Concurrent calls share one attempt to connect.
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
