// The tables of exit codes, output formats, global options and environment variables, from which help, README.md and docs/cli.md are generated.
import type { ErrorKind } from '../errors.ts';

/** By kind of error; `retry` says whether a script may run the command again. */
export const EXIT_CODES = {
  internal: { code: 1, meaning: 'a bug in petstore', retry: 'report the bug' },
  usage: { code: 2, meaning: 'wrong usage or invalid input; nothing was changed', retry: 'after correcting the input' },
  auth: { code: 3, meaning: 'no API key, or an API key that the service rejected (401)', retry: 'after logging in' },
  rejected: {
    code: 4,
    meaning: 'the service rejected the request (4xx), or the category does not exist or is ambiguous',
    retry: 'after correcting the request',
  },
  rate_limited: {
    code: 5,
    meaning: 'rate limited: the wait would exceed `--max-wait`, or no attempts are left',
    retry: 'at or after `error.retryAt`',
  },
  network: { code: 6, meaning: 'no complete response; the request changed nothing', retry: 'yes' },
  service: {
    code: 7,
    meaning: 'server error on a read (5xx), invalid response, or redirect',
    retry: 'server error other than 501: yes; otherwise follow `error.hint`',
  },
  unknown_outcome: {
    code: 8,
    meaning: 'a create or other change was sent, but no valid response was received; the change may have succeeded',
    retry: 'import: follow `error.hint`; otherwise after `petstore categories list`',
  },
  storage: { code: 9, meaning: 'storage error: local files or the state server', retry: 'after fixing the cause' },
  interrupted: {
    code: 130,
    meaning: 'Ctrl-C, or "no" to a prompt (143: SIGTERM)',
    retry: 'import: yes; create: after `petstore categories list`',
  },
} as const satisfies Readonly<Record<ErrorKind, { code: number; meaning: string; retry: string }>>;

/** The errors of a command that changes something: each kind but a bug. */
export const CHANGE_ERRORS = (Object.keys(EXIT_CODES) as ErrorKind[]).filter((kind) => kind !== 'internal');

/** The errors of a command whose requests change nothing. */
export const READ_ERRORS = CHANGE_ERRORS.filter((kind) => kind !== 'unknown_outcome');

export const FORMATS = ['table', 'json', 'ndjson', 'csv', 'tsv'] as const;

interface GlobalOption {
  /** In commander's syntax. */
  readonly flags: string;
  readonly description: string;
  /** The environment variable that sets the option if it is not typed. */
  readonly variable?: string | undefined;
  /** The default, as a user would type it. */
  readonly fallback?: string | undefined;
}

export const GLOBAL_OPTIONS: readonly GlobalOption[] = [
  {
    flags: '-p, --profile <name>',
    description: 'use this profile instead of the active one',
    variable: 'PETSTORE_PROFILE',
  },
  { flags: '--json', description: 'print one JSON document; messages are JSON on stderr' },
  {
    flags: '--max-wait <duration>',
    description: 'longest wait for the rate limit',
    variable: 'PETSTORE_MAX_WAIT',
    fallback: '2m',
  },
  {
    flags: '--max-retries <number>',
    description: 'retries per request',
    variable: 'PETSTORE_MAX_RETRIES',
    fallback: '4',
  },
  {
    flags: '--timeout <duration>',
    description: 'timeout per attempt',
    variable: 'PETSTORE_TIMEOUT',
    fallback: '30s',
  },
  { flags: '-q, --quiet', description: 'hide spinner, quota line and notices', variable: 'PETSTORE_QUIET' },
  { flags: '-v, --verbose', description: 'show requests with status and headers, without the key' },
  { flags: '--no-color', description: 'disable color', variable: 'NO_COLOR' },
];

/** The names of the help topics, and the parts of the reference that they show. */
export const HELP_TOPICS = new Map([
  ['exit-codes', 'exitCodes'],
  ['environment', 'environment'],
] as const);

export const ENVIRONMENT = Object.entries({
  PETSTORE_PROFILE: 'profile to use instead of the active one',
  PETSTORE_MAX_WAIT: 'default for --max-wait',
  PETSTORE_MAX_RETRIES: 'default for --max-retries',
  PETSTORE_TIMEOUT: 'default for --timeout',
  PETSTORE_API_KEY: 'API key; overrides a saved one',
  PETSTORE_API_KEY_COMMAND: 'command that prints the API key; ignored if PETSTORE_API_KEY is set',
  PETSTORE_BASE_URL: 'base URL of the service, ending in /v1; overrides a saved one',
  PETSTORE_QUIET: 'same as --quiet unless empty, 0 or false',
  PETSTORE_CONFIG_DIR: 'directory for profiles and keys (default on Linux: ~/.config/petstore)',
  PETSTORE_STATE_DIR: 'directory for quota, import locks and sandbox data (default on Linux: ~/.local/state/petstore)',
  PETSTORE_STATE_URL: 'Valkey or Redis server that several machines share, for example rediss://user@host:6379/0',
  PETSTORE_STATE_PASSWORD: 'password of the state server',
  NO_COLOR: 'disables color if non-empty',
  FORCE_COLOR: '1 to 3: color even if the stream is not a terminal; 0: none',
  HTTPS_PROXY: 'proxy for https; https_proxy overrides it',
  NO_PROXY: 'hosts that are reached without a proxy',
  NODE_EXTRA_CA_CERTS: 'file with additional certificate authorities',
}).map(([name, meaning]) => ({ name, meaning }));

/** The variables that no other program may see; the URL of a state server may contain a password. */
export const SECRET_VARIABLES = ['PETSTORE_API_KEY', 'PETSTORE_STATE_PASSWORD', 'PETSTORE_STATE_URL'];
