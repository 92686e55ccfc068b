// `petstore sandbox`: reads the options, starts the server, prints how to use it, and serves until it is interrupted.
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Action } from '../../command.ts';
import { loadPrinter } from '../../command.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { formatDuration, formatNumber, parseDuration } from '../../format.ts';
import type { View } from '../../output/view.ts';
import { sandboxDataFile } from '../../profiles/paths.ts';
import type { RequestRecord } from '../../sandbox/context.ts';
import { FAULT_KINDS, parseFault } from '../../sandbox/faults.ts';
import type { PlanName } from '../../sandbox/plans.ts';
import { PLANS, parseLimit, SANDBOX_KEY } from '../../sandbox/plans.ts';
import type { RetryAfterFormat } from '../../sandbox/response.ts';
import { startSandbox } from '../../sandbox/server.ts';
import type { Session } from '../../session.ts';
import { isWindowsShell, quoteForPosix, quoteForPowerShell } from '../../shell-quote.ts';
import { systemReason } from '../../system-error.ts';

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
  const settings = readSettings(session, options);
  const print = await loadPrinter(session, viewFor(isWindowsShell(context)));
  const { baseUrl: url, close } = await startSandbox({ ...settings, ...requestLog(session) }).catch((error) => {
    throw portError(error, settings.port);
  });
  const { keys, plan, limits, seed } = settings;
  const [key = ''] = keys;
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
function readSettings(session: Session, options: ServeOptions) {
  const { cwd, clock } = session.context;
  const { data, seed, retryAfter, reset = false } = options;
  return {
    clock,
    port: wholeNumber('--port', options.port, 65_535),
    ...readLimits(options),
    keys: readKeys(options.key),
    dataFile: data === undefined ? sandboxDataFile(session.stateDir()) : dataFile(resolve(cwd, data)),
    reset,
    retryAfter,
    faults: options.fault.map((text) => parseFault(text) ?? invalidFault(text)),
    // Drawn here and printed, so that a run with random faults can be repeated.
    seed: seed === undefined ? Math.floor(clock.random() * 2 ** 32) : wholeNumber('--seed', seed, 2 ** 32 - 1),
  };
}

// Reject a directory: the logs would be created beside it, not inside it.
function dataFile(path: string): string {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw new PetstoreError('usage', `--data must be a file, but ${escapeControls(path)} is a directory`, {
    hint: `use a file in it, for example ${escapeControls(join(path, 'pets'))}`,
  });
}

function invalidFault(text: string): never {
  const [, kind = '', , duration, percentage] = /^([^=:]*)(=([^:]*))?(?::(.*))?$/s.exec(text) ?? [];
  if (!FAULT_KINDS.some((one) => one === kind)) {
    const kinds = `${FAULT_KINDS.slice(0, -1).join(', ')} or ${FAULT_KINDS.at(-1)}`;
    return invalid('--fault', text, `use ${kinds}, for example 500:10`);
  }
  if (kind === 'latency' && duration !== undefined && parseDuration(duration) === undefined)
    return invalid('--fault', duration, 'use a duration such as latency=300ms', 'duration');
  if (percentage === undefined) return invalid('--fault', text, 'use a duration with latency only');
  return invalid('--fault', percentage, 'use a number from 0 to 100, for example 500:10', 'percentage');
}

function readLimits({ limit, plan = 'free' }: ServeOptions) {
  if (limit.length === 0) return { plan, limits: PLANS[plan] };
  const hint = 'use REQUESTS/DURATION, for example 60/1m, 1000/1d or 60/6s';
  return { plan: 'custom' as const, limits: limit.map((text) => parseLimit(text) ?? invalid('--limit', text, hint)) };
}

// The message does not repeat the text, which may be a real key.
function readKeys(keys: readonly string[]): readonly string[] {
  if (keys.every((key) => /^[\x21-\x7e]+$/.test(key))) return keys.length > 0 ? [...new Set(keys)] : [SANDBOX_KEY];
  const hint = 'use a key such as sandbox_alice_0001';
  throw new PetstoreError('usage', '--key must be printable ASCII without spaces', { hint });
}

function wholeNumber(option: string, text: string, max: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  return value <= max ? value : invalid(option, text, `use a whole number from 0 to ${max}`);
}

function invalid(option: string, text: string, hint: string, what = 'value'): never {
  throw new PetstoreError('usage', `invalid ${what} ${escapeControls(JSON.stringify(text))} for ${option}`, { hint });
}

function portError(error: unknown, port: number): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall !== 'listen') return error;
  const problem = code === 'EADDRINUSE' ? 'is in use' : `cannot be opened (${systemReason(error)})`;
  const hint = 'use --port 0 to choose a free port';
  return new PetstoreError('usage', `port ${port} ${problem}`, { hint, cause: error });
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

function requestLog({ context, options }: Session): { onRequest?: (record: RequestRecord) => void } {
  if (options.quiet || options.json) return {};
  return {
    onRequest({ method, path, status, remaining, fault }) {
      const time = new Date(context.clock.now()).toTimeString().slice(0, 8);
      const left = remaining > 1_000_000 ? '' : `, ${formatNumber(remaining)} left`;
      const injected = fault === undefined ? '' : `, fault ${fault}`;
      void context.stderr.write(`${time} ${method} ${escapeControls(path)} ${status ?? '-'}${left}${injected}\n`);
    },
  };
}
