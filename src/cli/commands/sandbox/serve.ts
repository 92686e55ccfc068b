// `petstore sandbox`: reads the options, starts the server, prints how to use it, and serves until it is interrupted.
import { once } from 'node:events';
import { resolve } from 'node:path';
import { Option } from 'commander';
import { PetstoreError } from '../../../errors.ts';
import { FAULT_KINDS } from '../../../sandbox/faults.ts';
import type { RequestRecord, RunningSandbox, ServerOptions } from '../../../sandbox/server.ts';
import { escapeControls } from '../../../text/escape.ts';
import { formatNumber } from '../../../text/format.ts';
import type { Action } from '../../command.ts';
import { actionHandler, collectValues, loadPrinter, PetstoreCommand } from '../../command.ts';
import type { Context } from '../../context.ts';
import { withChoices } from '../../global-options.ts';
import type { View } from '../../output/view.ts';
import { formatAssignment } from '../../shell-quote.ts';

interface ServeOptions extends Pick<ServerOptions, 'port' | 'plan' | 'reset' | 'retryAfter' | 'seed'> {
  readonly limit?: readonly string[];
  readonly key?: readonly string[];
  readonly data?: string;
  readonly fault?: readonly string[];
  readonly resetOnly?: true;
}

/** Printed as soon as the server listens. */
interface Started {
  readonly server: RunningSandbox;
  readonly data: string;
  readonly faults: readonly string[];
  /** Commands that set the URL and the key in another terminal. */
  readonly assignments: readonly string[];
}

const startedView: View<Started> = {
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
      yield `  ${style.yellow('faults')}  ${faults.join(', ')} (reproduce with --seed ${seed})\n`;
    }
    yield '\nIn another terminal, save this sandbox as a profile and paste the key at the prompt:\n\n';
    yield `  petstore auth login local --url ${baseUrl}\n  petstore categories list -p local\n`;
    yield '\nor set environment variables, for example for your program:\n\n';
    for (const command of [...assignments, 'petstore categories list']) yield `  ${command}\n`;
    yield '\n';
    yield `${style.dim('Press Ctrl-C to stop; the data is kept')}\n`;
  },
};

const serveAction: Action<ServeOptions, { readonly data: string }> = {
  // Resolves only after --reset-only: a server ends by a signal, which rejects with a silent `interrupted`.
  async run(session, { limit: limits, key: keys, fault: faults = [], data: file, resetOnly, ...more }) {
    const { context, options } = session;
    const { clock, signal } = context;
    const data = file === undefined ? session.sandboxData() : file && resolve(context.cwd, file);
    const print = await loadPrinter(session, startedView);
    const log = options.quiet || options.json ? {} : { onRequest: requestLog(context) };
    const nameOf = (option: string): string => `--${option.replace(/s$/, '')}`;
    const { startServer } = await import('../../../sandbox/server.ts');
    const given = resetOnly ? { ...more, port: '0', reset: true } : more;
    const server = await startServer({ ...given, limits, keys, faults, data, nameOf, clock, ...log });
    if (resetOnly) {
      await server.close();
      return { data };
    }
    try {
      // The URL is printed here, because this function returns only when the server ends.
      const variables = { PETSTORE_BASE_URL: server.baseUrl, PETSTORE_API_KEY: server.key };
      const assignments = Object.entries(variables).map(([name, value]) => formatAssignment(name, value, context));
      await print({ server, data, faults, assignments });
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      await server.close();
    }
    const { exitCode } = (signal.reason as PetstoreError).details;
    throw new PetstoreError('interrupted', 'stopped', { exitCode, silent: true });
  },
  view: {
    text: ({ data }) => [`Deleted all categories and rate-limit windows in "${escapeControls(data)}"\n`],
  },
};

function requestLog({ clock, stderr }: Context) {
  return ({ method, path, status, remaining, fault }: RequestRecord): void => {
    const time = new Date(clock.now()).toTimeString().slice(0, 8);
    const left = remaining > 1_000_000 ? '' : `, ${formatNumber(remaining)} left`;
    const injected = fault === undefined ? '' : `, fault ${fault}`;
    void stderr.write(`${time} ${method} ${escapeControls(path)} ${status ?? '-'}${left}${injected}\n`);
  };
}

const PLANS = ['free', 'pro', 'business', 'enterprise'];

export const sandbox = (): PetstoreCommand =>
  new PetstoreCommand('sandbox')
    .description('run a local test server that implements the API')
    .addOption(new Option('--port <number>', 'port on 127.0.0.1; 0 chooses a free port').default(4010))
    .addOption(withChoices(new Option('--plan <plan>', 'rate limits of a plan'), PLANS).default(undefined, 'free'))
    .option('--limit <limit>', 'custom rate limit such as 60/6s; repeatable (all apply)', collectValues)
    .option('--key <key>', 'API key to accept; repeatable (each key has its own rate limit)', collectValues)
    .option('--data <file>', 'path of the data files, without suffix (default: the files of profile "sandbox")')
    .option('--reset', 'delete categories and rate-limit windows first; ids are not reused')
    .option(
      '--reset-only',
      'delete categories and rate-limit windows, then exit; servers that share the data continue without them',
    )
    .addOption(
      withChoices(new Option('--retry-after <format>', 'format of the Retry-After header'), [
        'seconds',
        'date',
        'none',
      ]).default('seconds', 'seconds'),
    )
    .addOption(
      new Option('--fault <fault>', 'inject a fault, KIND[:PERCENT], for example 503:10; repeatable')
        .choices(FAULT_KINDS)
        .argParser(collectValues),
    )
    .option('--seed <number>', 'seed for fault injection, for reproducible runs')
    .sections({
      notes: `The server runs until Ctrl-C. Without --quiet or --json, it prints one line per request on stderr. Without --data, it
uses the data of the profile sandbox; that profile also works without this server. Any number of processes can share
the data. --data FILE creates FILE.1.log in an existing directory. The enterprise plan is unlimited.

Faults (affect every request unless PERCENT is given):
  latency        wait 1s before the response; latency=300ms sets the time
  500, 503       fail before the request is processed
  reset          reset the connection before the request is processed
  lost-response  process the request, then close without a response
  truncate       process the request, then close during the response
  garbage        process the request, then send a body that is not JSON`,
      output: 'the URL and the key; with --json one line {"url", "key", ...}, or {"data"} with --reset-only.',
      exitCodes: ['usage', 'storage', 'interrupted'],
      examples: [
        'petstore sandbox',
        'petstore sandbox --reset-only',
        'petstore sandbox --port 0 --plan pro --key sandbox_alice_0001 --json',
        'petstore sandbox --limit 60/6s --retry-after date --data ./demo',
        'petstore sandbox --fault latency=300ms --fault lost-response:5 --seed 7',
      ],
    })
    .action(actionHandler(async () => serveAction));
