// The definition of `petstore doctor`: checks everything between this machine and the service.
import { lazyAction, PetstoreCommand, rootOf } from '../command.ts';

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
    .action(lazyAction(async () => (await import('./doctor/diagnose.ts')).diagnoseAction));
