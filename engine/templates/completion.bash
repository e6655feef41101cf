# Completions of gh-advise for bash.
_gh_advise() {
  local commands='{{commands}}' ids='{{ids}}' selectable='{{selectable}}'
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=check options kind words
  # bash splits --option=value at the sign.
  if [[ $current == = ]]; then current=''; elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi
  if (( COMP_CWORD > 1 )) && [[ " $commands " == *" ${COMP_WORDS[1]} "* ]]; then command=${COMP_WORDS[1]}; fi
  case $command in
{{cases}}  esac
  if (( COMP_CWORD == 1 )); then options+='{{options}}'; fi
  COMPREPLY=()
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
    return
  fi
  case $kind in
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
    list)  # separated by commas
      local before=''
      if [[ $current == *,* ]]; then before=${current%,*},; fi
      mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "${current##*,}") ;;
    files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    folders) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
  esac
  if (( COMP_CWORD == 1 )); then
    local -a named
    mapfile -t named < <(compgen -W "$commands" -- "$current")
    COMPREPLY=("${named[@]}" "${COMPREPLY[@]}")
  fi
}
complete -F _gh_advise gh-advise
