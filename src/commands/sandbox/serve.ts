// `petstore sandbox`: reads the options, starts the server, prints how to use it, and serves until it is interrupted.
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Action } from '../../command.ts';
import { loadPrinter } from '../../command.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { formatDuration, formatNumber } from '../../format.ts';
import type { View } from '../../output/view.ts';
import { sandboxDataFile } from '../../profiles/paths.ts';
import type { PlanName } from '../../sandbox/limiter.ts';
import type { RetryAfterFormat } from '../../sandbox/response.ts';
import type { ServerOptions } from '../../sandbox/server.ts';
import { startServer } from '../../sandbox/server.ts';
import { readSettings } from '../../sandbox/settings.ts';
import type { Session } from '../../session.ts';
import { isWindowsShell, quoteForPosix, quoteForPowerShell } from '../../shell-quote.ts';

interface ServeOptions {
  readonly port: string;
  readonly plan?: PlanName;
  readonly limit: readonly string[];
  readonly key: readonly string[];
  readonly data?: string;
  readonly reset?: true;
  readonly retryAfter: RetryAfterFormat;
  readonly fault: readonly string[];
  readonly seed?: string;
}

const OPTION_NAMES = {
  port: '--port',
  plan: '--plan',
  limits: '--limit',
  keys: '--key',
  data: '--data',
  faults: '--fault',
  seed: '--seed',
};

/** The result, printed as soon as the server listens. */
interface SandboxInfo {
  readonly url: string;
  readonly key: string;
  readonly keys: readonly string[];
  readonly plan: PlanName | 'custom';
  readonly limits: readonly { readonly requests: number; readonly seconds: number }[];
  readonly data: string;
  readonly faults: readonly string[];
  /** Absent without faults. */
  readonly seed?: number;
}

const viewFor = (powershell: boolean): View<SandboxInfo> => ({
  *text(info, { style }) {
    yield `Pet store sandbox, plan ${info.plan}: ${limitsText(info)}\n\n`;
    yield `  URL   ${info.url}\n`;
    for (const key of info.keys) yield `  key   ${escapeControls(key)}\n`;
    yield `  data  ${escapeControls(info.data)}\n`;
    if (info.faults.length > 0) {
      yield `  ${style.yellow('injected faults')}: ${info.faults.join(', ')} (repeat with --seed ${info.seed})\n`;
    }
    const assign = (name: string, value: string): string =>
      powershell ? `$env:${name} = ${quoteForPowerShell(value)}` : `export ${name}=${quoteForPosix(value)}`;
    yield '\nIn another terminal, run:\n\n';
    yield `  ${assign('PETSTORE_BASE_URL', info.url)}\n`;
    yield `  ${assign('PETSTORE_API_KEY', info.key)}\n`;
    yield '  petstore categories list\n\n';
    yield `${style.dim('Press Ctrl-C to stop; the data is kept')}\n`;
  },
});

export const serveAction: Action<ServeOptions, SandboxInfo> = { run: serve, view: viewFor(false) };

// Never resolves: it rejects with a silent `interrupted` when a signal stops the server.
async function serve(session: Session, options: ServeOptions): Promise<never> {
  const { context } = session;
  const settings = settingsOf(session, options);
  const print = await loadPrinter(session, viewFor(isWindowsShell(context)));
  const { reset = false, retryAfter } = options;
  const more = { clock: context.clock, reset, retryAfter, ...requestLog(session, settings.keys) };
  const { baseUrl: url, close } = await startServer({ ...settings, ...more });
  const { keys, plan, limits, seed } = settings;
  const [key] = keys;
  const shown = limits.map(({ count, windowMs }) => ({ requests: count, seconds: windowMs / 1000 }));
  const faults = options.fault;
  try {
    // Printed here, because this function returns only when the server ends.
    const seeded = faults.length > 0 ? { seed } : {};
    await print({ url, key, keys, plan, limits: shown, data: settings.dataFile, faults, ...seeded });
    if (!context.signal.aborted) await once(context.signal, 'abort');
  } finally {
    await close();
  }
  const { exitCode } = context.signal.reason as PetstoreError;
  throw new PetstoreError('interrupted', 'stopped', { exitCode, silent: true });
}

/** @throws PetstoreError `usage` naming the option */
function settingsOf(
  session: Session,
  { port, plan, limit: limits, key: keys, data, fault: faults, seed }: ServeOptions,
) {
  const { cwd, clock } = session.context;
  const settings = readSettings(
    {
      port: toNumber(port),
      plan,
      limits,
      keys,
      data: data && resolve(cwd, data),
      faults,
      seed: seed && toNumber(seed),
    },
    OPTION_NAMES,
  );
  return {
    ...settings,
    dataFile: settings.dataFile ?? sandboxDataFile(session.stateDir()),
    // Drawn here and printed, so that a run with random faults can be repeated.
    seed: settings.seed ?? Math.floor(clock.random() * 2 ** 32),
  };
}

// Any other text is an error that repeats it.
function toNumber(text: string): number | string {
  return /^\d{1,10}$/.test(text) ? Number(text) : text;
}

function limitsText({ limits }: SandboxInfo): string {
  const texts = limits.map(({ requests, seconds }, index) => {
    return `${formatNumber(requests)}${index === 0 ? ' requests' : ''} per ${period(seconds)}`;
  });
  return texts.join(', ') || 'unlimited';
}

function period(seconds: number): string {
  if (seconds === 60) return 'minute';
  if (seconds === 86_400) return 'day';
  return seconds < 1 ? `${seconds * 1000}ms` : formatDuration(seconds * 1000);
}

function requestLog({ context, options }: Session, keys: readonly string[]): Pick<ServerOptions, 'onRequest'> {
  if (options.quiet || options.json) return {};
  return {
    onRequest({ method, path, status, remaining, fault }) {
      const time = new Date(context.clock.now()).toTimeString().slice(0, 8);
      const left = remaining > 1_000_000 ? '' : `, ${formatNumber(remaining)} left`;
      const injected = fault === undefined ? '' : `, fault ${fault}`;
      const shown = escapeControls(withoutKeys(path, keys));
      void context.stderr.write(`${time} ${method} ${shown} ${status ?? '-'}${left}${injected}\n`);
    },
  };
}

// A client may have put its key into the URL. The API has no query.
function withoutKeys(path: string, keys: readonly string[]): string {
  const forms = keys.flatMap((key) => [key, encodeURIComponent(key)]);
  return forms.reduce((text, form) => text.replaceAll(form, '[redacted]'), path.replace(/\?.+/s, '?[redacted]'));
}
