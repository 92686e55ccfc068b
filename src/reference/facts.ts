// What the commands share and no definition holds: exit codes, environment, shells (contract, sections 2 and 3), and how an
// option is told of.
import type { Option } from 'commander';
import type { ErrorKind } from '../errors.ts';

/** The shells there is a completion script for. */
export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;

/** One of the shells. */
export type Shell = (typeof SHELLS)[number];

/** An exit code and what it means. */
export interface ExitMeaning {
  readonly code: number;
  /** The `kind` of the JSON error; success has none. */
  readonly kind?: ErrorKind;
  readonly meaning: string;
}

/** The exit codes of every command. */
export const EXIT_MEANINGS: readonly ExitMeaning[] = [
  { code: 0, meaning: 'done' },
  { code: 1, kind: 'internal', meaning: 'a fault of this program' },
  { code: 2, kind: 'usage', meaning: 'wrong usage or invalid input; nothing was sent' },
  { code: 3, kind: 'auth', meaning: 'no key, or the service did not accept it (401)' },
  { code: 4, kind: 'rejected', meaning: 'the service rejected the request (400 and other 4xx)' },
  { code: 5, kind: 'rate_limited', meaning: 'rate limited for longer than --max-wait, or still after the last try' },
  { code: 6, kind: 'network', meaning: 'the service could not be reached; nothing was changed' },
  { code: 7, kind: 'service', meaning: 'the service failed a read (5xx), broke its contract, or redirects' },
  { code: 8, kind: 'unknown_outcome', meaning: 'a create was sent and no trustworthy answer came: it may exist' },
  { code: 9, kind: 'storage', meaning: 'own files (config, state, journal) cannot be read or written' },
  { code: 130, kind: 'interrupted', meaning: 'interrupted (Ctrl-C), or a question answered with no' },
  { code: 143, kind: 'interrupted', meaning: 'terminated (SIGTERM); 129 after SIGHUP' },
];

/** The environment variables that are read. */
export const ENVIRONMENT: readonly { readonly name: string; readonly meaning: string }[] = [
  { name: 'PETSTORE_API_KEY', meaning: 'the API key; goes before a stored one' },
  { name: 'PETSTORE_BASE_URL', meaning: "the service's base URL, ending in /v1; goes before a stored one" },
  { name: 'PETSTORE_PROFILE', meaning: 'the profile, as --profile' },
  { name: 'PETSTORE_MAX_WAIT', meaning: 'as --max-wait' },
  { name: 'PETSTORE_MAX_RETRIES', meaning: 'as --max-retries' },
  { name: 'PETSTORE_TIMEOUT', meaning: 'as --timeout' },
  { name: 'PETSTORE_CONFIG_DIR', meaning: 'where profiles and keys are kept' },
  { name: 'PETSTORE_STATE_DIR', meaning: 'where quota, journals and sandbox data are kept' },
  {
    name: 'PETSTORE_STATE_URL',
    meaning: 'a Valkey or Redis server (rediss://user@host:6379/0) that several machines share',
  },
  { name: 'PETSTORE_STATE_PASSWORD', meaning: "the state server's password" },
  { name: 'NO_COLOR', meaning: 'no colour, where set to anything but nothing' },
  { name: 'FORCE_COLOR', meaning: 'colour (1 to 3) also where the stream is no terminal; 0: none' },
  { name: 'HTTPS_PROXY', meaning: 'the proxy for https; HTTP_PROXY for http; loopback is always direct' },
  { name: 'NO_PROXY', meaning: 'hosts that are reached without a proxy' },
  { name: 'NODE_EXTRA_CA_CERTS', meaning: 'a file of further certificate authorities' },
];

/**
 * @param one an option of commander
 * @returns its default as it would be typed; nothing where it has none
 */
export function defaultOf(one: Option): { readonly default?: string } {
  // A --no-… switch is on by default, which tells a reader nothing.
  const value = one.negate ? undefined : (one.defaultValueDescription ?? one.defaultValue);
  return value === undefined ? {} : { default: String(value) };
}

/**
 * What is said of an option or an argument, in help, manual and reference alike.
 * @param one its description, and what else is known of it
 * @returns the description, then in brackets that it must be given, its choices and its default
 */
export function explained(one: {
  readonly description: string;
  readonly required?: boolean;
  readonly choices?: readonly string[] | undefined;
  readonly default?: unknown;
}): string {
  const facts = [
    ...(one.required ? ['required'] : []),
    ...(one.choices ? [one.choices.join(', ')] : []),
    ...(one.default === undefined ? [] : [`default: ${one.default}`]),
  ];
  if (facts.length === 0) return one.description;
  // A description that ends in brackets is gone on with: two pairs in a row read badly.
  const [text, open] = one.description.endsWith(')') ? [one.description.slice(0, -1), '; '] : [one.description, ' ('];
  return `${text}${open}${facts.join('; ')})`;
}
