// The errors of a state server: causes, whether a retry may help, and hints.
import { certificateProblem } from '../errors.ts';
import { escapeControls } from '../text/escape.ts';
import type { StateServerSettings } from './state-url.ts';

/** Why a call failed. The texts name neither the server nor a secret. */
interface Cause {
  readonly text: string;
  /** `unavailable`: a retry may help; `rejected`: the configuration is wrong. */
  readonly problem: 'unavailable' | 'rejected';
  /** `URL` and `PASSWORD` stand for the names of the settings; undefined if the cause may be temporary. */
  readonly hint: string | undefined;
}

export class StateServerError extends Error {
  override readonly name = 'StateServerError';
  readonly problem: Cause['problem'];
  readonly #hint: string | undefined;

  constructor({ text, problem, hint }: Cause) {
    super(text);
    this.problem = problem;
    this.#hint = hint;
  }

  /** The hint, with the names by which the user sets the server. */
  hint({ url, password }: StateServerSettings): string | undefined {
    return this.#hint?.replace('URL', url).replace('PASSWORD', password);
  }
}

function unavailable(text: string, hint?: string): Cause {
  return { text, problem: 'unavailable', hint };
}

function rejected(text: string, hint: string): Cause {
  return { text, problem: 'rejected', hint };
}

export const DATA_LOST = unavailable('it keeps no data', 'correct URL');
export const CLOSED = unavailable('connection closed');
const NO_ROUTE = unavailable('no route to the host');
export const NO_TLS = unavailable('the TLS handshake timed out', 'use redis:// in URL if the server does not use TLS');
const FOREIGN = unavailable('it is not a Valkey or Redis server', 'correct URL');
const UNTRUSTED = rejected(
  'its certificate is not trusted',
  'set NODE_EXTRA_CA_CERTS to the certificate file of a trusted authority',
);

const CONNECTION_CAUSES: Readonly<Record<string, Cause>> = {
  ECONNREFUSED: unavailable('connection refused'),
  ENOTFOUND: unavailable('host not found', 'correct URL'),
  EAI_AGAIN: unavailable('name resolution is unavailable', "check this machine's network connection"),
  ETIMEDOUT: unavailable('timed out'),
  EHOSTUNREACH: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
};

/** The permissions that a user needs (docs/fleet.md). */
const PERMISSIONS = '~petstore:* +eval +info +time +exists +del +pexpire +xadd +xrange +xlen';

/** The causes of error replies, by a pattern that the reply matches. */
const REPLY_CAUSES: readonly (readonly [RegExp, Cause])[] = [
  [/^NOAUTH/, rejected('it requires a password', 'set PASSWORD')],
  [
    /^(?:WRONGPASS|ERR invalid password|ERR AUTH )/,
    rejected('user name or password rejected', 'check PASSWORD and the user in URL'),
  ],
  [/NOPERM|can't (?:run this command|access)/, rejected('permission denied', `grant the user in URL ${PERMISSIONS}`)],
  [/^WRONGTYPE/, rejected('another program uses its key in the database', 'name another database in URL')],
  [/\bOOM\b/, unavailable('it is out of memory', 'increase maxmemory on the state server')],
  [/\bMISCONF\b/, unavailable('it cannot save to disk', 'free some disk space on the state server')],
  [/\bNOREPLICAS\b/, unavailable('it has too few replicas')],
  [/\b(?:READONLY|MASTERDOWN)\b/, unavailable('it is a read-only replica')],
  [/\bLOADING\b/, unavailable('it is loading its data')],
  [/\bBUSY\b/, unavailable('it is running a slow script')],
  [/max number of clients/, unavailable('it has too many connections')],
  [/\b(?:CLUSTERDOWN|TRYAGAIN)\b/, unavailable('its cluster is down')],
];

/** @param database the number of the database that the connection selects */
export function replyError({ message }: Error, database: number): StateServerError {
  if (message.includes('DB index'))
    return new StateServerError(rejected(`it has no database ${database}`, 'correct the number at the end of URL'));
  const [, cause] = REPLY_CAUSES.find(([pattern]) => pattern.test(message)) ?? [];
  // The server appends the position in the script at which the command failed.
  const text = escapeControls(message.replace(/\n.*| script: .*/s, '')).slice(0, 200);
  return new StateServerError(cause ?? rejected(text, 'correct URL'));
}

/** Sets no `cause`: the library's error contains the arguments of the command, such as a password. */
export function connectionError({ code = '', message }: NodeJS.ErrnoException): StateServerError {
  if (certificateProblem(code) !== undefined) return new StateServerError(UNTRUSTED);
  if (message.startsWith('Protocol error')) return new StateServerError(FOREIGN);
  return new StateServerError(CONNECTION_CAUSES[code] ?? CLOSED);
}
