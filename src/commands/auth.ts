// The definitions of `petstore auth` and its subcommands; their code is loaded when they run.
import { handlerOf, PetstoreCommand } from '../command.ts';

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
profile; a warning names those that are set.`,
      output: 'one line; with --json {"profile"}.',
      examples: ['petstore auth switch staging', 'petstore auth switch sandbox'],
    })
    .action(handlerOf(async () => (await import('./auth/profiles.ts')).switchAction));
