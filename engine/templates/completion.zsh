#compdef gh-advise
# Completions of gh-advise for zsh.
_gh-advise_rule() { compadd -- {{ids}} }
_gh-advise_rules() { _values -s , rule {{selectable}} }
_gh-advise() {
  local -a commands=(
{{described}}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _arguments{{options}}
  fi
  local command=check
  if (( ${commands[(I)${words[2]}:*]} )); then
    command=${words[2]}
    shift words
    (( CURRENT-- ))
  fi
  case $command in
{{cases}}  esac
}
if [ "${funcstack[1]}" = _gh-advise ]; then _gh-advise "$@"; else compdef _gh-advise gh-advise; fi
