// `petstore completion`, and the hidden command that its scripts call on each Tab.
import { Argument } from 'commander';
import { lazyAction, PetstoreCommand, rootOf } from '../command.ts';

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;

export const completion = (): PetstoreCommand =>
  new PetstoreCommand('completion')
    .description('print a completion script for a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .sections({
      notes: `Completes commands, options, their values and profile names. The script calls petstore, so you don't need to
regenerate it after an upgrade. To enable completion permanently, add the command to the
startup file of the shell: ~/.bashrc, ~/.zshrc (after compinit) or $PROFILE. The bash script works with bash 3.2
(macOS) and newer.`,
      output: 'the script; with --json {"shell", "script"}.',
      examples: [
        'eval "$(petstore completion bash)"  # ~/.bashrc',
        'eval "$(petstore completion zsh)"  # ~/.zshrc, after compinit',
        'petstore completion fish > ~/.config/fish/completions/petstore.fish',
        'petstore completion powershell | Out-String | Invoke-Expression  # $PROFILE',
      ],
    })
    .action(lazyAction(async () => (await import('./completion/scripts.ts')).scriptAction));

export const suggestions = (): PetstoreCommand =>
  new PetstoreCommand('__complete')
    .description('list what can follow the words typed so far')
    .argument('[words...]', 'the words after `petstore`, the last one under the cursor')
    // PowerShell drops empty arguments.
    .option('--at-blank', 'add an empty last word')
    .action(lazyAction(async (command) => (await import('./completion/suggest.ts')).suggestAction(rootOf(command))));
