// `petstore commands`: the command tree as data, from the definitions that parse the command line.
import type { Column } from '../output/view.ts';
import { defineCommand } from './command.ts';
import type { CommandFacts, Reference } from './reference.ts';
import { describeCommands, rootOf } from './reference.ts';

const COLUMNS: readonly Column<CommandFacts>[] = [
  { header: 'command', value: ({ usage }) => usage.replace(' [options]', ''), wrap: true },
  { header: 'description', value: ({ description }) => description, wrap: true },
];

export const commands = defineCommand<object, Reference>({
  name: 'commands',
  description: 'list all commands; with --json all options and exit codes too',
  help: {
    notes: 'For scripts and agents that would otherwise parse help texts.',
    output: `one row per command; with --json {"version", "description", "commands", "globalOptions", "environment",
"exitCodes"}. --help --json prints the same for one command.`,
    examples: ['petstore commands', "petstore commands --json | jq -r '.commands[].usage'"],
  },
  action: {
    run: async (session, { command }) => describeCommands(rootOf(command), session.context.version),
    view: { text: (reference, { table }) => table(COLUMNS, reference.commands), tables: true },
  },
});
