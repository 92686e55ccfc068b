// The definition of `petstore doctor`: checks everything between this machine and the service.
import { Command } from 'commander';
import { lazyAction, sections } from '../command.ts';

export const doctor = (): Command =>
  new Command('doctor')
    .description('diagnose problems, each with its remedy')
    .addHelpText(
      'after',
      sections({
        notes: `Checks the Node version, the stored configuration, the profile, its base URL and key, the proxy, name
resolution, connection and certificate, whether the service accepts the key (one GET /categories), and the clock.
What depends on a failed check is skipped.`,
        output: `one row per check; with --json {"ok", "checks": [{"name", "status", "detail", "remedy"}]}, where status is
ok, warning, failed or skipped.`,
        exitCodes: '0 no check failed, otherwise the code of the first failed check.',
        examples: [
          'petstore doctor',
          'petstore doctor -p staging',
          `petstore doctor --json | jq -r '.checks[] | select(.status == "failed") | .remedy'`,
        ],
      }),
    )
    .action(lazyAction(async () => (await import('./doctor/diagnose.ts')).diagnoseAction));
