// The noun `doctor`: checks the way to the service. Definition only; the verb loads when run.
import type { Command } from 'commander';
import { runCommand } from './run-command.ts';

/** @param program the root to add `doctor` to */
export function addDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('check the way to the service, each check with its remedy')
    .addHelpText(
      'after',
      `
It checks the Node version, the stored configuration, the profile, its URL and key, the proxy, name
resolution, connection and certificate, whether the service accepts the key (one GET /categories),
and the clock. What depends on a failed check is skipped.

Output: one line per check; with --json {"ok", "checks": [{"name", "status", "detail", "remedy"}]},
where status is ok, warning, failed or skipped.

Exit codes: 0 where no check failed, else the code of the first that did.

Examples:
  $ petstore doctor
  $ petstore doctor -p staging
  $ petstore doctor --json | jq -r '.checks[] | select(.status == "failed") | .remedy'`,
    );
  runCommand(
    command,
    () => import('./doctor/run.ts'),
    () => ({}),
  );
}
