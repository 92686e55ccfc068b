// The definitions of `petstore auth` and of the commands outside of a group; their code is loaded when they run.
import { Argument, Option } from 'commander';
import { collect, handlerOf, PetstoreCommand, rootOf } from '../command.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const PLANS = ['free', 'pro', 'business', 'enterprise'];

export const api = (): PetstoreCommand =>
  new PetstoreCommand('api')
    .description('send an authenticated API request and print the response body')
    .addArgument(methodArgument())
    .argument('<path>', 'path relative to the base URL, for example categories?x=1 (without /v1)')
    .addOption(new Option('-d, --data <json>', 'request body, a JSON document').conflicts('input'))
    .option('--input <file>', 'read the request body from a file; - reads stdin')
    .option('-i, --include', 'print status and headers before the body')
    .sections({
      notes: `Use it for operations without a petstore command: GET /pets/{petId} (deprecated) and GET /store/orders. Rate limits,
retries and exit codes work as in other commands; after a failure, only GET, HEAD and OPTIONS are retried. A warning tells you if the
response marks the operation as deprecated, sunset or unstable. On Windows, use --input rather than --data.`,
      output: `the body, byte for byte, even if the status is an error; with --json one JSON document:
the body, or {"status", "headers", "body"} with --include.`,
      exitCodes: ['usage', 'auth', 'rejected', 'rate_limited', 'network', 'service', 'unknown_outcome'],
      examples: [
        'petstore api GET categories',
        'petstore api GET store/orders --include',
        `petstore api POST categories --data '{"name":"dog"}'`,
        `echo '{"name":"cat"}' | petstore api POST categories --input - --json`,
      ],
    })
    .action(handlerOf(async () => (await import('./api.ts')).callAction));

function methodArgument(): Argument {
  const argument = new Argument('<method>', 'HTTP method').choices(METHODS);
  const check = argument.parseArg;
  return argument.argParser((word: string) => METHODS.find((one) => one === word.toUpperCase()) ?? check?.(word, word));
}

export const auth = (): PetstoreCommand =>
  new PetstoreCommand('auth')
    .description('log in, log out and switch between profiles')
    .sections({
      examples: ['petstore auth login --url https://HOST/v1', 'petstore auth status'],
    })
    .addCommand(login())
    .addCommand(logout())
    .addCommand(status())
    .addCommand(switchTo());

const login = (): PetstoreCommand =>
  new PetstoreCommand('login')
    .description('save an API key for a profile')
    .option('--url <url>', 'base URL of the service: https, or http on loopback, ending in /v1')
    .option('--key-command <command>', 'save a command that prints the key, instead of a key')
    .option('--no-verify', 'save the key without checking it with the service')
    .sections({
      notes: `At a terminal, a hidden prompt asks for the key. Otherwise, the key is read from the first line of
stdin. There is no option for the key, because other users can see command-line arguments. The key is verified with one
GET /categories, saved in a file that only you can read, and sent only to the scheme, host and port that it was saved
for.

A key command runs each time the key is needed, for at most 30 seconds and without a shell (to use one, write
sh -c 'COMMAND'). The first line of its stdout is the key. To use a key command without a
profile, set PETSTORE_API_KEY_COMMAND.

If the active profile has no key, the new profile becomes the active one.`,
      output: `two lines; with --json {"profile", "url", "key", "keyCommand", "verified", "active"}, with the key masked.`,
      exitCodes: ['usage', 'auth', 'network', 'storage'],
      examples: [
        'petstore auth login --url https://HOST/v1',
        'petstore auth login -p staging --url https://STAGING_HOST/v1 < key.txt',
        `petstore auth login -p ci --url https://HOST/v1 --key-command 'pass show petstore'`,
      ],
    })
    .action(handlerOf(async () => (await import('./auth/login.ts')).loginAction));

const logout = (): PetstoreCommand =>
  new PetstoreCommand('logout')
    .description("remove a profile's API key and keep its base URL")
    .option('--delete', 'delete the whole profile')
    .sections({
      output: 'one line; with --json {"profile", "removed", "deleted"}.',
      examples: ['petstore auth logout', 'petstore auth logout -p staging --delete'],
    })
    .action(handlerOf(async () => (await import('./auth/profiles.ts')).logoutAction));

const status = (): PetstoreCommand =>
  new PetstoreCommand('status')
    .description('list profiles with their base URL, masked key and source')
    .sections({
      notes: 'Nothing is sent. At most the last four characters of a key are shown.',
      output: `a table; with --json an array of {"profile", "active", "url", "urlSource", "key", "keySource",
"problem"}. The active profile is the one that the next command uses.`,
      examples: ['petstore auth status', "petstore auth status --json | jq -r '.[] | select(.active) | .url'"],
    })
    .action(handlerOf(async () => (await import('./auth/profiles.ts')).statusAction));

const switchTo = (): PetstoreCommand =>
  new PetstoreCommand('switch')
    .description('set the active profile')
    .argument('<profile>', 'name of the profile')
    .sections({
      notes: `PETSTORE_PROFILE, PETSTORE_API_KEY, PETSTORE_API_KEY_COMMAND and PETSTORE_BASE_URL override the active
profile; a warning names each that is set.`,
      output: 'one line; with --json {"profile"}.',
      examples: ['petstore auth switch staging', 'petstore auth switch sandbox'],
    })
    .action(handlerOf(async () => (await import('./auth/profiles.ts')).switchAction));

export const quota = (): PetstoreCommand =>
  new PetstoreCommand('quota')
    .description('show the remaining quota, as of the last response')
    .option('--refresh', 'send one GET /categories first')
    .option('--clear', "clear this key's cached quota, including any block after a 429")
    .sections({
      notes: `Nothing is sent without --refresh. All petstore processes that use the same key and base URL share the
quota. A block after a 429 applies to all of them.`,
      output: `remaining requests, limit and reset; with --json {"profile", "limit", "remaining", "resetAt", "blocked",
"nextRequestAt", "dailyLimit", ...}. A value is null if unknown.`,
      examples: [
        'petstore quota',
        'petstore quota --refresh -p staging',
        'petstore quota --json | jq .remaining',
        'petstore quota --clear',
      ],
    })
    .action(handlerOf(async () => (await import('./quota.ts')).quotaAction));

export const doctor = (): PetstoreCommand =>
  new PetstoreCommand('doctor')
    .description('diagnose problems and suggest fixes')
    .sections({
      notes: `Checks the Node version, the config and state directories (readable, private, writable), the profile, its base
URL, the proxy, the connection (its error says whether DNS, TCP or TLS failed), the API key (one GET /categories), the
clock, and the state server if one is configured. A check that depends on a failed one is skipped.
The exit code is that of the first failed check.`,
      output: `one row per check; with --json an array of {"id", "label", "status", "detail", "hint"}. Status is ok, warning,
failed or skipped; ids are node, config, state, state_server, profile, base_url, proxy, connection, api_key and clock.`,
      examples: [
        'petstore doctor',
        'petstore doctor -p staging',
        `petstore doctor --json | jq -r '.[] | select(.status == "failed") | .hint'`,
      ],
    })
    // A check is a single attempt.
    .hook('preAction', (_doctor, command) => void rootOf(command).setOptionValue('maxRetries', 0))
    .action(handlerOf(async () => (await import('./doctor.ts')).doctorAction));

export const sandbox = (): PetstoreCommand =>
  new PetstoreCommand('sandbox')
    .description('run a local test server that implements the API')
    .addOption(new Option('--port <number>', 'port on 127.0.0.1; 0 chooses a free port').default(4010))
    .addOption(new Option('--plan <plan>', 'rate limits of a plan; by default, free').choices(PLANS))
    .option('--limit <limit>', 'custom rate limit such as 60/6s; repeatable (all apply)', collect)
    .option('--key <key>', 'API key to accept; repeatable (each key has its own rate limit)', collect)
    .option('--data <file>', 'path of the data files, without suffix (default: the files of profile "sandbox")')
    .option('--reset', 'delete categories and rate limit windows first; ids are not reused')
    .addOption(
      new Option('--retry-after <format>', 'format of the Retry-After header')
        .choices(['seconds', 'date', 'none'])
        .default('seconds'),
    )
    .option('--fault <fault>', 'inject a fault, KIND[:PERCENT]; repeatable, see below', collect)
    .option('--seed <number>', 'seed for fault injection, for reproducible runs')
    .sections({
      notes: `The server runs until Ctrl-C and prints one line per request on stderr, except with --quiet or --json. With
-p sandbox, commands use the same data without this server. Any number of processes can
share the data. --data FILE creates FILE.1.log. The enterprise plan is unlimited.

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
    .action(handlerOf(async () => (await import('./sandbox/serve.ts')).serveAction));

export const completion = (): PetstoreCommand =>
  new PetstoreCommand('completion')
    .description('print a completion script for a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish', 'powershell']))
    .sections({
      notes: `Completes commands, options, their values, profile names and files. The script calls petstore, so you don't need to
regenerate it after an upgrade. To enable completion permanently, add the command to the
startup file of the shell: ~/.bashrc, ~/.zshrc (after compinit) or $PROFILE. The bash script works with bash 3.2
(macOS) and newer.`,
      output: 'the script; with --json {"shell", "script"}.',
      examples: [
        'eval "$(petstore completion bash)"  # ~/.bashrc',
        'eval "$(petstore completion zsh)"  # ~/.zshrc, after compinit',
        'petstore completion fish > ~/.config/fish/completions/petstore.fish',
        'petstore completion powershell | Out-String | Invoke-Expression  # $PROFILE',
      ],
    })
    .action(handlerOf(async () => (await import('./completion.ts')).scriptAction));

export const suggestions = (): PetstoreCommand =>
  new PetstoreCommand('__complete')
    .description('list what can follow the words typed so far')
    .argument('[words...]', 'the words after `petstore`, the last one under the cursor')
    // PowerShell drops empty arguments.
    .option('--at-blank', 'add an empty last word')
    .action(handlerOf(async (command) => (await import('./completion.ts')).suggestAction(rootOf(command))));
