// The definition of `petstore api`: one raw authenticated request.
import { Option } from 'commander';
import { lazyAction, PetstoreCommand } from '../command.ts';

export const api = (): PetstoreCommand =>
  new PetstoreCommand('api')
    .description('send an authenticated API request and print the response body')
    .argument('<method>', 'GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS')
    .argument('<path>', 'path relative to the base URL, for example categories?x=1 (without /v1)')
    .addOption(new Option('-d, --data <json>', 'request body, a JSON document').conflicts('input'))
    .option('--input <file>', 'read the request body from a file; - reads stdin')
    .option('-i, --include', 'print status and headers before the body')
    .sections({
      notes: `Use it for operations without a petstore command: GET /pets/{petId} (deprecated) and GET /store/orders. Rate limits,
retries and exit codes work as in other commands; after a failure, only GET, HEAD and OPTIONS are retried. A warning tells you if the
response marks the operation as deprecated, sunset or unstable. On Windows, use --input rather than --data.`,
      output: `the body, byte for byte, even if the status is an error; with --json one JSON document:
the body, or {"status", "headers", "body"} with --include.`,
      exitCodes: ['usage', 'auth', 'rejected', 'rate_limited', 'network', 'service', 'unknown_outcome'],
      examples: [
        'petstore api GET categories',
        'petstore api GET store/orders --include',
        `petstore api POST categories --data '{"name":"dog"}'`,
        `echo '{"name":"cat"}' | petstore api POST categories --input - --json`,
      ],
    })
    .action(lazyAction(async () => (await import('./api/call.ts')).callAction));
