// The world a command lives in, and the session it opens: costly things are thunks, loaded when asked for, once.
import type { Api } from './api/types.ts';
import type { Clock } from './clock.ts';
import { parseDuration } from './duration.ts';
import type { Environment } from './environment.ts';
import { PetstoreError } from './errors.ts';
import { escapeControls, terminalSafeJson } from './escape.ts';
import type { HttpClient, Wait } from './http/types.ts';
import type { Input, Output } from './io.ts';
import type { Format } from './output/view.ts';
import type { Target } from './profiles/credentials.ts';
import { configDir, stateDir } from './profiles/paths.ts';
import type { ProfileStore } from './profiles/store.ts';
import type { Ledger } from './rate-limit/ledger.ts';
import type { Redactor } from './redact.ts';

/** The world: made by main from the process, or by a test. */
export interface Context {
  readonly args: readonly string[];
  readonly env: Environment;
  readonly cwd: string;
  readonly platform: string;
  readonly nodeVersion: string;
  /** The user's home folder; undefined where the machine knows none. */
  readonly homeDir: string | undefined;
  readonly tempDir: string;
  readonly version: string;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly clock: Clock;
  /** Aborted with a PetstoreError of kind `interrupted` on SIGINT, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  /** Every byte written passes it; whoever learns a key adds it. */
  readonly redactor: Redactor;
  /** What is to be done at the very end, after the answer or the error was written. */
  readonly cleanups: (() => Promise<void>)[];
}

/** The options of every command, read from the command line and the environment (contract, section 2). */
export interface GlobalOptions {
  /** What `--profile` says; PETSTORE_PROFILE is read where profiles are, so that errors can name it. */
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

/** What a verb works with. Every thunk throws PetstoreError. */
export interface Session {
  readonly context: Context;
  readonly options: GlobalOptions;
  readonly stateDir: string;
  readonly configDir: string;
  readonly redactor: Redactor;
  /** The stored profiles; not opened where the environment gives key and URL. */
  profiles(): Promise<ProfileStore>;
  /** Whose URL and key this command uses. */
  target(): Promise<Target>;
  /** Sends requests to the target; for the profile `sandbox` it serves one first. */
  httpClient(): Promise<HttpClient>;
  ledger(): Promise<Ledger>;
  api(): Promise<Api>;
  /** The service at another target, for a key that is not stored yet. */
  openApi(target: Target): Promise<Api>;
  /** @returns the ledger of the sender that was asked for last; undefined where nothing can have been sent */
  lastLedger(): Promise<Ledger> | undefined;
  /** One line on stderr, not with `--quiet` and not with `--json`. */
  notice(text: string): Promise<void>;
  /** One line on stderr, always; a JSON line with `--json`. */
  warn(text: string): Promise<void>;
  /** Who shows the waits for the rate limit; a verb with a progress line of its own puts itself here. */
  readonly progress: ProgressListener;
}

/** Who is told what goes on, for a spinner or a line on stderr (see commands/accompany.ts). */
export interface ProgressListener {
  /** The sender's waits for the rate limit; undefined: it goes on. */
  wait?: ((wait: Wait | undefined) => void) | undefined;
  /** How many requests are under way. */
  busy?: ((requests: number) => void) | undefined;
  /** A verb's own words for a long work, replaced as often as it likes; undefined: nothing, for example before a prompt. */
  status?: ((text: (() => string) | undefined) => void) | undefined;
}

/**
 * Reads the options of every command; the command line goes before the environment.
 * @param options what commander parsed, names in camel case
 * @param env the environment
 * @returns checked values, durations in milliseconds
 * @throws PetstoreError `usage` naming the option or variable that is wrong
 */
export function readGlobalOptions(options: Readonly<Record<string, unknown>>, env: Environment): GlobalOptions {
  const setting = (option: string, flag: string, variable: string): { text: string; from: string } | undefined => {
    const given = options[option];
    if (typeof given === 'string') return { text: given, from: flag };
    const value = env[variable];
    return value === undefined || value === '' ? undefined : { text: value, from: variable };
  };
  const format = formatOf(options);
  return {
    profile: options['profile'] as string | undefined,
    json: options['json'] === true || format === 'json',
    format,
    maxWaitMs: duration(setting('maxWait', '--max-wait', 'PETSTORE_MAX_WAIT'), 120_000),
    maxRetries: count(setting('maxRetries', '--max-retries', 'PETSTORE_MAX_RETRIES'), 4),
    timeoutMs: timeLimit(setting('timeout', '--timeout', 'PETSTORE_TIMEOUT')),
    quiet: options['quiet'] === true,
    verbose: options['verbose'] === true,
    noColor: options['color'] === false,
  };
}

function formatOf(options: Readonly<Record<string, unknown>>): Format | undefined {
  const format = options['format'] as Format | undefined;
  if (options['json'] === true && format !== undefined && format !== 'json') {
    throw new PetstoreError('usage', `--json and --format ${format} contradict each other`, {
      hint: 'give one of them',
    });
  }
  return options['json'] === true ? 'json' : format;
}

// A timer cannot be set for longer: what is beyond it is as good as for ever.
const LONGEST_MS = 2 ** 31 - 1;

function duration(setting: { text: string; from: string } | undefined, fallback: number): number {
  if (!setting) return fallback;
  const ms = parseDuration(setting.text);
  if (ms === undefined) {
    throw new PetstoreError('usage', `${setting.from} takes a duration, and what was given is none`, {
      hint: 'write it like 500ms, 30s, 2m, 1h, or a number of seconds',
    });
  }
  return Math.min(ms, LONGEST_MS);
}

// No request is answered in no time: what is sent and given up at once would be in doubt for nothing.
function timeLimit(setting: { text: string; from: string } | undefined): number {
  const ms = duration(setting, 30_000);
  if (ms >= 1) return ms;
  throw new PetstoreError('usage', `${setting?.from} must be longer than 0`, { hint: 'for example --timeout 30s' });
}

function count(setting: { text: string; from: string } | undefined, fallback: number): number {
  if (!setting) return fallback;
  if (!/^\d{1,3}$/.test(setting.text)) {
    throw new PetstoreError('usage', `${setting.from} takes a whole number from 0 to 999`, {
      hint: 'for example --max-retries 4',
    });
  }
  return Number(setting.text);
}

/**
 * Opens a session: nothing is read, loaded or sent before a thunk is called.
 * @param context the world
 * @param options the options of every command
 * @returns the session; what it holds is let go in `context.endings`
 */
export function openSession(context: Context, options: GlobalOptions): Session {
  const place = { env: context.env, platform: context.platform, homeDir: context.homeDir };
  const once = <T>(make: () => Promise<T>): (() => Promise<T>) => {
    let made: Promise<T> | undefined;
    return () => (made ??= make());
  };
  const say = async (text: string, json: string): Promise<void> =>
    context.stderr.write(`${options.json ? json : text}\n`);
  let ledgerInUse: Promise<Ledger> | undefined;
  const wire = () => import('./session-services.ts');
  const session: Session = {
    context,
    options,
    get stateDir() {
      return stateDir(place);
    },
    get configDir() {
      return configDir(place);
    },
    redactor: context.redactor,
    profiles: once(async () => (await import('./profiles/conf-store.ts')).openConfStore(session.configDir)),
    target: once(async () => (await wire()).openTarget(session)),
    ledger: once(async () => (await wire()).openLedgerOf(session, await session.target())),
    httpClient: once(async () => {
      const { openHttpClient } = await wire();
      const target = await session.target();
      ledgerInUse = session.ledger();
      return openHttpClient(session, target, await ledgerInUse);
    }),
    lastLedger: () => ledgerInUse,
    api: once(async () => (await wire()).openApi(await session.httpClient())),
    openApi: async (target) => {
      const { openApi, openLedgerOf, openHttpClient } = await wire();
      ledgerInUse = openLedgerOf(session, target);
      return openApi(await openHttpClient(session, target, await ledgerInUse));
    },
    notice: async (text) => (options.quiet || options.json ? undefined : say(escapeControls(text), '')),
    warn: (text) =>
      say(`warning: ${escapeControls(text)}`, terminalSafeJson(JSON.stringify({ warning: { message: text } }))),
    progress: {},
  };
  return session;
}
