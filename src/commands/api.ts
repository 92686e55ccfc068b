// The noun `api`: one raw authenticated call. Definition only; the verb loads when run.
import type { Command } from 'commander';
import { Option } from 'commander';
import { runCommand } from './run-command.ts';

/** @param program the root to add `api` to */
export function addApi(program: Command): void {
  const command = program
    .command('api')
    .description('send one raw authenticated request and print the body as it arrived')
    .argument('<method>', 'GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS')
    .argument('<path>', 'path below the base URL, with its query: /categories, not /v1/categories')
    .addOption(new Option('--data <json>', 'the body, a JSON document').conflicts('input'))
    .option('--input <file>', 'read the body, a JSON document, from a file; - reads stdin')
    .option('--include', 'print the status and the headers of the answer before its body')
    .addHelpText(
      'after',
      `
It reaches what the service names but does not describe: GET /pets/{petId} (deprecated) and
GET /store/orders. Limits, retries and exit codes are those of every command: only GET, HEAD and
OPTIONS are ever sent again. Where the answer is marked as deprecated, as ending or as unstable, a
warning on stderr says so.

Output: the body, byte for byte; with --json one JSON document, {"status","headers","body"} with
--include. A status that is no success prints nothing on stdout and is told on stderr.

Exit codes: 2 wrong path or body, 3 key refused, 4 request rejected, 7 read failed or redirect,
8 a write got no trustworthy answer.

Examples:
  $ petstore api GET /categories
  $ petstore api GET /store/orders --include
  $ petstore api POST /categories --data '{"name":"dog"}'
  $ echo '{"name":"cat"}' | petstore api POST /categories --input - --json`,
    );
  runCommand(
    command,
    () => import('./api/call.ts'),
    (args, options) => ({
      method: args[0] ?? '',
      path: args[1] ?? '',
      data: options['data'] as string | undefined,
      input: options['input'] as string | undefined,
      include: options['include'] === true,
    }),
  );
}
