// What a session sends requests through: target, ledger, transport and HTTP client.
import type { StateServer } from './append-log/state-server.ts';
import { createHttpClient } from './http/http-client.ts';
import { createTransport } from './http/transport.ts';
import type { HttpClient, Transport } from './http/types.ts';
import type { JournalStore } from './import/journal-files.ts';
import type { Target } from './profiles/credentials.ts';
import { resolveTarget, setOverrides } from './profiles/credentials.ts';
import type { Ledger } from './rate-limit/ledger.ts';
import { openLedger } from './rate-limit/ledger.ts';
import type { Session } from './session.ts';

/**
 * Resolves URL and key; from now on the key is redacted from all output.
 * @throws PetstoreError as `resolveTarget` does
 */
export async function openTarget(session: Session): Promise<Target> {
  const { env, redactor } = session.context;
  const { profile } = session.options;
  const target = await resolveTarget({
    env,
    profile,
    store: session.profiles,
    stateDir: () => session.stateDir,
    runKeyCommand: (commandLine, from) => runKeyCommandOf(session, commandLine, from),
  });
  redactor.add(target.key);
  const ignored = profile === undefined ? [] : setOverrides(env);
  if (ignored.length > 0) {
    const names = `${ignored.join(' and ')} ${ignored.length > 1 ? 'are' : 'is'}`;
    await session.notice(`${names} ignored because of --profile`);
  }
  return target;
}

/** @throws PetstoreError `auth` as `runKeyCommand` does */
export async function runKeyCommandOf(session: Session, commandLine: string, from: string): Promise<string> {
  const { env, clock, signal, stderr } = session.context;
  const { runKeyCommand } = await import('./profiles/key-command.ts');
  const { PETSTORE_API_KEY: _key, PETSTORE_STATE_PASSWORD: _password, ...harmless } = env;
  const onStderr = (text: string): void => void stderr.write(text);
  return runKeyCommand(commandLine, from, { env: harmless, clock, signal, onStderr });
}

/**
 * Opens the ledger of a key: on the state server, if one is configured, otherwise on this machine.
 * @throws PetstoreError `usage` for an invalid PETSTORE_STATE_URL
 */
export async function openLedgerOf(session: Session, target: Target): Promise<Ledger> {
  const { clock } = session.context;
  const { identity, key } = target;
  const { timeoutMs } = session.options;
  const onWarning = (text: string): void => void session.warn(text);
  const openLocal = (): Ledger => {
    const { tempDir } = session.context;
    return openLedger({ stateDir: stateDirOf(session), tempDir, identity, key, clock, timeoutMs, onWarning });
  };
  const server = target.keySource === 'sandbox' ? undefined : await openStateServer(session);
  if (!server) return openLocal();
  const { SharedLedger } = await import('./rate-limit/shared-ledger.ts');
  return new SharedLedger({ server, identity, key, clock, timeoutMs, openLocal, onWarning });
}

/**
 * Opens the journals of a key's imports: on the state server, if one is configured, and only there: a
 * second set of journals could create rows twice.
 */
export async function openJournals(session: Session, { identity, key, keySource }: Target): Promise<JournalStore> {
  const server = keySource === 'sandbox' ? undefined : await openStateServer(session);
  if (!server) return (await import('./import/journal-files.ts')).fileJournals(session.stateDir, identity, key);
  const { clock, cleanups } = session.context;
  cleanups.push(async () => server.close());
  const { sharedJournals } = await import('./import/shared-journals.ts');
  return sharedJournals(identity, key, { server, clock, onWarning: (text) => void session.warn(text) });
}

/** The server of PETSTORE_STATE_URL, if set (docs/fleet.md). */
export async function openStateServer(session: Session): Promise<StateServer | undefined> {
  const { env, clock, redactor } = session.context;
  const url = env['PETSTORE_STATE_URL'];
  if (!url) return undefined;
  const { parseStateUrl } = await import('./append-log/state-url.ts');
  const address = parseStateUrl(url, env['PETSTORE_STATE_PASSWORD'], 'PETSTORE_STATE_URL');
  if (address.password !== undefined) redactor.add(address.password);
  const { StateServer } = await import('./append-log/state-server.ts');
  return new StateServer({ address, clock, onOutage: (text) => void session.notice(text) });
}

// Without a home folder the ledger is kept in memory.
function stateDirOf(session: Session): string | undefined {
  try {
    return session.stateDir;
  } catch {
    return undefined;
  }
}

/** The client is closed by `context.cleanups`. */
export async function openHttpClient(session: Session, target: Target, ledger: Ledger): Promise<HttpClient> {
  const { context, options } = session;
  const { baseUrl, key } = target.keySource === 'sandbox' ? await serveSandbox(session, target) : target;
  context.redactor.add(key);
  const { version, env, nodeVersion } = context;
  // A state server's clock, where the ledger is shared by machines.
  const { clock } = ledger;
  const transport = createTransport({ baseUrl, key, version, env, nodeVersion, now: () => clock.now() });
  const client = createHttpClient({
    transport: options.verbose ? await traced(session, transport, baseUrl) : transport,
    ledger,
    clock,
    signal: context.signal,
    limits: { maxWaitMs: options.maxWaitMs, maxRetries: options.maxRetries, timeoutMs: options.timeoutMs },
    // Shown by this machine's clock.
    onWait: (wait) =>
      session.progress.wait?.(wait && { ...wait, until: wait.until + context.clock.now() - clock.now() }),
  });
  context.cleanups.push(() => client.close());
  return countInFlight(session, client);
}

// The spinner shows while requests are in flight.
function countInFlight({ progress }: Session, client: HttpClient): HttpClient {
  let busy = 0;
  return {
    async send(request) {
      progress.busy?.(++busy);
      try {
        return await client.send(request);
      } finally {
        progress.busy?.(--busy);
      }
    },
    close: () => client.close(),
  };
}

async function traced(session: Session, transport: Transport, baseUrl: string): Promise<Transport> {
  const { trace } = await import('./http/trace.ts');
  return trace(transport, baseUrl, session.context.clock, (line) => void session.context.stderr.write(`${line}\n`));
}

async function serveSandbox(session: Session, target: Target): Promise<{ baseUrl: string; key: string }> {
  const { startEmbedded } = await import('./sandbox/server.ts');
  const dataFile = target.identity.slice('sandbox:'.length);
  const sandbox = await startEmbedded({ dataFile, clock: session.context.clock });
  session.context.cleanups.push(() => sandbox.close());
  return sandbox;
}
