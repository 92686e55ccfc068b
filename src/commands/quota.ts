// The noun `quota`: what is left of the rate limit. Definition only; the verb loads when run.
import type { Command } from 'commander';
import { runCommand } from './run-command.ts';

/** @param program the root to add `quota` to */
export function addQuota(program: Command): void {
  const command = program
    .command('quota')
    .description('show what is left of the rate limit, as the last response said')
    .option('--refresh', 'ask the service first: one GET /categories')
    .option('--forget', 'drop what is remembered of this key, a block after a 429 included')
    .addHelpText(
      'after',
      `
Nothing is sent unless --refresh is given. All petstore processes of this user that use the same key and
address share the quota: what one of them learns, and a block after a 429, counts for all.

Output: what is remaining, the limit and the reset, in the service's words; with --json {"profile",
"limit", "remaining", "resetAt", "blocked", "nextRequestAt", ...}, null where nothing is known.

Examples:
  $ petstore quota
  $ petstore quota --refresh -p staging
  $ petstore quota --json | jq .remaining
  $ petstore quota --forget`,
    );
  runCommand(
    command,
    () => import('./quota/show.ts'),
    (_args, options) => ({ refresh: options['refresh'] === true, forget: options['forget'] === true }),
  );
}
