// The errors of a state server.
import { escapeControls } from '../escape.ts';

/** A call that failed. The message names neither the server nor a secret. */
export class StateServerError extends Error {
  override readonly name = 'StateServerError';
  /** `unavailable`: a retry may help; `rejected`: the password, permissions or certificate are wrong. */
  readonly problem: 'unavailable' | 'rejected';

  constructor(message: string, problem: 'unavailable' | 'rejected') {
    super(message);
    this.problem = problem;
  }
}

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

/**
 * Sets no `cause`: the library's error contains the arguments of the command, such as a password.
 * @param isReply whether it is the server's reply, otherwise the connection failed
 */
export function toStateServerError(error: unknown, isReply: boolean): StateServerError {
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (isReply) return new StateServerError(reasonIn(message), TEMPORARY.test(message) ? 'unavailable' : 'rejected');
  if (UNTRUSTED.test(code)) return new StateServerError('its certificate is not trusted', 'rejected');
  const isForeign = message.startsWith('Protocol error');
  const reason = isForeign ? 'it is not a Valkey or Redis server' : (BY_CODE[code] ?? 'connection closed');
  return new StateServerError(reason, 'unavailable');
}

function reasonIn(reply: string): string {
  if (/^(?:WRONGPASS|NOAUTH|ERR invalid password|ERR AUTH )/.test(reply)) return 'user name or password rejected';
  if (/NOPERM|can't (?:run this command|access)/.test(reply)) return 'permission denied';
  if (/^WRONGTYPE\b/.test(reply)) return 'another program uses a key of its name';
  // The server adds where in the script the command failed.
  return escapeControls(reply.replace(/\n.*| script: .*/s, '')).slice(0, 200);
}
