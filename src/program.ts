// The command tree: options of every command, one line per noun.
import { Command, Option } from 'commander';
import { addApi } from './commands/api.ts';
import { addAuth } from './commands/auth.ts';
import { addCategories, FORMATS } from './commands/categories.ts';
import { addCommands } from './commands/commands.ts';
import { addComplete } from './commands/complete.ts';
import { addDoctor } from './commands/doctor.ts';
import { addHelp } from './commands/help.ts';
import { addQuota } from './commands/quota.ts';
import { provide } from './commands/run-command.ts';
import { addSandbox } from './commands/sandbox.ts';
import { colorLevel } from './io.ts';
import type { Context } from './session.ts';

/**
 * Builds the command tree.
 * @param context the world its commands run in
 * @param say takes the help and the version that were asked for, and of which command
 * @returns commander's root; `parseAsync` rejects with CommanderError or PetstoreError
 */
export function createProgram(
  context: Context,
  say: (text: string, command: Command) => void = () => undefined,
): Command {
  const program = new Command('petstore')
    .description('The command line for the pet store service: list and create pet categories, politely.')
    .usage('<command> [options]')
    .version(context.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .exitOverride()
    .configureOutput({
      // Errors are told in one place and one voice: see report.ts.
      writeErr: () => undefined,
    });
  addGlobalOptions(program);
  provide(program, context);
  const nouns = [addCategories, addAuth, addQuota, addApi, addSandbox, addDoctor, addComplete, addCommands];
  for (const add of nouns) add(program);
  const color = colorLevel(context.stdout, context.env, context.args.includes('--no-color')) > 0;
  addHelp(program, context.stdout, color, say);
  return program;
}

function addGlobalOptions(program: Command): void {
  const options = [
    new Option(
      '-p, --profile <name>',
      'whose URL, key and quota to use (environment: PETSTORE_PROFILE; else the active one)',
    ),
    new Option('--json', 'print exactly one JSON document; errors are JSON on stderr'),
    // A default that is only told: what is not given may still be given by the environment.
    new Option(
      '--max-wait <duration>',
      'longest single pause for the rate limit (environment: PETSTORE_MAX_WAIT)',
    ).default(undefined, '2m'),
    new Option(
      '--max-retries <number>',
      'further tries of one request after the first (environment: PETSTORE_MAX_RETRIES)',
    ).default(undefined, '4'),
    new Option('--timeout <duration>', 'for one try, connect to last byte (environment: PETSTORE_TIMEOUT)').default(
      undefined,
      '30s',
    ),
    new Option('-q, --quiet', 'no spinner, no quota line, no notices; problems still show'),
    new Option('-v, --verbose', 'show every request and response on stderr, the key redacted'),
    new Option('--no-color', 'no colour (environment: NO_COLOR, FORCE_COLOR)'),
    // Taken anywhere, told of only in the help of `categories list`: the other commands know table and json alone.
    new Option('--format <format>', 'how to print the answer').choices(FORMATS).hideHelp(),
  ];
  for (const option of options) program.addOption(option);
}
