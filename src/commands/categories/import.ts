// The definition of `petstore categories import`; its code is loaded when it runs.
import { Command } from 'commander';
import { lazyAction, sections } from '../../command.ts';

export const importRows = (): Command =>
  new Command('import')
    .description('create one category per row of a file, each exactly once')
    .argument('<file>', 'JSON array, NDJSON, CSV or TSV; - reads stdin')
    .option('--delimiter <char>', 'field separator of a CSV file, for example ";"')
    .option('--ignore-extra', 'ignore columns and fields other than name and description', false)
    .option('--skip-existing', 'skip rows whose name already exists', false)
    .option('--dry-run', 'preview without creating anything', false)
    .option('-y, --yes', 'do not ask for confirmation', false)
    .option('--concurrency <number>', 'maximum number of concurrent requests', '8')
    .option('--restart', 'ignore the journal of earlier runs and start over', false)
    .addHelpText(
      'after',
      sections({
        notes: `The whole file is checked before anything is sent. Progress is kept in a journal: after Ctrl-C, a crash or a
rate limit the same command resumes where it stopped and creates nothing twice.`,
        output: `how many rows were created, skipped, failed or are unknown, and which failed; with --json {"created",
"skipped", "failed", "unknown", "pending"}, printed whenever something was sent.`,
        exitCodes: `2 invalid file and nothing sent, 3 key not accepted, 4 some rows were rejected, 5 rate limited, 8 some rows
may or may not exist, 130 interrupted: run it again.`,
        examples: [
          'petstore categories import species.csv',
          'petstore categories import species.ndjson --skip-existing --dry-run',
          'petstore categories list --format ndjson -p production | petstore categories import - -p staging --yes',
        ],
      }),
    )
    .action(lazyAction(async () => (await import('./run-import.ts')).importAction));
