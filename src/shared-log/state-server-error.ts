// The errors of a state server: causes, whether a retry may help, and hints.
import { certificateProblem } from '../errors.ts';
import { escapeControls } from '../text/escape.ts';
import type { StateServerSettings } from './state-url.ts';

/** Words a hint with the names by which the user sets the server. */
type Hint = (settings: StateServerSettings) => string;

/** Why a call failed. The texts name neither the server nor a secret. */
interface Cause {
  readonly text: string;
  /** `unavailable`: a retry may help; `rejected`: the configuration is wrong. */
  readonly problem: 'unavailable' | 'rejected';
  /** Undefined if the cause may be temporary. */
  readonly hint: Hint | undefined;
}

export class StateServerError extends Error {
  override readonly name = 'StateServerError';
  readonly problem: Cause['problem'];
  readonly hint: Hint | undefined;

  constructor({ text, problem, hint }: Cause) {
    super(text);
    this.problem = problem;
    this.hint = hint;
  }
}

function unavailable(text: string, hint?: Hint): Cause {
  return { text, problem: 'unavailable', hint };
}

function rejected(text: string, hint: Hint): Cause {
  return { text, problem: 'rejected', hint };
}

export const DATA_LOST = unavailable('it keeps no data', ({ url }) => `correct ${url}`);
export const CLOSED = unavailable('connection closed');
const NO_ROUTE = unavailable('no route to the host');
export const NO_TLS = unavailable(
  'the TLS handshake timed out',
  ({ url }) => `use redis:// in ${url} if the server does not use TLS`,
);
const FOREIGN = unavailable('it is not a Valkey or Redis server', ({ url }) => `correct ${url}`);
const UNTRUSTED = rejected(
  'its certificate is not trusted',
  () => 'set NODE_EXTRA_CA_CERTS to the certificate file of a trusted authority',
);

const CONNECTION_CAUSES: Readonly<Record<string, Cause>> = {
  ECONNREFUSED: unavailable('connection refused'),
  ENOTFOUND: unavailable('host not found', ({ url }) => `correct ${url}`),
  EAI_AGAIN: unavailable('name resolution is unavailable', () => "check this machine's network connection"),
  ETIMEDOUT: unavailable('timed out'),
  EHOSTUNREACH: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
};

/** The permissions that a user needs (docs/fleet.md). */
const PERMISSIONS = '~petstore:* +eval +info +time +exists +del +pexpire +xadd +xrange +xlen';

/** The causes of error replies, by a pattern that the reply matches. */
const REPLY_CAUSES: readonly (readonly [RegExp, Cause])[] = [
  [/^NOAUTH/, rejected('it requires a password', ({ password }) => `set ${password}`)],
  [
    /^(?:WRONGPASS|ERR invalid password|ERR AUTH )/,
    rejected('user name or password rejected', ({ url, password }) => `check ${password} and the user in ${url}`),
  ],
  [
    /NOPERM|can't (?:run this command|access)/,
    rejected('permission denied', ({ url }) => `grant the user in ${url} ${PERMISSIONS}`),
  ],
  [
    /^WRONGTYPE/,
    rejected('another program uses its key in the database', ({ url }) => `name another database in ${url}`),
  ],
  [/\bOOM\b/, unavailable('it is out of memory', () => 'increase maxmemory on the state server')],
  [/\bMISCONF\b/, unavailable('it cannot save to disk', () => 'free some disk space on the state server')],
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
    return new StateServerError(
      rejected(`it has no database ${database}`, ({ url }) => `correct the number at the end of ${url}`),
    );
  const [, cause] = REPLY_CAUSES.find(([pattern]) => pattern.test(message)) ?? [];
  // The server appends the position in the script at which the command failed.
  const text = escapeControls(message.replace(/\n.*| script: .*/s, '')).slice(0, 200);
  return new StateServerError(cause ?? rejected(text, ({ url }) => `correct ${url}`));
}

/** Sets no `cause`: the library's error contains the arguments of the command, such as a password. */
export function connectionError({ code = '', message }: NodeJS.ErrnoException): StateServerError {
  if (certificateProblem(code) !== undefined) return new StateServerError(UNTRUSTED);
  if (message.startsWith('Protocol error')) return new StateServerError(FOREIGN);
  return new StateServerError(CONNECTION_CAUSES[code] ?? CLOSED);
}
