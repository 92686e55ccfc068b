// `petstore sandbox`: reads the options, starts the server, prints how to use it, and serves until it is interrupted.
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Action } from '../../command.ts';
import { loadPrinter } from '../../command.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { formatDuration, formatNumber } from '../../format.ts';
import type { View } from '../../output/view.ts';
import { hangingIndent } from '../../output/wrap.ts';
import { sandboxDataFile } from '../../profiles/paths.ts';
import type { RequestRecord } from '../../sandbox/context.ts';
import { FAULT_KINDS, formatFault, parseFault } from '../../sandbox/faults.ts';
import type { Limit, PlanName } from '../../sandbox/plans.ts';
import { PLANS, parseLimit, SANDBOX_KEY } from '../../sandbox/plans.ts';
import type { RetryAfterFormat } from '../../sandbox/response.ts';
import type { RunningSandbox } from '../../sandbox/server.ts';
import { startSandbox } from '../../sandbox/server.ts';
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

/** What is printed once the server listens. */
interface SandboxInfo {
  readonly url: string;
  readonly key: string;
  readonly keys: readonly string[];
  readonly plan: string;
  readonly limits: readonly { readonly requests: number; readonly seconds: number }[];
  readonly data: string;
  readonly faults: readonly string[];
  /** Left out without faults. */
  readonly seed?: number;
  readonly powershell: boolean;
}

const view: View<SandboxInfo> = {
  json: ({ powershell: _, ...document }) => document,
  *text(info, { style, columns }) {
    yield `${hangingIndent(`Pet store sandbox, plan ${info.plan}: ${limitsText(info)}`, columns, 0)}\n\n`;
    yield `  URL   ${info.url}\n`;
    for (const key of info.keys) yield `  key   ${escapeControls(key)}\n`;
    yield `  data  ${escapeControls(info.data)}\n`;
    if (info.faults.length > 0) {
      const faults = `injected faults: ${info.faults.join(', ')} (repeat with --seed ${info.seed})`;
      yield `  ${hangingIndent(faults, columns, 2).replace('injected faults', (text) => style.yellow(text))}\n`;
    }
    yield '\nPaste into another shell:\n\n';
    yield `  ${assignment(info, 'PETSTORE_BASE_URL', info.url)}\n`;
    yield `  ${assignment(info, 'PETSTORE_API_KEY', info.key)}\n`;
    yield '  petstore categories list\n\n';
    yield `${style.dim('Press Ctrl-C to stop; the data is kept.')}\n`;
  },
};

export const serveAction: Action<ServeOptions, SandboxInfo> = {
  run: serve,
  view,
};

// Returns only by throwing: `interrupted`, silently, at the end.
async function serve(session: Session, options: ServeOptions): Promise<never> {
  const { context } = session;
  const settings = readSettings(session, options);
  const print = await loadPrinter(session, view);
  const sandbox = await start(session, settings);
  try {
    // Printed here, because this function returns only when the server ends.
    await print(describe(sandbox, settings, isWindowsShell(context)));
    if (!context.signal.aborted) await once(context.signal, 'abort');
  } finally {
    await sandbox.close();
  }
  const { exitCode } = context.signal.reason as PetstoreError;
  throw new PetstoreError('interrupted', '', { exitCode });
}

type SandboxSettings = ReturnType<typeof readSettings>;

/** @throws PetstoreError `usage` naming the option */
function readSettings(session: Session, options: ServeOptions) {
  const { cwd, clock } = session.context;
  const { data, seed } = options;
  return {
    port: wholeNumber('--port', options.port, 65_535),
    ...readLimits(options),
    keys: readKeys(options.key),
    dataFile: data === undefined ? sandboxDataFile(session.stateDir()) : readDataFile(resolve(cwd, data)),
    reset: options.reset === true,
    retryAfter: options.retryAfter,
    faults: options.fault.map((text) => {
      const rule = parseFault(text);
      if (!rule) throw invalid('--fault', text, `use KIND[:PERCENT]; kinds are ${FAULT_KINDS.join(', ')}`);
      return rule;
    }),
    // Always known, so that a run with random faults can be repeated.
    seed: seed === undefined ? Math.floor(clock.random() * 2 ** 32) : wholeNumber('--seed', seed, 2 ** 32 - 1),
  };
}

// The logs would be created beside the folder instead of inside it.
function readDataFile(path: string): string {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw new PetstoreError('usage', `--data must be a file, not a folder: ${escapeControls(path)}`, {
    hint: `name a file in it: --data ${escapeControls(join(path, 'pets'))}`,
  });
}

function readLimits({ limit, plan }: ServeOptions): { plan: PlanName; limits: readonly Limit[] } {
  const limits = limit.map((text) => {
    const parsed = parseLimit(text);
    if (!parsed) throw invalid('--limit', text, 'use REQUESTS/DURATION, for example 60/1m, 1000/1d or 60/6s');
    return parsed;
  });
  if (limits.length === 0) return { plan: plan ?? 'free', limits: PLANS[plan ?? 'free'] };
  if (plan === undefined || plan === 'enterprise') return { plan: 'enterprise', limits };
  throw new PetstoreError('usage', `--plan ${plan} and --limit cannot be combined`, {
    hint: 'use one of them; only the plan enterprise has custom limits',
  });
}

// The text is not repeated: it may be a real key.
function readKeys(keys: readonly string[]): readonly [string, ...string[]] {
  if (keys.some((key) => !/^[\x21-\x7e]+$/.test(key))) {
    const hint = 'make one up, for example --key sandbox_alice_0001';
    throw new PetstoreError('usage', '--key must be printable ASCII without spaces', { hint });
  }
  const [first = SANDBOX_KEY, ...others] = new Set(keys);
  return [first, ...others];
}

function wholeNumber(option: string, text: string, max: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= max)) throw invalid(option, text, `use a whole number from 0 to ${max}`);
  return value;
}

function invalid(option: string, text: string, hint: string): PetstoreError {
  // A key typed in the wrong place is redacted only where it is shown whole.
  const shown = text.length > 60 ? '' : ` ${escapeControls(JSON.stringify(text))}`;
  return new PetstoreError('usage', `invalid value${shown} for ${option}`, { hint });
}

async function start(session: Session, settings: SandboxSettings): Promise<RunningSandbox> {
  const { clock } = session.context;
  try {
    return await startSandbox({ ...settings, clock, ...requestLog(session, settings.limits.length > 0) });
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall !== 'listen') throw error;
    const problem = code === 'EADDRINUSE' ? 'is in use' : `cannot be opened (${code})`;
    const hint = 'use --port N, or --port 0 for any free port';
    throw new PetstoreError('usage', `port ${settings.port} ${problem}`, { hint, cause: error });
  }
}

function describe(sandbox: RunningSandbox, settings: SandboxSettings, powershell: boolean): SandboxInfo {
  return {
    url: sandbox.baseUrl,
    key: settings.keys[0],
    keys: settings.keys,
    plan: settings.plan,
    limits: settings.limits.map(({ count, windowMs }) => ({ requests: count, seconds: windowMs / 1000 })),
    data: settings.dataFile,
    faults: settings.faults.map(formatFault),
    ...(settings.faults.length > 0 ? { seed: settings.seed } : {}),
    powershell,
  };
}

function limitsText({ limits }: SandboxInfo): string {
  const texts = limits.map(({ requests, seconds }, index) => {
    const unit = index === 0 ? ' requests' : '';
    return `${requests.toLocaleString('en-US')}${unit} per ${period(seconds)}`;
  });
  return texts.join(', ') || 'unlimited';
}

function period(seconds: number): string {
  if (seconds === 60) return 'minute';
  if (seconds === 86_400) return 'day';
  return seconds < 1 ? `${seconds * 1000}ms` : formatDuration(seconds * 1000);
}

function assignment({ powershell }: SandboxInfo, name: string, value: string): string {
  return powershell ? `$env:${name} = ${quoteForPowerShell(value)}` : `export ${name}=${quoteForPosix(value)}`;
}

function requestLog({ context, options }: Session, limited: boolean): { onRequest?: (record: RequestRecord) => void } {
  if (options.quiet || options.json) return {};
  return {
    onRequest(record) {
      const time = new Date(context.clock.now()).toTimeString().slice(0, 8);
      void context.stderr.write(`${time} ${requestLine(record, limited)}\n`);
    },
  };
}

function requestLine({ method, path, status, remaining, fault }: RequestRecord, limited: boolean): string {
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  const left = limited ? `, ${formatNumber(remaining)} left` : '';
  return `${method} ${escapeControls(shown)} ${status ?? '-'}${left}${fault === undefined ? '' : `, fault ${fault}`}`;
}
