// The noun `categories`: what its commands are called, take and promise. Definitions only; the verbs load when run.
import type { Command } from 'commander';
import { Option } from 'commander';
import type { Format } from '../output/view.ts';
import { runCommand } from './run-command.ts';

/** The formats that `categories list` prints (contract, section 2). */
export const FORMATS: readonly Format[] = ['table', 'json', 'ndjson', 'csv', 'tsv'];

/** @param program the root to add `categories` to */
export function addCategories(program: Command): void {
  const noun = program.command('categories').description('list, create and import the categories that classify pets');
  addList(noun);
  addCreate(noun);
  addImport(noun);
}

function addList(noun: Command): void {
  const command = noun
    .command('list')
    .alias('ls')
    .description('list all categories')
    // A default that is only told: given, `table` would contradict --json.
    .addOption(new Option('--format <format>', 'how to print them').choices(FORMATS).default(undefined, 'table'))
    .option('--search <text>', 'only those with this text in name or description, any case')
    .addOption(
      new Option('--sort <field>', 'order by id or by name; otherwise as the service lists them').choices([
        'id',
        'name',
      ]),
    )
    .addHelpText(
      'after',
      `
Search and order are applied here: the service documents neither.

Output: a table, fitted to the terminal and whole in a pipe; with --json an array of {"id", "name",
"description"}, fields the service adds later included. csv, tsv, json and ndjson can be imported.

Exit codes: 3 no key or key refused, 5 rate limited, 6 not reached, 7 the service failed.

Examples:
  $ petstore categories list
  $ petstore categories list --search cat --sort name
  $ petstore categories list --json | jq -r '.[].name'
  $ petstore categories list --format csv > categories.csv`,
    );
  runCommand(
    command,
    () => import('./categories/list.ts'),
    (_args, options) => ({
      search: options['search'] as string | undefined,
      sort: options['sort'] as 'id' | 'name' | undefined,
    }),
  );
}

function addCreate(noun: Command): void {
  const command = noun
    .command('create')
    .description('create a category')
    .requiredOption('--name <name>', 'name of the category, for example a species')
    .option('--description <text>', 'short description')
    .option('--if-missing', 'where a category of exactly this name exists, print that one and create nothing')
    .addHelpText(
      'after',
      `
A create is sent once. Where no trustworthy answer comes, it is not sent again: exit code 8 says
that the category may or may not exist.

Output: one line; with --json the category as the service returned it.

Exit codes: 3 no key or key refused, 4 rejected (400), 5 rate limited, 6 not reached and nothing was
created, 8 outcome unknown.

Examples:
  $ petstore categories create --name dog
  $ petstore categories create --name cat --description "Felis catus" --json
  $ petstore categories create --name rabbit --if-missing`,
    );
  runCommand(
    command,
    () => import('./categories/create.ts'),
    (_args, options) => ({
      name: String(options['name']),
      description: options['description'] as string | undefined,
      ifMissing: options['ifMissing'] === true,
    }),
  );
}

function addImport(noun: Command): void {
  const command = noun
    .command('import')
    .description('create one category per row of a file, each exactly once')
    .argument('<file>', 'JSON array, NDJSON, CSV or TSV; - reads stdin')
    .option('--delimiter <char>', 'what separates the fields of a CSV file, for example ";"')
    .option('--ignore-extra', 'ignore other columns and fields than name and description')
    .option('--skip-existing', 'leave out rows whose name exists already')
    .option('--dry-run', 'say what would be created, and send no create')
    .option('-y, --yes', 'do not ask first')
    .option('--concurrency <number>', 'requests under way at once, at most', '8')
    .option('--restart', 'forget the journal of an earlier run of this import')
    .addHelpText(
      'after',
      `
The whole file is checked before anything is sent. Progress is kept in a journal: after Ctrl-C, a crash
or a rate limit, the same command goes on where it stopped and creates nothing twice.

Output: how many rows were created, skipped, failed or are unknown, and which failed; with --json
{"created", "skipped", "failed", "unknown", "pending"}, printed whenever something was sent.

Exit codes: 2 a bad file and nothing was sent, 3 key refused, 4 some rows were rejected, 5 rate
limited, 8 some rows may or may not exist, 130 interrupted: run it again.

Examples:
  $ petstore categories import species.csv
  $ petstore categories import species.ndjson --skip-existing --dry-run
  $ petstore categories list --format ndjson -p production | petstore categories import - -p staging --yes`,
    );
  runCommand(
    command,
    () => import('./categories/import.ts'),
    (args, options) => ({
      file: args[0] ?? '-',
      delimiter: options['delimiter'] as string | undefined,
      ignoreExtra: options['ignoreExtra'] === true,
      skipExisting: options['skipExisting'] === true,
      dryRun: options['dryRun'] === true,
      yes: options['yes'] === true,
      concurrency: String(options['concurrency']),
      restart: options['restart'] === true,
    }),
  );
}
