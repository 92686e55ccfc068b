// The definition of `petstore categories import`; its code is loaded when it runs.
import { actionHandler, collectValues, PetstoreCommand } from '../../command.ts';
import { CHANGE_ERRORS } from '../../reference.ts';

export const importCommand = (): PetstoreCommand =>
  new PetstoreCommand('import')
    .description('create categories from a file, skipping those that exist')
    .argument('<file>', 'JSON array, NDJSON, CSV or TSV; - reads stdin')
    .option('--delimiter <char>', 'field separator of a CSV file (default: detected among comma, semicolon, tab and |)')
    .option(
      '--encoding <name>',
      'text encoding of the file, for example windows-1252 (default: UTF-8); a byte order mark overrides it',
    )
    .option('--ignore-extra', 'ignore columns and fields other than name and description')
    .option('--map <name=column>', 'read the name or the description from this column; repeatable', collectValues)
    .option('--dry-run', 'preview without creating anything')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--concurrency <number>', 'maximum number of concurrent requests', '8')
    .sections({
      notes: `A file has at most 64 MiB and 500,000 rows, and is checked completely before anything is sent. Rows whose names
exist are skipped, so you can run the same command again after Ctrl-C, a crash or an edit of the file. A row that
repeats a name is skipped, with a warning; if the descriptions differ, the file is rejected. Imports into one base URL that use
the same state directory or state server run one at a time. If stdin and stderr are terminals, petstore asks before it creates
anything. If the rows come from stdin and stderr is a terminal, --yes is required. Neither applies in CI or to the
profile sandbox.`,
      output: `the number of created, skipped, failed and unknown rows, and tables of at most 20 failed and 20 unknown rows. With
--json, one document with "created", "skipped", "failed", "unknown" and "pending", printed if a create was sent
or the import completed.`,
      exitCodes: CHANGE_ERRORS,
      examples: [
        'petstore categories import species.csv',
        'petstore categories import animals.csv --map name=Species --map description=Notes --dry-run',
        'petstore categories import export.txt --encoding windows-1252 --delimiter tab',
        'petstore categories list --format ndjson -p production | petstore categories import - -p staging --yes',
      ],
    })
    .action(actionHandler(async () => (await import('./run-import.ts')).importAction));
