// `petstore sandbox`: reads the options, starts the server, prints how to use it, and serves until it is interrupted.
import { once } from 'node:events';
import { resolve } from 'node:path';
import type { Action } from '../../command.ts';
import { loadPrinter } from '../../command.ts';
import { PetstoreError } from '../../errors.ts';
import { escapeControls } from '../../escape.ts';
import { formatNumber } from '../../format.ts';
import type { Context } from '../../io.ts';
import type { View } from '../../output/view.ts';
import { sandboxDataFile } from '../../profiles/paths.ts';
import type { RequestRecord, RunningSandbox, ServerOptions } from '../../sandbox/server.ts';
import { startServer } from '../../sandbox/server.ts';
import { assignmentForShell } from '../../shell-quote.ts';

interface ServeOptions extends Pick<ServerOptions, 'port' | 'plan' | 'reset' | 'retryAfter' | 'seed'> {
  readonly limit?: readonly string[];
  readonly key?: readonly string[];
  readonly data?: string;
  readonly fault?: readonly string[];
}

/** Printed as soon as the server listens. */
interface Started {
  readonly server: RunningSandbox;
  readonly data: string;
  readonly faults: readonly string[];
  /** Commands that set the URL and the key in another terminal. */
  readonly assignments: readonly string[];
}

const view: View<Started> = {
  json({ server: { baseUrl: url, key, keys, plan, limits: all, seed }, data, faults }) {
    const limits = all.map(({ count, windowMs }) => ({ requests: count, seconds: windowMs / 1000 }));
    return { url, key, keys, plan, limits, data, faults, ...(faults.length > 0 && { seed }) };
  },
  *text({ server: { baseUrl, keys, plan, rates, seed }, data, faults, assignments }, { style }) {
    yield `Pet store sandbox, plan ${plan}: ${rates.join(', ') || 'unlimited'}\n\n`;
    yield `  URL   ${baseUrl}\n`;
    for (const key of keys) yield `  key   ${escapeControls(key)}\n`;
    yield `  data  ${escapeControls(data)}\n`;
    if (faults.length > 0) {
      yield `  ${style.yellow('injected faults')}: ${faults.join(', ')} (repeat with --seed ${seed})\n`;
    }
    yield '\nIn another terminal, run:\n\n';
    for (const command of [...assignments, 'petstore categories list']) yield `  ${command}\n`;
    yield '\n';
    yield `${style.dim('Press Ctrl-C to stop; the data is kept')}\n`;
  },
};

export const serveAction: Action<ServeOptions, Started> = {
  // Never resolves: it rejects with a silent `interrupted` when a signal stops the server.
  async run(session, { limit: limits, key: keys, fault: faults = [], data: file, ...more }) {
    const { context, options } = session;
    const { clock, signal } = context;
    const data = file === undefined ? sandboxDataFile(session.stateDir()) : file && resolve(context.cwd, file);
    const print = await loadPrinter(session, view);
    const log = options.quiet || options.json ? {} : { onRequest: requestLog(context) };
    const nameOf = (option: string): string => `--${option.replace(/s$/, '')}`;
    const server = await startServer({ ...more, limits, keys, faults, data, nameOf, clock, ...log });
    try {
      // Printed here, because this function returns only when the server ends.
      const variables = { PETSTORE_BASE_URL: server.baseUrl, PETSTORE_API_KEY: server.key };
      const assignments = Object.entries(variables).map(([name, value]) => assignmentForShell(name, value, context));
      await print({ server, data, faults, assignments });
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      await server.close();
    }
    const { exitCode } = signal.reason as PetstoreError;
    throw new PetstoreError('interrupted', 'stopped', { exitCode, silent: true });
  },
  view,
};

function requestLog({ clock, stderr }: Context) {
  return ({ method, path, status, remaining, fault }: RequestRecord): void => {
    const time = new Date(clock.now()).toTimeString().slice(0, 8);
    const left = remaining > 1_000_000 ? '' : `, ${formatNumber(remaining)} left`;
    const injected = fault === undefined ? '' : `, fault ${fault}`;
    void stderr.write(`${time} ${method} ${escapeControls(path)} ${status ?? '-'}${left}${injected}\n`);
  };
}
