// The noun `sandbox`: the whole service on loopback. Definition only; the server loads when run.
import type { Command } from 'commander';
import { Option } from 'commander';
import { runCommand } from './run-command.ts';

const collect = (value: string, all: readonly string[] = []): readonly string[] => [...all, value];

/** @param program the root to add `sandbox` to */
export function addSandbox(program: Command): void {
  const command = program
    .command('sandbox')
    .description('serve the whole service on loopback, to try out and to test against')
    .option('--port <number>', 'port on 127.0.0.1; 0 takes any free one', '4010')
    // A default that is only told: given, it would contradict --limit.
    .addOption(
      new Option('--plan <plan>', 'whose limits apply')
        .choices(['free', 'pro', 'business', 'enterprise'])
        .default(undefined, 'free'),
    )
    .option('--limit <limit>', 'limit of a custom plan, like 60/6s; repeatable, all of them hold', collect)
    .option('--key <key>', 'API key to accept; repeatable, each has windows of its own', collect)
    .option('--data <file>', "where its data is kept (default: with the profile sandbox's own)")
    .option('--reset', 'empty data and windows first; ids go on, none is given twice')
    .addOption(
      new Option('--retry-after <form>', 'how a 429 says when to come back')
        .choices(['seconds', 'date', 'none'])
        .default('seconds'),
    )
    .option('--fault <kind>', 'fail on purpose, KIND[:PERCENT] of the requests; repeatable, see below', collect)
    .option('--seed <number>', 'repeat the faults of an earlier run with the same number')
    .option('--beta <operation>', 'mark an operation as beta; repeatable', collect)
    .option('--experimental <operation>', 'mark an operation as experimental; repeatable', collect)
    .option('--first-id <number>', 'give no id below this one from now on')
    .addHelpText('after', HELP);
  runCommand(command, () => import('./sandbox/serve.ts'), toInput);
}

const HELP = `
It runs until Ctrl-C. The profile sandbox needs none of this: with -p sandbox a command serves itself
the same data. Any number of processes may share a data file; FILE stands for FILE.1.log beside
FILE.windows.1.log. Plan enterprise has the limits given with --limit, and none without.

Output: its URL and key, once it listens; with --json one line {"url", "key", ...}.

Exit codes: 2 the port is busy, 9 the data cannot be used, 130 ended with Ctrl-C.

Faults: latency, 429, 500, 503, 500-after-commit, reset, reset-after-commit, lost-reply, hang,
truncate, garbage, wrong-length, slow-headers, skewed-date; latency, 429, slow-headers and
skewed-date take a duration: latency=300ms:50. One request asks for its own with the header
x-sandbox-fault. Operations to mark: listCategories, createCategory, "GET /pets/{petId}",
"GET /store/orders".

Examples:
  $ petstore sandbox
  $ petstore sandbox --port 0 --plan pro --json
  $ petstore sandbox --limit 60/6s --retry-after date --data ./demo
  $ petstore sandbox --fault latency=300ms --fault lost-reply:5 --seed 7`;

function toInput(_args: readonly string[], options: Readonly<Record<string, unknown>>): SandboxInput {
  const text = (name: string): string | undefined => options[name] as string | undefined;
  const texts = (name: string): readonly string[] => (options[name] ?? []) as readonly string[];
  return {
    port: text('port') ?? '',
    plan: text('plan'),
    limits: texts('limit'),
    keys: texts('key'),
    data: text('data'),
    reset: options['reset'] === true,
    retryAfter: text('retryAfter') ?? '',
    faults: texts('fault'),
    seed: text('seed'),
    beta: texts('beta'),
    experimental: texts('experimental'),
    firstId: text('firstId'),
  };
}

/** The options as they were typed; what they may be is checked where they are used. */
export interface SandboxInput {
  readonly port: string;
  readonly plan: string | undefined;
  readonly limits: readonly string[];
  readonly keys: readonly string[];
  readonly data: string | undefined;
  readonly reset: boolean;
  readonly retryAfter: string;
  readonly faults: readonly string[];
  readonly seed: string | undefined;
  readonly beta: readonly string[];
  readonly experimental: readonly string[];
  readonly firstId: string | undefined;
}
