# Completions of gh-advise for fish.
set -l commands {{commands}}
set -g __gh_advise_rules {{ids}}
set -g __gh_advise_selectable {{selectable}}
complete -c gh-advise -f
{{completions}}