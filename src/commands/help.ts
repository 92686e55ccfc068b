// `petstore help COMMAND`, the text of a bare `petstore`, and the command reference as JSON (`--help --json`).
import type { Command, Option } from 'commander';
import { PetstoreCommand, pathOf, rootOf, subcommandNamed } from '../command.ts';
import { wrapParagraphs } from '../output/wrap.ts';
import { ENVIRONMENT, EXIT_CODES, GLOBAL_OPTIONS } from '../reference.ts';

export const WELCOME = `petstore is a command-line client for the pet store API.

Try it without an account, in a local sandbox:
  $ petstore categories create --name dog -p sandbox
  $ petstore categories list -p sandbox

Use it with your API key:
  $ petstore auth login --url https://HOST/v1
  $ petstore categories list

More:
  $ petstore help                     all commands
  $ petstore help categories create   one command, with examples
  $ petstore doctor                   diagnose problems
`;

export const help = (): PetstoreCommand =>
  new PetstoreCommand('help')
    .description('show help for a command')
    .argument('[command...]', 'for example: categories create')
    .sections({ examples: ['petstore help', 'petstore help categories create'] })
    .action((words: readonly string[], _options: unknown, command: Command) => {
      const root = rootOf(command);
      const meant = words.reduce<Command>(subcommandOf, root);
      if (command.optsWithGlobals()['json'])
        root.configureOutput().writeOut?.(`${JSON.stringify(describeCommands(meant))}\n`);
      else meant.outputHelp();
    });

function subcommandOf(parent: Command, word: string): Command {
  // The same error as for running an unknown command.
  return subcommandNamed(parent, word) ?? parent.error(`'${word}'`, { code: 'commander.unknownCommand' });
}

/** The reference of all commands below the given one, with global options, environment variables and exit codes. */
export function describeCommands(command: Command) {
  const root = rootOf(command);
  const leaves = leavesOf(command);
  return {
    version: root.context.version,
    description: root.description(),
    notes: unwrapped(root.helpSections.notes),
    examples: examplesOf(root),
    commands: leaves.map(describeCommand),
    globalOptions: GLOBAL_OPTIONS.map(({ flags, description, variable, fallback }) => {
      const long = /--[\w-]+/.exec(flags)?.[0];
      return { flags, long, description, env: variable, default: fallback };
    }),
    environment: ENVIRONMENT,
    exitCodes: [
      { code: 0, meaning: 'success' },
      ...Object.entries(EXIT_CODES).map(([kind, { code, meaning, retry }]) => ({ code, kind, meaning, retry })),
    ],
  };
}

function leavesOf(command: Command): readonly PetstoreCommand[] {
  return command.commands.length === 0
    ? [command as PetstoreCommand]
    : command.createHelp().visibleCommands(command).flatMap(leavesOf);
}

function describeCommand(command: PetstoreCommand) {
  const path = pathOf(command);
  return {
    /** Without the program's name: `categories list`. */
    path: path.replace(/^petstore ?/, ''),
    aliases: command.aliases(),
    description: command.description(),
    usage: `${path} ${command.usage()}`,
    arguments: command.registeredArguments.map((one) => {
      const { description, required, variadic, argChoices: choices } = one;
      return { name: one.name(), description, required, variadic, choices };
    }),
    options: command.options
      .filter(({ hidden }) => !hidden)
      .map(({ flags, short, long, description, mandatory, argChoices: choices, ...option }) => ({
        flags,
        short,
        long,
        description,
        /** The name of its value; absent for a switch. */
        value: /<(.+?)>/.exec(flags)?.[1],
        required: mandatory,
        // Only options that collect their values have a parser.
        repeatable: option.parseArg !== undefined && choices === undefined,
        choices,
        default: defaultOf(option),
      })),
    notes: unwrapped(command.notes),
    examples: examplesOf(command),
  };
}

/** The value of an option that is not typed; switches have no default. */
export function defaultOf(option: Pick<Option, 'defaultValue' | 'defaultValueDescription'>): string | undefined {
  const { defaultValue, defaultValueDescription } = option;
  return defaultValueDescription ?? (typeof defaultValue === 'string' ? defaultValue : undefined);
}

function examplesOf({ helpSections }: PetstoreCommand): readonly string[] {
  return helpSections.examples.map((line) => line.replace(/ {2,}#.*$/, ''));
}

function unwrapped(text = ''): string {
  return wrapParagraphs(text, Number.POSITIVE_INFINITY);
}
