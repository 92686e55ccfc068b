// The services that commands use; most are opened on first use.
import type { Api } from './api/types.ts';
import type { StateServer } from './append-log/state-server.ts';
import { LONGEST_TIMER_MS } from './clock.ts';
import { PetstoreError } from './errors.ts';
import { escapeControls, terminalSafeJson } from './escape.ts';
import { parseDuration } from './format.ts';
import type { HttpClient, Transport } from './http/types.ts';
import type { Context, Environment } from './io.ts';
import type { Format } from './output/render.ts';
import { wrap } from './output/wrap.ts';
import type { Target } from './profiles/credentials.ts';
import { definedOverrides, resolveTarget } from './profiles/credentials.ts';
import { configDir, stateDir } from './profiles/paths.ts';
import type { ProfileStore } from './profiles/store.ts';
import { Progress } from './progress.ts';
import type { Ledger } from './rate-limit/ledger.ts';
import { GLOBAL_OPTIONS } from './reference.ts';

/** The global options, from the command line and the environment (docs/cli.md, global options). */
export interface GlobalOptions {
  /** The value of `--profile` only; PETSTORE_PROFILE is read with the profiles, so that errors can name it. */
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

/** An unparsed value, and the option or variable that it comes from. */
interface Setting {
  readonly text: string;
  readonly from: string;
}

/**
 * Reads the global options; the command line overrides the environment, which overrides the default.
 * @param options parsed by commander, with names in camel case
 * @throws PetstoreError `usage` naming the option or variable
 */
export function readGlobalOptions(options: Readonly<Record<string, unknown>>, env: Environment): GlobalOptions {
  const setting = (attribute: string, flag: string): Setting => {
    const { variable = '', fallback = '' } = GLOBAL_OPTIONS.find(({ flags }) => flags.includes(flag)) ?? {};
    const typed = options[attribute];
    if (typeof typed === 'string') return { text: typed, from: flag };
    return env[variable] ? { text: env[variable], from: variable } : { text: fallback, from: flag };
  };
  const format = formatOf(options);
  return {
    profile: options['profile'] as string | undefined,
    json: options['json'] === true || format === 'json',
    format,
    maxWaitMs: duration(setting('maxWait', '--max-wait'), 0),
    maxRetries: count(setting('maxRetries', '--max-retries')),
    // With a timeout of 0 the outcome of a create would always be unknown.
    timeoutMs: duration(setting('timeout', '--timeout'), 1),
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

function duration({ text, from }: Setting, least: number): number {
  const ms = parseDuration(text);
  if (ms === undefined) {
    throw new PetstoreError('usage', `invalid duration "${escapeControls(text)}" for ${from}`, {
      hint: 'use a duration such as 500ms, 30s, 2m or 1h',
    });
  }
  if (ms >= least) return Math.min(ms, LONGEST_TIMER_MS);
  throw new PetstoreError('usage', `${from} must be greater than 0`, { hint: 'use a value such as 30s' });
}

function count({ text, from }: Setting): number {
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw new PetstoreError('usage', `invalid number "${escapeControls(text)}" for ${from}`, {
    hint: 'use a whole number from 0 to 999',
  });
}

/** Errors are PetstoreErrors. Nothing is read, loaded or sent before a method is called. */
export interface Session {
  readonly context: Context;
  readonly options: GlobalOptions;
  readonly progress: Progress;
  stateDir(): string;
  configDir(): string;
  profiles(): Promise<ProfileStore>;
  /** Resolves URL and key; from then on the key is redacted from all output. */
  target(): Promise<Target>;
  runKeyCommand(commandLine: string, from: string): Promise<string>;
  /** The client of the target; for the profile `sandbox`, the embedded server is started first. */
  httpClient(): Promise<HttpClient>;
  ledger(): Promise<Ledger>;
  /** The server of PETSTORE_STATE_URL, if set (docs/fleet.md); the caller closes it. */
  stateServer(): Promise<StateServer | undefined>;
  api(): Promise<Api>;
  /** The API of another target, for a key that is not saved yet. */
  apiOf(target: Target): Promise<Api>;
  /** The ledger of the last opened client, and when it was opened (epoch milliseconds); undefined without a client. */
  readonly usedLedger: { readonly ledger: Ledger; readonly since: number } | undefined;
  /** Writes one line to stderr, except with `--quiet` or `--json`. */
  notice(text: string): Promise<void>;
  /** Writes one line to stderr; a JSON line with `--json`. */
  warn(text: string): Promise<void>;
}

/** The opened clients and sandbox servers are closed by `context.cleanups`. */
export function openSession(context: Context, options: GlobalOptions): Session {
  const { env, clock, signal, redactor, stderr, cleanups } = context;
  const { timeoutMs, maxWaitMs, maxRetries } = options;
  const once = <T>(open: () => Promise<T>): (() => Promise<T>) => {
    let opened: Promise<T> | undefined;
    return () => (opened ??= open());
  };
  const write = (line: string): Promise<void> => stderr.write(`${line}\n`);
  const wrapped = (text: string): string => wrap(escapeControls(text), stderr.columns);
  let usedLedger: Session['usedLedger'];

  const openTarget = async (): Promise<Target> => {
    const { profile } = options;
    const { profiles: store, runKeyCommand } = session;
    const target = await resolveTarget({ env, profile, store, stateDir: session.stateDir, runKeyCommand });
    redactor.add(target.key);
    const ignored = profile === undefined ? [] : definedOverrides(env);
    if (ignored.length > 0) await session.notice(`warning: --profile overrides ${ignored.join(' and ')}`);
    return target;
  };

  // Opens the ledger on the state server if one is configured, otherwise on this machine.
  const openLedgerOf = async ({ identity, key, keySource }: Target): Promise<Ledger> => {
    const { openLedger } = await import('./rate-limit/ledger.ts');
    const own = { identity, key, clock, onWarning: (text: string) => void session.warn(text) };
    const openOwn = () => openLedger({ ...own, stateDir: stateDirIfAny(context), tempDir: context.tempDir });
    const server = keySource === 'sandbox' ? undefined : await session.stateServer();
    if (!server) return openOwn();
    const { FailoverLedger } = await import('./rate-limit/failover.ts');
    return new FailoverLedger({ ...own, server, openOwn });
  };

  const connect = async (target: Target, open: () => Promise<Ledger>): Promise<HttpClient> => {
    const loading = Promise.all([import('./http/transport.ts'), import('./http/http-client.ts')]);
    const ledger = await open();
    usedLedger = { ledger, since: clock.now() };
    const { baseUrl, key } = target.keySource === 'sandbox' ? await serveSandbox(target) : target;
    redactor.add(key);
    const { version, nodeVersion } = context;
    const [{ createTransport }, { createHttpClient }] = await loading;
    const transport = createTransport({ baseUrl, key, version, env, nodeVersion, now: () => clock.now() });
    const client = createHttpClient({
      transport: options.verbose ? await traced(transport, baseUrl) : transport,
      ledger,
      clock,
      signal,
      limits: { maxWaitMs, maxRetries, timeoutMs },
      onWait: (wait) => session.progress.wait(wait),
      onBusy: (requests) => session.progress.busy(requests),
    });
    cleanups.push(() => client.close());
    return client;
  };

  const toApi = async (client: HttpClient): Promise<Api> => (await import('./api/categories.ts')).createApi(client);

  const traced = async (transport: Transport, baseUrl: string): Promise<Transport> =>
    (await import('./http/trace.ts')).trace(transport, baseUrl, clock, (line) => void write(line));

  const serveSandbox = async ({ identity }: Target): Promise<{ baseUrl: string; key: string }> => {
    const { startEmbedded } = await import('./sandbox/server.ts');
    const sandbox = await startEmbedded({ dataFile: identity.slice('sandbox:'.length), clock });
    cleanups.push(() => sandbox.close());
    return sandbox;
  };

  const session: Session = {
    context,
    options,
    progress: new Progress(context, options),
    stateDir: () => stateDir(context),
    configDir: () => configDir(context),
    profiles: once(async () => (await import('./profiles/conf-store.ts')).openConfStore(configDir(context))),
    target: once(openTarget),
    async runKeyCommand(commandLine, from) {
      const { runKeyCommand } = await import('./profiles/key-command.ts');
      const { PETSTORE_API_KEY: _key, PETSTORE_STATE_PASSWORD: _password, PETSTORE_STATE_URL: _url, ...harmless } = env;
      const onStderr = (text: string): void => void stderr.write(text);
      return runKeyCommand(commandLine, from, { env: harmless, clock, signal, redactor, onStderr });
    },
    ledger: once(async () => openLedgerOf(await session.target())),
    httpClient: once(async () => connect(await session.target(), session.ledger)),
    async stateServer() {
      const url = env['PETSTORE_STATE_URL'];
      if (!url) return undefined;
      const { parseStateUrl } = await import('./append-log/state-url.ts');
      const address = parseStateUrl(url, env['PETSTORE_STATE_PASSWORD'], 'PETSTORE_STATE_URL');
      if (address.password !== undefined) redactor.add(address.password);
      const { StateServer } = await import('./append-log/state-server.ts');
      return new StateServer({ address, clock, onOutage: (text) => void session.notice(text) });
    },
    api: once(async () => toApi(await session.httpClient())),
    apiOf: async (target) => toApi(await connect(target, () => openLedgerOf(target))),
    get usedLedger() {
      return usedLedger;
    },
    notice: async (text) => (options.quiet || options.json ? undefined : write(wrapped(text))),
    warn: (text) => {
      const json = (): string => terminalSafeJson(JSON.stringify({ warning: { message: text } }));
      return write(options.json ? json() : wrapped(`warning: ${text}`));
    },
  };
  return session;
}

// Without a home directory the ledger is kept in memory.
function stateDirIfAny(context: Context): string | undefined {
  try {
    return stateDir(context);
  } catch {
    return undefined;
  }
}
