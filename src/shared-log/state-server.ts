// The client of the state server, a Valkey or Redis server: every call has a deadline, and no command is queued. The
// client reconnects on demand, and waits for a server that has responded before.
import { Redis, ReplyError } from 'iovalkey';
import type { Clock } from '../clock.ts';
import { PetstoreError } from '../errors.ts';
import { escapeControls } from '../text/escape.ts';
import { CLOSED, connectionError, NO_TLS, replyError, StateServerError } from './state-server-error.ts';
import type { StateServerConnection } from './state-url.ts';

// A restart or a failover takes about this long; calls do not wait for a server that never responded.
const PATIENCE_MS = 5000;
const RETRY_EVERY_MS = 100;
const REPLY_WITHIN_MS = 1000;
const INTERVALS = 20;
const WHEN_AVAILABLE = 'try again when the state server is available';

export type Reply = string | number | null | readonly Reply[];

export interface StateServerOptions {
  readonly connection: StateServerConnection;
  readonly clock: Clock;
  /** Called when a wait for the server begins. */
  readonly onOutage?: ((text: string) => void) | undefined;
  /** Timeout of each step (connect, reply), in milliseconds. */
  readonly timeoutMs?: number | undefined;
}

/**
 * What the calls so far have shown:
 *
 *     untried ──reply──▶ up ──5 s of failures──▶ down ──reply──▶ up          (any) ──close()──▶ closed
 *
 * Only a server that is `up` is worth a retry.
 */
type Health = 'untried' | 'up' | 'down' | 'closed';

export class StateServer {
  readonly #options: StateServerOptions;
  #health: Health = 'untried';
  #client: Redis | undefined;
  #opening: Promise<Redis> | undefined;
  /** Until then, a failure belongs to an outage that was reported. */
  #outageEndsAt = Number.NEGATIVE_INFINITY;

  constructor(options: StateServerOptions) {
    this.#options = options;
  }

  get tls(): boolean {
    return this.#options.connection.tls;
  }

  /** Host and port, as messages name the server. */
  get name(): string {
    const { host, port } = this.#options.connection;
    return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  }

  /**
   * Runs a Lua script. It may run twice: if the server has run a script before, a failed call is retried for 5 s while the
   * server is unavailable.
   * @throws StateServerError
   */
  async run(script: string, key: string, args: readonly (string | number)[]): Promise<Reply> {
    const { clock } = this.#options;
    // Each call has its own deadline, since a server may accept reads while it rejects writes.
    for (let deadline = Number.POSITIVE_INFINITY; ; ) {
      try {
        const reply = await this.#call('EVAL', script, 1, key, ...args);
        this.#become('up');
        return reply;
      } catch (error) {
        if (!this.isOutage(error)) throw error;
        const now = clock.monotonic();
        deadline = Math.min(deadline, now + PATIENCE_MS);
        if (this.#health === 'up' && now >= deadline) this.#become('down');
        if (this.#health !== 'up') throw error;
        this.#reportOutage(error.message, now);
        await clock.sleep(RETRY_EVERY_MS);
      }
    }
  }

  /**
   * Asks the server once, without a retry.
   * @returns the policy by which the server may delete keys; undefined if it deletes none
   * @throws StateServerError
   */
  async evictionPolicy(): Promise<string | undefined> {
    const info = String(await this.#call('INFO', 'memory'));
    const [, policy = 'noeviction'] = /^maxmemory_policy:(\S+)/m.exec(info) ?? [];
    return policy === 'noeviction' || /^maxmemory:0\r?$/m.test(info) ? undefined : escapeControls(policy);
  }

  /** Whether an error shows that the server is unavailable, rather than that it rejects the configuration. */
  isOutage(error: unknown): error is StateServerError {
    return error instanceof StateServerError && error.problem === 'unavailable';
  }

  /**
   * Converts a StateServerError: `usage` if the server rejects the configuration before it has run any script, otherwise
   * `storage`. Other errors are returned unchanged.
   * @param ifItMayPass the hint if the server is only unavailable now
   */
  toPetstoreError(error: unknown, ifItMayPass = WHEN_AVAILABLE): unknown {
    if (!(error instanceof StateServerError)) return error;
    const kind = error.problem === 'rejected' && this.#health === 'untried' ? 'usage' : 'storage';
    const hint = error.hint(this.#options.connection.settings) ?? ifItMayPass;
    const message = `cannot use state server ${this.name}: ${error.message}`;
    return new PetstoreError(kind, message, { hint });
  }

  /** Rejects the calls that have no reply yet, and all later ones. */
  close(): void {
    this.#become('closed');
    this.#disconnect(this.#client);
  }

  #become(health: Health): void {
    if (this.#health !== 'closed') this.#health = health;
  }

  #reportOutage(reason: string, now: number): void {
    const isNew = now > this.#outageEndsAt;
    this.#outageEndsAt = now + PATIENCE_MS;
    if (isNew) this.#options.onOutage?.(`cannot use state server ${this.name} (${reason}); retrying for up to 5s`);
  }

  async #call(command: string, ...args: (string | number)[]): Promise<Reply> {
    const client = await this.#connect();
    try {
      return await this.#within(client.call(command, ...args) as Promise<Reply>);
    } catch (error) {
      const isReply = error instanceof ReplyError;
      // After a missing reply, every later one would be late too; after a failover, a new connection may reach the new primary.
      if (!isReply || /\bREADONLY\b/.test(String(error))) this.#disconnect(client);
      throw isReply ? this.#replyError(error) : connectionError(error as Error);
    }
  }

  // Concurrent calls share one attempt to connect.
  #connect(): Promise<Redis> {
    if (this.#health === 'closed') return Promise.reject(new StateServerError(CLOSED));
    if (this.#client?.status === 'ready') return Promise.resolve(this.#client);
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<Redis> {
    const { host, port, tls, username, password, database } = this.#options.connection;
    const client = new Redis({
      host,
      port,
      ...(tls && { tls: {} }),
      lazyConnect: true,
      enableReadyCheck: false,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => null,
    });
    // Only this event carries the reason for a failed connection.
    let reason: unknown;
    client.on('error', (error: unknown) => {
      reason ??= error;
    });
    try {
      await this.#within(client.connect());
      // The library's own options would turn a failure into a warning on stderr.
      if (password !== undefined) await this.#within(client.call('AUTH', ...(username ? [username] : []), password));
      if (database !== 0) await this.#within(client.call('SELECT', database));
    } catch (error) {
      const isHandshake = tls && client.status === 'connecting' && client.stream?.connecting === false;
      client.disconnect();
      if (error instanceof ReplyError) throw this.#replyError(error);
      if (isHandshake && !reason) throw new StateServerError(NO_TLS);
      throw connectionError((reason ?? error) as Error);
    }
    this.#client = client;
    if (this.#health === 'closed') this.#disconnect(client);
    return client;
  }

  #replyError(error: unknown): StateServerError {
    return replyError(error as Error, this.#options.connection.database);
  }

  // Disconnects once: each call of the library's method adds a listener to the socket.
  #disconnect(client: Redis | undefined): void {
    if (client !== this.#client) return;
    this.#client = undefined;
    client?.disconnect();
  }

  // Counts intervals in which this process ran: a process without CPU time must not blame the server.
  async #within<T>(work: Promise<T>): Promise<T> {
    const { timeoutMs = REPLY_WITHIN_MS } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      let left = INTERVALS;
      timer = setInterval(() => {
        if (left-- === 0) reject(Object.assign(new Error('no reply'), { code: 'ETIMEDOUT' }));
      }, timeoutMs / INTERVALS);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearInterval(timer);
    }
  }
}
