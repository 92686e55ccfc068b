// What a command works with: the context of the process, the global options, and services that open on first use.
import type { Api } from './api/types.ts';
import type { Clock } from './clock.ts';
import { LONGEST_TIMER_MS } from './clock.ts';
import { PetstoreError } from './errors.ts';
import { escapeControls, terminalSafeJson } from './escape.ts';
import { parseDuration } from './format.ts';
import type { HttpClient, Wait } from './http/types.ts';
import type { Environment, Input, Output } from './io.ts';
import type { Format } from './output/render.ts';
import { wrap } from './output/wrap.ts';
import type { Target } from './profiles/credentials.ts';
import { configDir, stateDir } from './profiles/paths.ts';
import type { ProfileStore } from './profiles/store.ts';
import type { Ledger } from './rate-limit/ledger.ts';
import type { Redactor } from './redact.ts';

/** The process as a command sees it; tests create their own. */
export interface Context {
  readonly args: readonly string[];
  readonly env: Environment;
  readonly cwd: string;
  readonly platform: string;
  readonly nodeVersion: string;
  /** Undefined where the machine has none. */
  readonly homeDir: string | undefined;
  readonly tempDir: string;
  readonly version: string;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly clock: Clock;
  /** Aborted with a PetstoreError of kind `interrupted` on a signal. */
  readonly signal: AbortSignal;
  /** Applied to everything that is written; every key in use is added to it. */
  readonly redactor: Redactor;
  /** Run after the result or the error was written. */
  readonly cleanups: (() => Promise<void>)[];
}

/** The options of every command, from the command line and the environment (docs/cli.md, global options). */
interface GlobalOptions {
  /** The value of `--profile`; PETSTORE_PROFILE is read with the profiles, so that errors can name it. */
  readonly profile: string | undefined;
  readonly json: boolean;
  readonly format: Format | undefined;
  readonly maxWaitMs: number;
  readonly maxRetries: number;
  readonly timeoutMs: number;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly noColor: boolean;
}

/** Every method throws PetstoreError. */
export interface Session {
  readonly context: Context;
  readonly options: GlobalOptions;
  readonly stateDir: string;
  readonly configDir: string;
  profiles(): Promise<ProfileStore>;
  target(): Promise<Target>;
  /** Sends requests to the target; the profile `sandbox` is served first. */
  httpClient(): Promise<HttpClient>;
  ledger(): Promise<Ledger>;
  api(): Promise<Api>;
  /** The API of another target, for a key that is not stored yet. */
  openApi(target: Target): Promise<Api>;
  /** The ledger that was used last; undefined where nothing can have been sent. */
  lastLedger(): Promise<Ledger> | undefined;
  /** Writes one line to stderr, except with `--quiet` or `--json`. */
  notice(text: string): Promise<void>;
  /** Writes one line to stderr; a JSON line with `--json`. */
  warn(text: string): Promise<void>;
  /** Receives progress; a command with its own progress line replaces the handlers. */
  readonly progress: ProgressListener;
}

interface ProgressListener {
  /** A wait for the rate limit; undefined at its end. */
  wait?: ((wait: Wait | undefined) => void) | undefined;
  /** The number of requests in flight. */
  busy?: ((requests: number) => void) | undefined;
  /** A command's own status text; undefined for none, for example while a prompt is open. */
  status?: ((text: (() => string) | undefined) => void) | undefined;
}

interface Setting {
  readonly text: string;
  /** The option or variable, for messages. */
  readonly from: string;
}

/**
 * Reads the global options; the command line overrides the environment.
 * @param options as commander parsed them, with names in camel case
 * @throws PetstoreError `usage` naming the option or variable
 */
export function readGlobalOptions(options: Readonly<Record<string, unknown>>, env: Environment): GlobalOptions {
  const setting = (option: string, flag: string, variable: string): Setting | undefined => {
    const typed = options[option];
    if (typeof typed === 'string') return { text: typed, from: flag };
    const value = env[variable];
    return value ? { text: value, from: variable } : undefined;
  };
  const format = formatOf(options);
  return {
    profile: options['profile'] as string | undefined,
    json: options['json'] === true || format === 'json',
    format,
    maxWaitMs: duration(setting('maxWait', '--max-wait', 'PETSTORE_MAX_WAIT'), 120_000),
    maxRetries: count(setting('maxRetries', '--max-retries', 'PETSTORE_MAX_RETRIES'), 4),
    timeoutMs: timeout(setting('timeout', '--timeout', 'PETSTORE_TIMEOUT')),
    quiet: options['quiet'] === true || !/^(?:|0|false)$/.test(env['PETSTORE_QUIET'] ?? ''),
    verbose: options['verbose'] === true,
    noColor: options['color'] === false,
  };
}

function formatOf(options: Readonly<Record<string, unknown>>): Format | undefined {
  const format = options['format'] as Format | undefined;
  if (options['json'] !== true) return format;
  if (format === undefined || format === 'json') return 'json';
  throw new PetstoreError('usage', `--json and --format ${format} cannot be combined`, { hint: 'use one of them' });
}

function duration(setting: Setting | undefined, fallback: number): number {
  if (!setting) return fallback;
  const ms = parseDuration(setting.text);
  if (ms !== undefined) return Math.min(ms, LONGEST_TIMER_MS);
  throw new PetstoreError('usage', `${setting.from} must be a duration such as 30s or 2m`, {
    hint: 'use 500ms, 30s, 2m, 1h or a number of seconds',
  });
}

// With a timeout of 0 the outcome of a create would always be unknown.
function timeout(setting: Setting | undefined): number {
  const ms = duration(setting, 30_000);
  if (ms >= 1) return ms;
  throw new PetstoreError('usage', `${setting?.from} must be greater than 0`, { hint: 'for example --timeout 30s' });
}

function count(setting: Setting | undefined, fallback: number): number {
  if (!setting) return fallback;
  if (/^\d{1,3}$/.test(setting.text)) return Number(setting.text);
  throw new PetstoreError('usage', `${setting.from} must be a whole number from 0 to 999`, {
    hint: 'for example --max-retries 4',
  });
}

/** Nothing is read, loaded or sent before a method is called; what is opened is closed by `context.cleanups`. */
export function openSession(context: Context, options: GlobalOptions): Session {
  const once = <T>(open: () => Promise<T>): (() => Promise<T>) => {
    let opened: Promise<T> | undefined;
    return () => (opened ??= open());
  };
  const services = () => import('./session-services.ts');
  const toApi = async (client: HttpClient): Promise<Api> =>
    (await import('./api/categories.ts')).createApi(client, context.signal);
  const write = (line: string): Promise<void> => context.stderr.write(`${line}\n`);
  const { columns } = context.stderr;
  const wrapped = (text: string): string => wrap(escapeControls(text), columns);
  let lastLedger: Promise<Ledger> | undefined;
  const connect = async (target: Target, open: () => Promise<Ledger>): Promise<HttpClient> => {
    const { openHttpClient } = await services();
    lastLedger = open();
    return openHttpClient(session, target, await lastLedger);
  };
  const session: Session = {
    context,
    options,
    get stateDir() {
      return stateDir(context);
    },
    get configDir() {
      return configDir(context);
    },
    profiles: once(async () => (await import('./profiles/conf-store.ts')).openConfStore(session.configDir)),
    target: once(async () => (await services()).openTarget(session)),
    ledger: once(async () => (await services()).openLedgerOf(session, await session.target())),
    httpClient: once(async () => connect(await session.target(), session.ledger)),
    lastLedger: () => lastLedger,
    api: once(async () => toApi(await session.httpClient())),
    openApi: async (target) => {
      const open = async (): Promise<Ledger> => (await services()).openLedgerOf(session, target);
      return toApi(await connect(target, open));
    },
    notice: async (text) => (options.quiet || options.json ? undefined : write(wrapped(text))),
    warn: (text) => {
      const json = (): string => terminalSafeJson(JSON.stringify({ warning: { message: text } }));
      return write(options.json ? json() : wrapped(`warning: ${text}`));
    },
    progress: {},
  };
  return session;
}
