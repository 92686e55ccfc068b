// One connection to a Valkey or Redis server: every call has a deadline, nothing is queued and nothing is sent twice.
import { Redis, ReplyError } from 'iovalkey';
import { escapeControls } from '../escape.ts';

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
  /** The setting that contains the address, for hints: `PETSTORE_STATE_URL` or the library's `stateUrl`. */
  readonly from?: string;
}

export type Reply = string | number | null | readonly Reply[];

/** `unavailable`: a retry may help; `rejected`: the password, permissions or certificate are wrong. */
export type StateServerProblem = 'unavailable' | 'rejected';

/** A call that failed. The message names neither the server nor a secret. */
export class StateServerError extends Error {
  override readonly name = 'StateServerError';
  readonly problem: StateServerProblem;

  constructor(message: string, problem: StateServerProblem) {
    super(message);
    this.problem = problem;
  }
}

const REPLY_WITHIN_MS = 1000;
const TICKS = 20;
// Error replies of a server that is starting, failing over or full; all others concern the configuration.
const TEMPORARY =
  /\b(?:LOADING|READONLY|OOM|MISCONF|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|max number of clients)\b/;
const UNTRUSTED = /^(?:CERT_|ERR_TLS_CERT|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|INVALID_CA)/;
const BY_CODE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host not found',
  ETIMEDOUT: 'timed out',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the host',
};

export class ValkeyConnection {
  readonly #client: Redis;
  readonly #timeoutMs: number;
  #failure: unknown;
  #closed = false;

  private constructor(address: ServerAddress, timeoutMs: number) {
    const { host, port, tls } = address;
    this.#timeoutMs = timeoutMs;
    this.#client = new Redis({
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
    // Only this event has the reason why a connection ended.
    this.#client.on('error', (error: unknown) => {
      this.#failure ??= error;
    });
  }

  /** @throws StateServerError if connecting or logging in fails, or takes longer than `timeoutMs` */
  static async open(address: ServerAddress, timeoutMs = REPLY_WITHIN_MS): Promise<ValkeyConnection> {
    const { username, password, database } = address;
    const connection = new ValkeyConnection(address, timeoutMs);
    try {
      await connection.#within(connection.#client.connect());
      if (password !== undefined) await connection.#send('AUTH', ...(username ? [username] : []), password);
      if (database !== 0) await connection.#send('SELECT', database);
    } catch (error) {
      connection.close();
      throw toStateServerError(connection.#failure ?? error);
    }
    return connection;
  }

  get open(): boolean {
    return !this.#closed && this.#client.status === 'ready';
  }

  /** Runs a Lua script, which the server caches. */
  run(script: string, key: string, args: readonly (string | number)[]): Promise<Reply> {
    return this.#call('EVAL', script, 1, key, ...args);
  }

  /** @returns the fields of `INFO`, for example `run_id` */
  async info(): Promise<ReadonlyMap<string, string>> {
    const text = String(await this.#call('INFO'));
    return new Map([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name = '', value = '']) => [name, value]));
  }

  /** Rejects the calls that have no reply yet. */
  close(): void {
    // Each call of the client adds a listener to the socket.
    if (this.#closed) return;
    this.#closed = true;
    this.#client.disconnect();
  }

  // Counts ticks instead of time, so that a process without CPU time does not blame the server.
  async #within<T>(work: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      let ticks = 0;
      timer = setInterval(() => {
        if (++ticks > TICKS) reject(Object.assign(new Error('no reply'), { code: 'ETIMEDOUT' }));
      }, this.#timeoutMs / TICKS);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearInterval(timer);
    }
  }

  async #send(command: string, ...args: (string | number)[]): Promise<Reply> {
    return (await this.#within(this.#client.call(command, ...args))) as Reply;
  }

  async #call(command: string, ...args: (string | number)[]): Promise<Reply> {
    try {
      return await this.#send(command, ...args);
    } catch (error) {
      if (error instanceof ReplyError) {
        // After a failover, a new connection may reach the new primary.
        if (/\bREADONLY\b/.test(String(error))) this.close();
        throw toStateServerError(error);
      }
      // After a missing reply, every later reply would be late too.
      this.close();
      throw toStateServerError(this.#failure ?? error);
    }
  }
}

// Sets no `cause`: the library's error contains the arguments of the command, such as a password.
function toStateServerError(error: unknown): StateServerError {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (error instanceof ReplyError) {
    return new StateServerError(replyText(message), TEMPORARY.test(message) ? 'unavailable' : 'rejected');
  }
  if (UNTRUSTED.test(code)) return new StateServerError('its certificate is not trusted', 'rejected');
  if (message.startsWith('Protocol error')) {
    return new StateServerError('it is not a Valkey or Redis server', 'unavailable');
  }
  return new StateServerError(BY_CODE[code] ?? 'connection closed', 'unavailable');
}

function replyText(message: string): string {
  if (/^(?:WRONGPASS|NOAUTH|ERR invalid password|ERR AUTH )/.test(message)) return 'user name or password rejected';
  if (/NOPERM|can't (?:run this command|access)/.test(message)) return 'permission denied';
  // The server adds where in the script the command failed.
  return escapeControls(message.replace(/\n.*| script: .*/s, '')).slice(0, 200);
}
