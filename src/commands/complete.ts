// The noun `complete`: completion scripts, and the hidden command that they ask. Definitions only; the verbs load when run.
import type { Command } from 'commander';
import { Argument } from 'commander';
import type { Shell } from '../reference/facts.ts';
import { SHELLS } from '../reference/facts.ts';
import { runCommand } from './run-command.ts';

/** @param program the root to add `complete` to */
export function addComplete(program: Command): void {
  const command = program
    .command('complete')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addHelpText(
      'after',
      `
With it, Tab completes commands, options, their values and the names of profiles. The script asks
petstore itself, so that it need not be renewed after an upgrade.

Output: the script; with --json {"shell","script"}.

Examples:
  $ eval "$(petstore complete bash)"                                # add to ~/.bashrc
  $ eval "$(petstore complete zsh)"                                 # add to ~/.zshrc, after compinit
  $ petstore complete fish > ~/.config/fish/completions/petstore.fish
  $ petstore complete powershell | Out-String | Invoke-Expression   # add to $PROFILE`,
    );
  runCommand(
    command,
    () => import('./complete/script.ts'),
    (args) => ({ shell: args[0] as Shell }),
  );
  addSuggest(program);
}

// What the scripts call at every Tab: the words so far after `--`.
function addSuggest(program: Command): void {
  const command = program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .option('--at-blank', 'the cursor stands after a blank: the last word is empty (PowerShell drops empty arguments)');
  runCommand(
    command,
    () => import('./complete/suggest.ts'),
    (args, options) => ({ program, words: options['atBlank'] === true ? [...args, ''] : args }),
  );
}
