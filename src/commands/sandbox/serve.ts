// `petstore sandbox`: starts the server, says how to use it, and serves until it is interrupted.

import { formatDuration } from '../../duration.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls, terminalSafeJson } from '../../escape.ts';
import { colorLevel } from '../../io.ts';
import { createTextContext } from '../../output/text-context.ts';
import type { View } from '../../output/view.ts';
import { hangingIndent } from '../../output/wrap.ts';
import { sandboxDataFile } from '../../profiles/paths.ts';
import { describeFault } from '../../sandbox/faults.ts';
import type { RequestRecord } from '../../sandbox/request-handler.ts';
import type { RunningSandbox } from '../../sandbox/server.ts';
import { startSandbox } from '../../sandbox/server.ts';
import type { Session } from '../../session.ts';
import type { SandboxInput } from '../sandbox.ts';
import type { Settings } from './settings.ts';
import { readSettings } from './settings.ts';

/** What a sandbox says of itself once it listens. */
export interface Started {
  readonly url: string;
  /** The first of its keys: `petstore` is to use this one. */
  readonly key: string;
  readonly keys: readonly string[];
  readonly plan: string;
  readonly limits: readonly { readonly requests: number; readonly seconds: number }[];
  readonly data: string;
  readonly faults: readonly string[];
  /** What the faults were drawn from; left out where there are none. */
  readonly seed?: number;
  /** Whether the shell to paste into is PowerShell. */
  readonly powershell: boolean;
}

/**
 * Serves until Ctrl-C or SIGTERM.
 * @param session where it prints, and what ends it
 * @param input the options as typed
 * @returns never: it ends by the interruption
 * @throws PetstoreError `usage` for a wrong option or a busy port; `interrupted` at the end
 */
export async function run(session: Session, input: SandboxInput): Promise<never> {
  const { context } = session;
  const settings = readSettings(input, {
    cwd: context.cwd,
    dataFile: () => sandboxDataFile(session.stateDir),
    random: () => context.clock.random(),
  });
  const sandbox = await start(session, settings);
  try {
    await say(session, started(sandbox, settings, context.platform));
    await interrupted(context.signal);
  } finally {
    await sandbox.close();
  }
  throw context.signal.reason;
}

async function start(session: Session, settings: Settings): Promise<RunningSandbox> {
  const { clock } = session.context;
  try {
    return await startSandbox({ ...settings, clock, ...logging(session) });
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall !== 'listen') throw error;
    const what = code === 'EADDRINUSE' ? 'is in use' : `cannot be opened (${code})`;
    const hint = 'choose another one with --port N, or --port 0 for any that is free';
    throw new PetstoreError('usage', `port ${settings.port} ${what}`, { hint, cause: error });
  }
}

function started(sandbox: RunningSandbox, settings: Settings, platform: string): Started {
  return {
    url: sandbox.baseUrl,
    key: settings.keys[0],
    keys: settings.keys,
    plan: settings.plan,
    limits: settings.limits.map(({ count, ms }) => ({ requests: count, seconds: ms / 1000 })),
    data: settings.dataFile,
    faults: settings.faults.map(describeFault),
    ...(settings.faults.length > 0 ? { seed: settings.seed } : {}),
    powershell: platform === 'win32',
  };
}

// The one verb that writes by itself: it returns only when nobody needs its answer any more.
async function say(session: Session, data: Started): Promise<void> {
  const { stdout, env, clock } = session.context;
  if (session.options.json) {
    const { powershell: _, ...document } = data;
    await stdout.write(`${terminalSafeJson(JSON.stringify(document))}\n`);
    return;
  }
  const level = colorLevel(stdout, env, session.options.noColor);
  const look = await createTextContext({ colorLevel: level, columns: stdout.columns, now: clock.now() });
  await stdout.write([...view.text(data, look)].join(''));
}

/** How the start is shown. */
export const view: View<Started> = {
  *text(data, { style, columns }) {
    yield `${hangingIndent(`Sandbox of the pet store service, plan ${data.plan}: ${limitsText(data)}`, columns, 0)}\n\n`;
    yield `  URL   ${data.url}\n`;
    for (const key of data.keys) yield `  key   ${escapeControls(key)}\n`;
    yield `  data  ${escapeControls(data.data)}\n`;
    if (data.faults.length > 0) {
      const faults = `fails on purpose: ${data.faults.join(', ')} (again the same: --seed ${data.seed})`;
      yield `  ${hangingIndent(faults, columns, 2).replace('fails on purpose', (text) => style.yellow(text))}\n`;
    }
    yield '\nPaste into another shell:\n\n';
    yield `  ${variable(data, 'PETSTORE_BASE_URL', data.url)}\n`;
    yield `  ${variable(data, 'PETSTORE_API_KEY', data.key)}\n`;
    yield '  petstore categories list\n\n';
    yield style.dim('Ctrl-C ends it; its data stays.');
    yield '\n';
  },
};

function limitsText(data: Started): string {
  if (data.limits.length === 0) return 'no limit';
  const [first = '', ...others] = data.limits.map(
    ({ requests, seconds }) => `${requests.toLocaleString('en-US')} requests per ${period(seconds)}`,
  );
  return [first, ...others.map((text) => text.replace(' requests', ''))].join(', ');
}

function period(seconds: number): string {
  if (seconds === 60) return 'minute';
  if (seconds === 86_400) return 'day';
  return seconds < 1 ? `${seconds * 1000}ms` : formatDuration(seconds * 1000);
}

function variable({ powershell }: Started, name: string, value: string): string {
  if (powershell) return `$env:${name} = '${value.replaceAll("'", "''")}'`;
  const plain = /^[\w./:@%+=-]+$/.test(value);
  return `export ${name}=${plain ? value : `'${value.replaceAll("'", "'\\''")}'`}`;
}

/** Log lines that a slow reader of stderr may keep waiting; what comes beyond is dropped. */
const LONGEST_BACKLOG = 1000;

function logging({ context, options }: Session): { onRequest?: (record: RequestRecord) => void } {
  if (options.quiet || options.json) return {};
  let backlog = 0;
  const done = (): void => {
    backlog -= 1;
  };
  return {
    onRequest(record) {
      if (backlog >= LONGEST_BACKLOG) return;
      backlog += 1;
      context.stderr.write(`${lineOf(record)}\n`).then(done, done);
    },
  };
}

function lineOf({ method, path, status, key, remaining, fault }: RequestRecord): string {
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  const struck = fault === undefined ? '' : `, fault ${fault}`;
  return `${method} ${escapeControls(shown)} ${status ?? '-'} key ${key ?? 'none'}, ${remaining} left${struck}`;
}

function interrupted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
