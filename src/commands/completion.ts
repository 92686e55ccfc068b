// `petstore completion`: the scripts, and the hidden command that they call at every Tab.
import { Argument, Option } from 'commander';
import { defineCommand } from './command.ts';

/** The shells that have a completion script. */
export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;

export const completion = defineCommand({
  name: 'completion',
  aliases: ['complete'],
  description: 'print a completion script for a shell',
  arguments: [new Argument('<shell>', 'the shell').choices(SHELLS)],
  help: {
    notes: `Tab then completes commands, options, their values and profile names. The script asks petstore itself, so it
stays valid after an upgrade.`,
    output: 'the script; with --json {"shell", "script"}.',
    examples: [
      'eval "$(petstore completion bash)"                                # add to ~/.bashrc',
      'eval "$(petstore completion zsh)"                                 # add to ~/.zshrc, after compinit',
      'petstore completion fish > ~/.config/fish/completions/petstore.fish',
      'petstore completion powershell | Out-String | Invoke-Expression   # add to $PROFILE',
    ],
  },
  action: async () => (await import('./completion/scripts.ts')).scriptAction,
});

export const suggestions = defineCommand({
  name: '__complete',
  hidden: true,
  description: 'list what can follow the words typed so far',
  arguments: [new Argument('[words...]', 'the words after `petstore`, the last one under the cursor')],
  // PowerShell drops empty arguments.
  options: [new Option('--at-blank', 'add an empty last word')],
  help: { examples: [] },
  action: async () => (await import('./completion/suggest.ts')).suggestAction,
});
