// The completion scripts: each passes the words to `petstore __complete` and offers the printed candidates.
import type { Action } from '../../command.ts';

const BASH = `# petstore completion for bash
_petstore() {
  local line files=''
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ "$line" == ':files' ]]; then files=1; else COMPREPLY+=("\${line%%$'\\t'*}"); fi
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ -n "$files" ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")
  fi
}
complete -F _petstore petstore
`;

const ZSH = `#compdef petstore
# petstore completion for zsh
_petstore() {
  local -a lines candidates
  local line files=''
  lines=("\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "\${lines[@]}"; do
    if [[ "$line" == ':files' ]]; then files=1; continue; fi
    [[ -z "$line" ]] && continue
    candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( \${#candidates} )) && _describe -t petstore 'petstore' candidates
  [[ -n "$files" ]] && _files
  return 0
}
if [[ "\${funcstack[1]}" == _petstore ]]; then _petstore "$@"; else compdef _petstore petstore; fi
`;

const FISH = `# petstore completion for fish
function __petstore_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  for line in ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
    if test "$line" = ':files'
      __fish_complete_path "$current"
    else
      echo $line
    end
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
  & petstore __complete @flags '--' @words 2>$null | Where-Object { $_ -ne ':files' } | ForEach-Object {
    $value, $text = $_ -split "\`t", 2
    if (-not $text) { $text = $value }
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $text)
  }
}
`;

const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH, powershell: POWERSHELL };

type Shell = keyof typeof SCRIPTS;

export const scriptAction: Action<object, { readonly shell: Shell; readonly script: string }> = {
  run: async (_session, _options, shell) => ({ shell: shell as Shell, script: SCRIPTS[shell as Shell] }),
  view: { text: ({ script }) => [script] },
};
