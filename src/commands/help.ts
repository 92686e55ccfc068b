// `petstore help COMMAND`, the text of a bare `petstore`, and the command reference as JSON (`--help --json`).
import type { Option } from 'commander';
import { Command } from 'commander';
import { pathOf, rootOf, sections } from '../command.ts';
import { PetstoreError } from '../errors.ts';
import { ENVIRONMENT, EXIT_CODES, GLOBAL_OPTIONS } from '../reference.ts';

export const WELCOME = `petstore is a command-line client for the pet store API.

Try it without an account, on a local sandbox:
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

export const help = (): Command =>
  new Command('help')
    .description('show help for a command')
    .argument('[command...]', 'for example: categories create')
    .addHelpText('after', sections({ examples: ['petstore help', 'petstore help categories create'] }))
    .action((words: readonly string[], _options: unknown, command: Command) => {
      const root = rootOf(command);
      const meant = words.reduce<Command>(subcommandOf, root);
      if (command.optsWithGlobals()['json'])
        root.configureOutput().writeOut?.(`${JSON.stringify(describeCommands(meant))}\n`);
      else meant.outputHelp();
    });

function subcommandOf(parent: Command, word: string): Command {
  const found = parent.commands.find((one) => one.name() === word || one.aliases().includes(word));
  if (found) return found;
  throw new PetstoreError('usage', `unknown command "${word}"`, { hint: `see \`${pathOf(parent)} --help\`` });
}

/** The reference of all commands below the given one, with global options, environment variables and exit codes. */
export function describeCommands(command: Command) {
  const root = rootOf(command);
  const leaves = leavesOf(command);
  return {
    version: root.context.version,
    description: root.description(),
    ...notesOf(root),
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

function leavesOf(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.createHelp().visibleCommands(command).flatMap(leavesOf);
}

function describeCommand(command: Command) {
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
    ...notesOf(command),
  };
}

/** The value of an option that is not typed; switches have no default. */
export function defaultOf(option: Pick<Option, 'defaultValue' | 'defaultValueDescription'>): string | undefined {
  const { defaultValue, defaultValueDescription } = option;
  return defaultValueDescription ?? (typeof defaultValue === 'string' ? defaultValue : undefined);
}

/** Wide enough that no paragraph is wrapped. */
const WIDTH = 5000;

// Extracts the sections below the options from a command's help.
function notesOf(command: Command): { readonly notes: string; readonly examples: readonly string[] } {
  let text = '';
  const writeOut = (part: string): void => {
    text += part;
  };
  command.configureOutput({ writeOut, getOutHelpWidth: () => WIDTH, getOutHasColors: () => false });
  command.outputHelp();
  const [notes = '', more = ''] = text.slice(command.helpInformation().length).split('Examples:\n');
  const examples = [...more.matchAll(/^ {2}\$ (.*?)(?: {2,}#.*)?$/gm)].map(([, line = '']) => line);
  // The reference lists the exit codes separately.
  return { notes: notes.replace(/Exit codes:\n[\s\S]*/, '').trim(), examples };
}
