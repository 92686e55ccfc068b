// `petstore help COMMAND`, and what a bare `petstore` prints.
import { Command } from 'commander';
import { pathOf, rootOf, sections } from '../command.ts';
import { closestMatch } from '../did-you-mean.ts';
import { PetstoreError } from '../errors.ts';

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
    .description('show the help of a command')
    .argument('[command...]', 'for example: categories create')
    .addHelpText('after', sections({ examples: ['petstore help', 'petstore help categories create'] }))
    .action((words: readonly string[], _options: unknown, command: Command) => {
      words.reduce(subcommandOf, rootOf(command) as Command).outputHelp();
    });

function subcommandOf(parent: Command, word: string): Command {
  const found = parent.commands.find((one) => one.name() === word || one.aliases().includes(word));
  if (found) return found;
  const near = closestMatch(
    word,
    parent
      .createHelp()
      .visibleCommands(parent)
      .map((one) => one.name()),
  );
  // The word is not repeated: it may be a key.
  throw new PetstoreError('usage', `\`${parent.name()}\` has no such command`, {
    hint: near ? `did you mean \`${near}\`?` : `see \`${pathOf(parent)} --help\``,
  });
}
