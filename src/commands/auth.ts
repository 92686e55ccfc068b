// The noun `auth`: what its commands are called, take and promise. Definitions only; the verbs load when run.
import type { Command } from 'commander';
import { runCommand } from './run-command.ts';

/** @param program the root to add `auth` to */
export function addAuth(program: Command): void {
  const noun = program.command('auth').description('store, check and forget API keys, profile by profile');
  addLogin(noun);
  addLogout(noun);
  addStatus(noun);
  addSwitch(noun);
}

function addLogin(noun: Command): void {
  const command = noun
    .command('login')
    .description('store an API key for a profile')
    .option('--url <url>', 'base URL of the service; https, or http on loopback, ending in /v1')
    .option('--key-command <command>', 'store a command that prints the key, instead of a key')
    .option('--no-verify', 'store the key without checking it with the service')
    .addHelpText(
      'after',
      `
The key is read from a hidden prompt on a terminal, otherwise from the first line of stdin. No option
takes it, because arguments are visible to every process. It is checked with one GET /categories,
stored in a file that only you can read, and sent only to the origin it was stored with.

A key command runs at each use, without a shell (unless you name one: sh -c '…') and for at most 30
seconds; the first line of its stdout is the key. PETSTORE_KEY_COMMAND does the same without a profile.

If the active profile has no key, the profile becomes the active one.

Output: one line; with --json {"profile", "url", "key", "verified", "active"}, the key masked.

Exit codes: 2 invalid URL, 3 invalid or rejected key (nothing is stored), 9 the file cannot be
written.

Examples:
  $ petstore auth login --url https://HOST/v1
  $ petstore auth login -p staging --url https://STAGING_HOST/v1 < key.txt
  $ petstore auth login -p ci --url https://HOST/v1 --key-command 'pass show petstore'`,
    );
  runCommand(
    command,
    () => import('./auth/login.ts'),
    (_args, options) => ({
      url: options['url'] as string | undefined,
      keyCommand: options['keyCommand'] as string | undefined,
      verify: options['verify'] !== false,
    }),
  );
}

function addLogout(noun: Command): void {
  const command = noun
    .command('logout')
    .description("remove a profile's API key and keep its URL")
    .option('--delete', 'delete the whole profile')
    .option('--all', 'delete every profile, damaged ones too')
    .addHelpText(
      'after',
      `
Output: one line; with --json {"removed", "deleted"}: the profiles that were changed.

Exit codes: 2 no such profile, 9 a file cannot be changed.

Examples:
  $ petstore auth logout
  $ petstore auth logout -p staging --delete
  $ petstore auth logout --all`,
    );
  runCommand(
    command,
    () => import('./auth/logout.ts'),
    (_args, options) => ({ all: options['all'] === true, delete: options['delete'] === true }),
  );
}

function addStatus(noun: Command): void {
  const command = noun
    .command('status')
    .description('show every profile: which is active, its URL, its masked key and where that comes from')
    .addHelpText(
      'after',
      `
Nothing is sent. A key is shown by its last four characters at most.

Output: a table; with --json an array of {"profile", "active", "url", "urlSource", "key",
"keySource", "problem", "overriddenBy"}. The active one is what the next command uses: with
PETSTORE_API_KEY and PETSTORE_BASE_URL set that is production, whatever was switched to.

Examples:
  $ petstore auth status
  $ petstore auth status --json | jq -r '.[] | select(.active) | .url'`,
    );
  runCommand(
    command,
    () => import('./auth/status.ts'),
    () => ({}),
  );
}

function addSwitch(noun: Command): void {
  const command = noun
    .command('switch')
    .description('make a profile the active one, which is used without --profile')
    .argument('<profile>', 'name of the profile')
    .addHelpText(
      'after',
      `
PETSTORE_PROFILE, and PETSTORE_API_KEY with PETSTORE_BASE_URL, go before the active profile: where
they are set a warning says so.

Output: one line; with --json {"profile", "previous", "overriddenBy"}, the last only where there are
such variables.

Exit codes: 2 no such profile, 9 a file cannot be written.

Examples:
  $ petstore auth switch staging
  $ petstore auth switch sandbox`,
    );
  runCommand(
    command,
    () => import('./auth/switch.ts'),
    (args) => ({ profile: args[0] ?? '' }),
  );
}
