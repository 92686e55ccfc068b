// The noun `commands`: the whole command tree for programs and agents. Definition only; the verb loads when run.
import type { Command } from 'commander';
import { runCommand } from './run-command.ts';

/** @param program the root to add `commands` to, and whose tree it tells */
export function addCommands(program: Command): void {
  const command = program
    .command('commands')
    .description('list every command; with --json the whole tree with options and exit codes')
    .addHelpText(
      'after',
      `
For scripts and agents: nothing needs to be scraped from help texts.

Output: one line per command; with --json {"version", "description", "commands", "globalOptions",
"environment", "exitCodes"}, where each command has path, usage, arguments, options, notes and examples,
and each option its flags, description, choices, default and whether it is required.

Examples:
  $ petstore commands
  $ petstore commands --json | jq -r '.commands[].usage'`,
    );
  runCommand(
    command,
    () => import('./commands/show.ts'),
    () => ({ program }),
  );
}
