// The completion scripts, which call `petstore __complete` for candidates.
const BASH = `# petstore completion for bash
_petstore() {
  local line files=
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ "$line" == :files ]]; then files=1; else COMPREPLY+=("\${line%%$'\\t'*}"); fi
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  # bash 3.2 has no compopt and always offers files if there is nothing else.
  if [[ -z "$files" ]]; then compopt +o default 2>/dev/null; fi
  return 0
}
complete -o default -F _petstore petstore
`;

const ZSH = `#compdef petstore
# petstore completion for zsh
_petstore() {
  local -a candidates
  local line
  for line in "\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ "$line" == :files ]]; then compset -P '--*='; _files; return; fi
    # The separator of a value and its description, if it has one, is a colon.
    [[ -n "$line" ]] && candidates+=("\${\${line//:/\\\\:}/$'\\t'/:}")
  done
  _describe -t petstore 'petstore' candidates
}
if [[ "\${funcstack[1]}" == _petstore ]]; then _petstore "$@"; else compdef _petstore petstore; fi
`;

const FISH = `# petstore completion for fish
function __petstore_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l lines ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
  if contains -- :files $lines
    set -l flag (string match -r '^--[^=]*=' -- $current)
    printf "$flag%s\\n" (__fish_complete_path (string replace -- "$flag" '' "$current"))
  else if set -q lines[1]
    printf '%s\\n' $lines
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
  $lines = @(& petstore __complete @flags '--' @words 2>$null)
  # Without a result, PowerShell offers files; an empty string prevents that.
  if ($lines -contains ':files') { return }
  if (-not $lines) { return '' }
  $lines | ForEach-Object {
    $value, $text = $_ -split "\`t", 2
    if (-not $text) { $text = $value }
    [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $text)
  }
}
`;

/** The completion script of each shell. */
export const SCRIPTS: ReadonlyMap<string, string> = new Map([
  ['bash', BASH],
  ['zsh', ZSH],
  ['fish', FISH],
  ['powershell', POWERSHELL],
]);
