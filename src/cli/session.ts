// The resources of a command: profiles, the state server and the service, each opened on first use.
import { dirname } from 'node:path';
import { PetstoreError, rephrase } from '../errors.ts';
import { mkdirp } from '../settings/mkdirp.ts';
import { configDir, sandboxDataFile, stateDir, stateDirIfAny } from '../settings/paths.ts';
import { escapeControls, terminalSafeJson } from '../text/escape.ts';
import type { Context } from './context.ts';
import type { Credentials } from './profiles/credentials.ts';
import { definedOverrides, loginHint, resolveCredentials } from './profiles/credentials.ts';
import { Progress } from './progress.ts';
import type { GlobalOptions } from './reference.ts';

/** Errors are PetstoreErrors. Nothing is read, loaded or sent before a method is called. */
export class Session {
  readonly context: Context;
  readonly options: GlobalOptions;
  readonly progress: Progress;
  /** A service for each set of credentials that was used, the latest last. */
  readonly services: Service[] = [];

  /** `context.cleanups` closes the resources, in reverse order. */
  constructor(context: Context, options: GlobalOptions) {
    this.context = context;
    this.options = options;
    this.progress = new Progress(context, options);
  }

  readonly configDir = (): string => configDir(this.context);
  readonly stateDir = (): string => stateDir(this.context);
  /** The data file of the profile `sandbox`, whose directory is created. */
  readonly sandboxData = (): string => {
    const file = sandboxDataFile(this.stateDir());
    mkdirp(dirname(file));
    return file;
  };
  readonly profiles = lazy(async () => (await import('./profiles/conf-store.ts')).openConfStore(this.configDir()));

  /** Resolves URL and key; from then on, the key is redacted in all output. */
  readonly target = lazy(async () => {
    const { env, redactor } = this.context;
    const { profile } = this.options;
    const target = await resolveCredentials(this.context, profile, this.profiles);
    redactor.add(target.key);
    const ignored = profile === undefined ? [] : definedOverrides(env);
    if (ignored.length > 0) await this.notice(`warning: --profile overrides ${ignored.join(' and ')}`);
    return target;
  });

  /** The server of PETSTORE_STATE_URL, if set (docs/fleet.md). */
  readonly stateServer = lazy(async () => {
    const { env, clock, redactor, cleanups } = this.context;
    const url = env['PETSTORE_STATE_URL'];
    if (!url) return undefined;
    const { parseStateUrl } = await import('../shared-log/state-url.ts');
    const connection = parseStateUrl(url, env['PETSTORE_STATE_PASSWORD'], 'PETSTORE_STATE_URL');
    if (connection.password !== undefined) redactor.add(connection.password);
    const { StateServer } = await import('../shared-log/state-server.ts');
    const server = new StateServer({ connection, clock, onOutage: (text) => void this.notice(text) });
    cleanups.push(async () => server.close());
    return server;
  });

  readonly service = lazy(async () => this.connect(await this.target()));
  readonly ledger = async () => (await this.service()).ledger();
  readonly httpClient = async () => (await this.service()).httpClient();
  readonly api = async () => (await this.service()).api();

  /** @param credentials those of the command, or of a login, which are not saved yet */
  connect(credentials: Credentials): Service {
    const service = openService(this, credentials);
    this.services.push(service);
    return service;
  }

  /** Adds a hint that names the source of a rejected key. */
  readonly explain = async (error: unknown): Promise<unknown> => {
    const credentials = await this.target.ifOpened();
    if (!(error instanceof PetstoreError) || error.kind !== 'auth' || error.status !== 401 || !credentials)
      return error;
    return rephrase(error, error.message, { hint: keyHint(credentials) });
  };

  /** Writes one line to stderr, except with `--quiet` or `--json`. */
  readonly notice = async (text: string): Promise<void> => {
    const { quiet, json } = this.options;
    if (!quiet && !json) await this.context.stderr.write(`${escapeControls(text)}\n`);
  };

  /** Writes one line to stderr; a JSON line with `--json`. */
  readonly warn = async (text: string): Promise<void> => {
    const line = this.options.json
      ? terminalSafeJson(JSON.stringify({ warning: { message: text } }))
      : escapeControls(`warning: ${text}`);
    await this.context.stderr.write(`${line}\n`);
  };
}

type Service = ReturnType<typeof openService>;

function openService(session: Session, credentials: Credentials) {
  /** The ledger on the state server if one is configured, otherwise on this machine. */
  const ledger = lazy(async () => {
    const { context, warn, stateServer } = session;
    const { baseUrl, key, keySource } = credentials;
    const { Ledger } = await import('../rate-limit/ledger.ts');
    const onWarning = (text: string) => void warn(text);
    const own = { baseUrl, key, clock: context.clock, onWarning, stateDir: stateDirIfAny(context) };
    const server = keySource === 'sandbox' ? undefined : await stateServer();
    if (!server) return new Ledger(own);
    const { openSharedLedger } = await import('../rate-limit/shared-ledger.ts');
    return openSharedLedger(server, own);
  });

  /** For the profile `sandbox`, the embedded server is started first. */
  const httpClient = lazy(async () => {
    const { context, options, progress, sandboxData } = session;
    const loading = Promise.all([import('../http/transport.ts'), import('../http/http-client.ts')]);
    const { env, clock, signal, redactor, version, nodeVersion, cleanups, stderr } = context;
    const { maxWait: maxWaitMs, maxRetries, timeout: timeoutMs } = options;
    const openedLedger = await ledger();
    let { baseUrl, key } = credentials;
    if (credentials.keySource === 'sandbox') {
      const { startServer } = await import('../sandbox/server.ts');
      const sandbox = await startServer({ data: sandboxData(), clock });
      cleanups.push(() => sandbox.close());
      ({ baseUrl, key } = sandbox);
    }
    redactor.add(key);
    const [{ createTransport }, { HttpClient }] = await loading;
    // Node 20 compiles the HTTP parser a second time, which delays the exit by 80 ms. Set earlier, a V8 flag disables Node's
    // code cache. The client library leaves the flags alone.
    if (/^20\./.test(nodeVersion)) (await import('node:v8')).setFlagsFromString('--liftoff-only');
    let transport = createTransport({ baseUrl, key, version, env, now: () => clock.now() });
    if (options.verbose) {
      const { withTracing } = await import('../http/trace.ts');
      transport = withTracing(transport, baseUrl, clock, (line) => void stderr.write(`${line}\n`));
    }
    const client = new HttpClient({
      transport,
      ledger: openedLedger,
      clock,
      signal,
      limits: { maxWaitMs, maxRetries, timeoutMs },
      onWait: (wait) => progress.wait(wait),
      onBusy: (requests) => progress.busy(requests),
    });
    cleanups.push(() => client.close());
    return client;
  });

  const api = lazy(async () => {
    const { createApi } = await import('../api/categories.ts');
    return createApi(await httpClient());
  });
  return { credentials, ledger, httpClient, api };
}

function keyHint({ profile, keySource, keyCommand }: Credentials): string {
  if (keySource === 'environment') return 'set PETSTORE_API_KEY to a valid key';
  if (keyCommand) return `make ${keyCommand.source} print a valid key`;
  return loginHint(profile);
}

/** Opens a resource at the first call. */
interface Opener<T> {
  (): Promise<T>;
  /** The opened resource; undefined if it was not opened, or failed to open. */
  ifOpened(): Promise<T | undefined>;
}

function lazy<T>(open: () => Promise<T>): Opener<T> {
  let opened: Promise<T> | undefined;
  const openOnce = (): Promise<T> => (opened ??= open());
  return Object.assign(openOnce, { ifOpened: async () => opened?.catch(() => undefined) });
}
