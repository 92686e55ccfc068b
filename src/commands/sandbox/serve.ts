// `petstore sandbox`: starts the server, prints how to use it, and serves until it is interrupted.
import { once } from 'node:events';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { formatDuration, formatNumber } from '../../format.ts';
import type { View } from '../../output/view.ts';
import { hangingIndent } from '../../output/wrap.ts';
import { sandboxDataFile } from '../../profiles/paths.ts';
import type { RequestRecord } from '../../sandbox/context.ts';
import { formatFault } from '../../sandbox/faults.ts';
import type { RunningSandbox } from '../../sandbox/server.ts';
import { startSandbox } from '../../sandbox/server.ts';
import type { Session } from '../../session.ts';
import { isWindowsShell, quoteForPosix, quoteForPowerShell } from '../../shell-quote.ts';
import type { Action } from '../command.ts';
import { loadPrinter } from '../run-command.ts';
import type { SandboxSettings, TypedOptions } from './settings.ts';
import { readSettings } from './settings.ts';

/** What is printed once the server listens. */
export interface SandboxInfo {
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

export const serveAction: Action<TypedOptions, SandboxInfo> = {
  run: (session, { options }) => serve(session, options),
  view,
};

// Returns only by throwing: `interrupted`, silently, at the end.
async function serve(session: Session, options: TypedOptions): Promise<never> {
  const { context } = session;
  const settings = readSettings(options, {
    cwd: context.cwd,
    dataFile: () => sandboxDataFile(session.stateDir),
    random: () => context.clock.random(),
  });
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
