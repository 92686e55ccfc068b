// The command tree: options of every command, and all commands by group.
import { Command, Option } from 'commander';
import { bold, fill, Program, sections } from './command.ts';
import { api } from './commands/api.ts';
import { login } from './commands/auth/login.ts';
import { logout } from './commands/auth/logout.ts';
import { status } from './commands/auth/status.ts';
import { switchTo } from './commands/auth/switch.ts';
import { create } from './commands/categories/create.ts';
import { importRows } from './commands/categories/import.ts';
import { list } from './commands/categories/list.ts';
import { completion, suggestions } from './commands/completion.ts';
import { doctor } from './commands/doctor.ts';
import { help } from './commands/help.ts';
import { quota } from './commands/quota.ts';
import { sandbox } from './commands/sandbox.ts';
import type { Context } from './io.ts';
import { colorLevel } from './io.ts';

const categories = (): Command =>
  new Command('categories')
    .description('list, create and import the categories that classify pets')
    .addHelpText(
      'after',
      sections({
        examples: [
          'petstore categories list --search cat',
          'petstore categories create --name dog --description "Canis familiaris"',
          'petstore categories import species.csv',
        ],
      }),
    )
    .addCommand(list())
    .addCommand(create())
    .addCommand(importRows());

const auth = (): Command =>
  new Command('auth')
    .description('log in, log out and switch between profiles')
    .addHelpText(
      'after',
      sections({
        examples: ['petstore auth login --url https://HOST/v1', 'petstore auth status'],
      }),
    )
    .addCommand(login())
    .addCommand(logout())
    .addCommand(status())
    .addCommand(switchTo());

/**
 * Builds the command tree.
 * @returns commander's root; `parseAsync` rejects with CommanderError or PetstoreError
 */
export function createProgram(context: Context, write: (text: string) => void = () => undefined): Program {
  const { stdout, env, args, version } = context;
  const program = new Program(context);
  program
    .description('Command-line client for the pet store API: list, create and import pet categories.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .configureHelp({ styleTitle: bold, minWidthToWrap: 20 })
    .configureOutput({
      writeOut: write,
      // Errors are reported in one place.
      writeErr: () => undefined,
      getOutHelpWidth: () => Math.max(40, Math.min(100, stdout.columns || 80)),
      getOutHasColors: () => colorLevel(stdout, env, args.includes('--no-color')) > 0,
    })
    .option(
      '-p, --profile <name>',
      'profile to use: its base URL, key and quota (environment: PETSTORE_PROFILE; default: the active one)',
    )
    .option('--json', 'print exactly one JSON document; errors are JSON on stderr')
    // Defaults are only described: what is not given may be set by the environment.
    .addOption(
      new Option(
        '--max-wait <duration>',
        'maximum wait for the rate limit; exit 5 if longer (environment: PETSTORE_MAX_WAIT)',
      ).default(undefined, '2m'),
    )
    .addOption(
      new Option(
        '--max-retries <number>',
        'retries of one request after the first attempt (environment: PETSTORE_MAX_RETRIES)',
      ).default(undefined, '4'),
    )
    .addOption(
      new Option(
        '--timeout <duration>',
        'timeout per attempt, from connect to last byte (environment: PETSTORE_TIMEOUT)',
      ).default(undefined, '30s'),
    )
    .option('-q, --quiet', 'hide spinner, quota line and notices (environment: PETSTORE_QUIET)')
    .option('-v, --verbose', 'show every request and response on stderr, with the key redacted')
    .option('--no-color', 'disable colour (environment: NO_COLOR, FORCE_COLOR)')
    .addHelpText(
      'after',
      sections({
        notes: `petstore waits for the rate limit where it must, shares it with other petstore processes, and never creates a
category twice. stdout carries the result and nothing else.`,
        exitCodes: `0 done, 1 bug in petstore, 2 wrong usage, 3 no key or key not accepted, 4 request rejected, 5 rate
limited, 6 service not reached, 7 service failed, 8 outcome of a create unknown, 9 local file error, 130 interrupted.`,
        examples: [
          'petstore categories list -p sandbox',
          'petstore auth login --url https://HOST/v1',
          'petstore help categories create',
        ],
      }),
    )
    .addHelpText('afterAll', ({ command }) => (command.parent ? globalOptions(command, program) : ''))
    .commandsGroup('Categories:')
    .addCommand(categories())
    .addCommand(api())
    .commandsGroup('Keys and limits:')
    .addCommand(auth())
    .addCommand(quota())
    .addCommand(doctor())
    .commandsGroup('Testing and scripting:')
    .addCommand(sandbox())
    .addCommand(completion())
    .addCommand(help())
    .addCommand(suggestions(), { hidden: true });
  inherit(program);
  return program;
}

// Commands that were built apart take over how help is shown and errors are thrown; each error names its command.
function inherit(command: Command): void {
  command.exitOverride((error) => {
    throw Object.assign(error, { command });
  });
  for (const child of command.commands) {
    inherit(child.copyInheritedSettings(command).helpCommand(false));
  }
}

function globalOptions(command: Command, program: Program): string {
  const names = program.options.filter(({ hidden }) => !hidden).map(({ long }) => long);
  return `\n${fill(command, `${bold('Global options:')} ${names.join(', ')}; see petstore --help.`)}`;
}
