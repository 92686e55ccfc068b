// The definition of `petstore categories import`; its code is loaded when it runs.
import { Command } from 'commander';
import { lazyAction, sections } from '../../command.ts';

export const importRows = (): Command =>
  new Command('import')
    .description('create the categories of a file that do not exist yet')
    .argument('<file>', 'JSON array, NDJSON, CSV or TSV; - reads stdin')
    .option('--delimiter <char>', 'field separator of a CSV file; comma, semicolon and tab are detected')
    .option('--ignore-extra', 'ignore columns and fields other than name and description', false)
    .option('--map <name=column>', 'which column is the name or the description (repeatable)', collect)
    .option('--trust-list', 'take the list as it is, for categories that were deleted on purpose', false)
    .option('--dry-run', 'preview without creating anything', false)
    .option('-y, --yes', 'do not ask for confirmation', false)
    .option('--concurrency <number>', 'maximum number of concurrent requests', '8')
    .addHelpText(
      'after',
      sections({
        notes: `The whole file is checked before anything is sent. A row whose name the service lists is skipped, so the same
command can be run again after Ctrl-C, a crash or an edit of the file. A name that stands in the file twice stands for two categories.`,
        output: `how many rows were created, skipped, failed or are unknown, and which failed; with --json {"created",
"skipped", "failed", "unknown", "pending"}, printed whenever something was sent.`,
        exitCodes: `2 invalid file and nothing sent, 3 key not accepted, 4 some rows were rejected, 5 rate limited, 8 some rows
may or may not exist, 130 interrupted: run it again.`,
        examples: [
          'petstore categories import species.csv',
          'petstore categories import arten.csv --map name=Name --map description=Beschreibung --dry-run',
          'petstore categories list --format ndjson -p production | petstore categories import - -p staging --yes',
        ],
      }),
    )
    .action(lazyAction(async () => (await import('./run-import.ts')).importAction));

function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}
