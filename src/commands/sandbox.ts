// The definition of `petstore sandbox`; the server is loaded when it runs.
import { Option } from 'commander';
import { lazyAction, PetstoreCommand } from '../command.ts';

const collect = (value: string, all: readonly string[]): readonly string[] => [...all, value];

export const sandbox = (): PetstoreCommand =>
  new PetstoreCommand('sandbox')
    .description('run a local test server that implements the API')
    .option('--port <number>', 'port on 127.0.0.1; 0 chooses a free port', '4010')
    // Show `free` as the default without setting it, since a value would conflict with --limit.
    .addOption(
      new Option('--plan <plan>', 'rate limits of this plan')
        .choices(['free', 'pro', 'business', 'enterprise'])
        .default(undefined, 'free')
        .conflicts('limit'),
    )
    .option('--limit <limit>', 'custom rate limit such as 60/6s; repeatable (all apply)', collect, [])
    .option('--key <key>', 'API key to accept; repeatable (each key has its own rate limit)', collect, [])
    .option('--data <file>', 'path of the data files, without suffix (default: the files of profile "sandbox")')
    .option('--reset', 'delete categories and rate limit windows first; ids are not reused')
    .addOption(
      new Option('--retry-after <format>', 'format of the Retry-After header')
        .choices(['seconds', 'date', 'none'])
        .default('seconds'),
    )
    .option('--fault <fault>', 'inject a fault, KIND[:PERCENT]; repeatable, see below', collect, [])
    .option('--seed <number>', 'seed for fault injection, for reproducible runs')
    .sections({
      notes: `The server runs until Ctrl-C and prints one line per request on stderr, except with --quiet or --json. With
-p sandbox, commands use the same data without this server. Any number of processes can
share the data. --data FILE creates FILE.1.log and FILE.windows.1.log. The enterprise plan is unlimited.

Faults (affect every request unless PERCENT is given):
  latency        wait 1s before the response; latency=300ms sets the time
  500, 503       fail before the request is processed
  reset          reset the connection before the request is processed
  lost-response  process the request, then close without a response
  truncate       process the request, then close during the response
  garbage        process the request, then send a body that is not JSON`,
      output: 'the URL and the key; with --json one line {"url", "key", ...}.',
      exitCodes: ['usage', 'storage', 'interrupted'],
      examples: [
        'petstore sandbox',
        'petstore sandbox --port 0 --plan pro --json',
        'petstore sandbox --limit 60/6s --retry-after date --data ./demo',
        'petstore sandbox --fault latency=300ms --fault lost-response:5 --seed 7',
      ],
    })
    .action(lazyAction(async () => (await import('./sandbox/serve.ts')).serveAction));
