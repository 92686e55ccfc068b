// The completion scripts, and `petstore __complete`, which they call for candidates; without any, the shell offers files.
import type { Command, Option } from 'commander';
import { Argument } from 'commander';
import type { Action } from '../command.ts';
import { actionHandler, PetstoreCommand, rootOf } from '../command.ts';
import { escapeControls } from '../escape.ts';

const BASH = `# petstore completion for bash
_petstore() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _petstore petstore
`;

const ZSH = `#compdef petstore
# petstore completion for zsh
_petstore() {
  local -a candidates
  local line
  for line in "\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n "$line" ]] && candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#candidates} )); then _describe -t petstore 'petstore' candidates; else _files; fi
}
if [[ "\${funcstack[1]}" == _petstore ]]; then _petstore "$@"; else compdef _petstore petstore; fi
`;

const FISH = `# petstore completion for fish
function __petstore_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l lines ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
  if set -q lines[1]
    printf '%s\\n' $lines
  else
    __fish_complete_path "$current"
  end
end
complete -c petstore -f -a '(__petstore_complete)'
`;

// Windows PowerShell drops empty arguments, hence --at-blank. npm's shim drops a bare --, so it is quoted.
const POWERSHELL = `# petstore completion for PowerShell
Register-ArgumentCompleter -Native -CommandName petstore -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
    Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
  $flags = @()
  if ($wordToComplete -eq '') { $flags = @('--at-blank') }
  & petstore __complete @flags '--' @words 2>$null | ForEach-Object {
    $value, $text = $_ -split "\`t", 2
    if (-not $text) { $text = $value }
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $text)
  }
}
`;

const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH, powershell: POWERSHELL };

type Shell = keyof typeof SCRIPTS;

const scriptAction: Action<object, { readonly shell: Shell; readonly script: string }> = {
  run: async (_session, _options, shell) => ({ shell: shell as Shell, script: SCRIPTS[shell as Shell] }),
  view: { text: ({ script }) => [script] },
};

type ProfileNames = () => Promise<readonly string[]>;

const suggestAction = (root: Command): Action<{ readonly atBlank?: true }, readonly string[]> => ({
  async run(session, { atBlank }, ...words) {
    return suggest(root, atBlank ? [...words, ''] : words, async () => (await session.profiles()).names());
  },
  view: { text: (candidates) => candidates.map((one) => `${escapeControls(one, '\t')}\n`) },
});

/**
 * Suggests completions of the last word. The words before it are parsed as commander does: options anywhere, a value
 * after an option that takes one.
 * @param words after the program's name, `--format=csv` split into three as bash does; the last is under the cursor
 * @param profiles called only if the last word is a profile
 * @returns the candidates, each with a tab and its description, if it has one
 */
export async function suggest(root: Command, words: readonly string[], profiles: ProfileNames) {
  let command = root;
  let operands = 0;
  let awaiting: Option | undefined;
  for (const word of words.slice(0, -1).filter((one) => one !== '=')) {
    const child = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (awaiting) awaiting = undefined;
    else if (word.startsWith('-') && word !== '-') {
      const [flag] = word.split('=');
      const option = optionsOf(command).find(({ long, short }) => long === flag || short === flag);
      if (option?.required && !word.includes('=')) awaiting = option;
    } else if (child && operands === 0) command = child;
    // The words after `petstore help` name a command.
    else if (command !== root || word !== 'help') operands++;
  }
  const last = words.at(-1)?.replace(/^=$/, '') ?? '';
  const argument = command.registeredArguments[operands];
  let candidates: readonly string[] = [];
  if (awaiting) candidates = await valuesOf(awaiting, profiles);
  else if (last.startsWith('-')) candidates = optionsOf(command).map((one) => `${one.long}\t${one.description}`);
  else if (operands === 0 && command.commands.length > 0) candidates = subcommandsOf(command);
  else if (argument) candidates = await valuesOf(argument, profiles);
  return candidates.filter((one) => one.startsWith(last));
}

/** The options of the command and of its parents. */
function optionsOf(command: Command): readonly Option[] {
  const help = Object.assign(command.createHelp(), { showGlobalOptions: true });
  return [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
}

function subcommandsOf(command: Command): readonly string[] {
  const visible = command.createHelp().visibleCommands(command);
  return visible.flatMap((one) => [one.name(), ...one.aliases()].map((name) => `${name}\t${one.description()}`));
}

async function valuesOf(of: Option | Argument, profiles: ProfileNames): Promise<readonly string[]> {
  return of.name() === 'profile' ? (await profiles()).map((name) => `${name}\tprofile`) : (of.argChoices ?? []);
}

export const completion = (): PetstoreCommand =>
  new PetstoreCommand('completion')
    .description('print a completion script for a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish', 'powershell']))
    .sections({
      notes: `Completes commands, options, their values, profile names and files. The script calls petstore, so you don't need to
regenerate it after an upgrade. To enable completion permanently, add the command to the
startup file of the shell: ~/.bashrc, ~/.zshrc (after compinit) or $PROFILE. The bash script works with bash 3.2
(macOS) and newer.`,
      output: 'the script; with --json {"shell", "script"}.',
      exitCodes: ['usage'],
      examples: [
        'eval "$(petstore completion bash)"  # ~/.bashrc',
        'eval "$(petstore completion zsh)"  # ~/.zshrc, after compinit',
        'petstore completion fish > ~/.config/fish/completions/petstore.fish',
        'petstore completion powershell | Out-String | Invoke-Expression  # $PROFILE',
      ],
    })
    .action(actionHandler(async () => scriptAction));

export const suggestions = (): PetstoreCommand =>
  new PetstoreCommand('__complete')
    .description('list what can follow the words typed so far')
    .argument('[words...]', 'the words after `petstore`, the last one under the cursor')
    // PowerShell drops empty arguments.
    .option('--at-blank', 'add an empty last word')
    .action(actionHandler(async (command) => suggestAction(rootOf(command))));
