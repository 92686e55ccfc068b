// The resources of a command: profiles, the state server and the service, each opened on first use.
import { dirname } from 'node:path';
import { PetstoreError, rephrase } from '../errors.ts';
import type { RunningSandbox } from '../sandbox/server.ts';
import type { Service } from '../service.ts';
import { configDir, mkdirp, sandboxDataFile, stateDir, stateDirIfAny } from '../settings/paths.ts';
import type { StateServerOptions } from '../shared-log/state-server.ts';
import { escapeControls, terminalSafeJson } from '../text/escape.ts';
import type { Context } from './context.ts';
import type { GlobalOptions } from './global-options.ts';
import type { CredentialRequest, Credentials } from './profiles/credentials.ts';
import { definedOverrides, loginHint, readCredentialRequest, resolveCredentials } from './profiles/credentials.ts';
import { Progress } from './progress.ts';

/** Nothing is read, loaded or sent before a method is called. */
export class Session {
  readonly context: Context;
  readonly options: GlobalOptions;
  readonly request: CredentialRequest;
  readonly progress: Progress;
  /** The service that was connected last: a login may use several. */
  lastUsed: { readonly service: Service; readonly credentials: Credentials } | undefined;
  /** URL and key of the command, once they are known. */
  #credentials: Credentials | undefined;

  /** `context.cleanups` closes the resources, in reverse order. */
  constructor(context: Context, options: GlobalOptions) {
    this.context = context;
    this.options = options;
    this.request = readCredentialRequest(context.env, options.profile);
    this.progress = new Progress(context, options);
  }

  /** The path, without suffix, of the sandbox's data files, whose directory is created. */
  readonly sandboxData = (): string => {
    const file = sandboxDataFile(stateDir(this.context));
    mkdirp(dirname(file));
    return file;
  };
  readonly profiles = lazy(async () => {
    const { openConfStore } = await import('./profiles/conf-store.ts');
    return openConfStore(configDir(this.context));
  });

  /** Resolves URL and key; from then on, the key is redacted in messages. */
  readonly target = lazy(async () => {
    const { env, redactor } = this.context;
    const target = await resolveCredentials(this.context, this.request, this.profiles);
    redactor.add(target.key);
    this.#credentials = target;
    const ignored = this.options.profile === undefined ? [] : definedOverrides(env);
    if (ignored.length > 0) await this.notice(`warning: --profile overrides ${ignored.join(' and ')}`);
    return target;
  });

  /** The connection options of the state server (docs/fleet.md), which `Service` opens; undefined without PETSTORE_STATE_URL. */
  readonly stateServer = lazy(async (): Promise<StateServerOptions | undefined> => {
    const { env, clock, redactor } = this.context;
    const url = env['PETSTORE_STATE_URL'];
    if (!url) return undefined;
    const { parseStateUrl } = await import('../shared-log/state-url.ts');
    const connection = parseStateUrl(url, env['PETSTORE_STATE_PASSWORD'], {
      url: 'PETSTORE_STATE_URL',
      password: 'PETSTORE_STATE_PASSWORD',
    });
    if (connection.password !== undefined) redactor.add(connection.password);
    return { connection, clock, onOutage: (text) => void this.notice(text) };
  });

  readonly service = lazy(async () => this.connect(await this.target()));
  readonly ledger = async () => (await this.service()).ledger();
  readonly httpClient = async () => (await this.service()).httpClient();
  readonly categories = async () => (await this.service()).categories();

  /** @param credentials those of the command, or of a login, which are not saved yet */
  async connect(credentials: Credentials): Promise<Service> {
    const { Service } = await import('../service.ts');
    const { context, options, progress } = this;
    const { env, version, clock, signal, stderr, redactor, cleanups } = context;
    const { baseUrl, key, keySource } = credentials;
    redactor.add(key);
    const isSandbox = keySource === 'sandbox';
    const service = new Service({
      ...{ baseUrl, key, env, version, clock, signal },
      stateDir: stateDirIfAny(context),
      stateServer: isSandbox ? undefined : await this.stateServer(),
      limits: { maxWaitMs: options.maxWait, maxRetries: options.maxRetries, timeoutMs: options.timeout },
      openEndpoint: async () => {
        await limitCompilation(context);
        return isSandbox ? this.#startSandbox() : credentials;
      },
      onWarning: (text) => void this.warn(text),
      onWait: (wait) => progress.wait(wait),
      onBusy: (requests) => progress.busy(requests),
      onTrace: options.verbose ? (line) => void stderr.write(`${line}\n`) : undefined,
    });
    cleanups.push(() => service.close());
    this.lastUsed = { service, credentials };
    return service;
  }

  // The profile `sandbox` embeds its server.
  async #startSandbox(): Promise<RunningSandbox> {
    const { startServer } = await import('../sandbox/server.ts');
    const sandbox = await startServer({ data: this.sandboxData(), clock: this.context.clock });
    this.context.redactor.add(sandbox.key);
    return sandbox;
  }

  /** Replaces the hint of a rejected key by one that names its source. */
  explain(error: unknown): unknown {
    const isRejectedKey = error instanceof PetstoreError && error.kind === 'auth' && error.status === 401;
    if (!isRejectedKey || !this.#credentials) return error;
    return rephrase(error, error.message, { hint: keyHint(this.#credentials) });
  }

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

// Node 20 compiles the HTTP parser a second time, which delays the exit by 80 ms. If this flag were set before the modules are
// loaded, Node would not use its code cache. The library leaves the flags alone.
async function limitCompilation({ nodeVersion }: Context): Promise<void> {
  if (/^20\./.test(nodeVersion)) (await import('node:v8')).setFlagsFromString('--liftoff-only');
}

function keyHint({ profile, keySource, keyCommand }: Credentials): string {
  if (keySource === 'environment') return 'set PETSTORE_API_KEY to a valid key';
  if (keyCommand) return `make ${keyCommand.source} print a valid key`;
  return loginHint(profile);
}

function lazy<T>(open: () => Promise<T>): () => Promise<T> {
  let opened: Promise<T> | undefined;
  return () => (opened ??= open());
}
