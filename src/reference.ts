// The tables of exit codes, output formats and global options, from which help, man page, README and docs/cli.md are generated.

/** By kind of error; `retry` says whether a script may run the command again. */
export const EXIT_CODES = {
  internal: { code: 1, meaning: 'a bug in petstore', retry: 'report it' },
  usage: { code: 2, meaning: 'wrong usage or invalid input; nothing was sent', retry: 'after correcting it' },
  auth: { code: 3, meaning: 'no API key, or the service rejected it (401)', retry: 'after logging in' },
  rejected: { code: 4, meaning: 'the service rejected the request (4xx)', retry: 'after correcting it' },
  rate_limited: {
    code: 5,
    meaning: 'rate limited: the wait would exceed `--max-wait`, or no attempts are left',
    retry: 'at or after `error.retryAt`',
  },
  network: { code: 6, meaning: 'no response; nothing was changed', retry: 'yes' },
  service: {
    code: 7,
    meaning: 'server error on a read (5xx), invalid response, or redirect',
    retry: 'server error: yes; otherwise after correcting the base URL',
  },
  unknown_outcome: {
    code: 8,
    meaning: 'a create was sent, but no valid response was received; the category may exist',
    retry: 'after `petstore categories list`',
  },
  storage: { code: 9, meaning: 'storage error: local files or the state server', retry: 'after fixing it' },
  interrupted: {
    code: 130,
    meaning: 'Ctrl-C, or "no" to a prompt (143: SIGTERM)',
    retry: 'import: yes; create: after `petstore categories list`',
  },
} as const;

/** The kinds of error, as `--json` names them (docs/cli.md, exit codes). */
export type ErrorKind = keyof typeof EXIT_CODES;

export const FORMATS = ['table', 'json', 'ndjson', 'csv', 'tsv'] as const;

/** The values of the global options under commander's names (docs/cli.md, global options). */
export interface GlobalOptions {
  /** The value of `--profile` only; PETSTORE_PROFILE is read with the profiles, so that errors can name it. */
  readonly profile?: string;
  readonly json: boolean;
  readonly format: (typeof FORMATS)[number];
  /** Milliseconds. */
  readonly maxWait: number;
  readonly maxRetries: number;
  /** Milliseconds. */
  readonly timeout: number;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  readonly color: boolean;
}

export interface GlobalOption {
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
    description: 'profile to use instead of the active one: its base URL, key and quota',
    variable: 'PETSTORE_PROFILE',
  },
  { flags: '--json', description: 'print exactly one JSON document; errors are JSON on stderr' },
  {
    flags: '--max-wait <duration>',
    description: 'longest wait for the rate limit; if a longer one is needed, exit with code 5',
    variable: 'PETSTORE_MAX_WAIT',
    fallback: '2m',
  },
  {
    flags: '--max-retries <number>',
    description: 'retries per request after the first attempt',
    variable: 'PETSTORE_MAX_RETRIES',
    fallback: '4',
  },
  {
    flags: '--timeout <duration>',
    description: 'timeout per attempt, from connect to last byte',
    variable: 'PETSTORE_TIMEOUT',
    fallback: '30s',
  },
  { flags: '-q, --quiet', description: 'hide spinner, quota line and notices', variable: 'PETSTORE_QUIET' },
  { flags: '-v, --verbose', description: 'show every request and response on stderr, with the key redacted' },
  { flags: '--no-color', description: 'disable color', variable: 'NO_COLOR' },
];
