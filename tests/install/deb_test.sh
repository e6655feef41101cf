#!/usr/bin/env bash
# The .deb files of the program and of the library, from being installed to being purged.
# shellcheck disable=SC2016  # variables of the root
set -euo pipefail
# shellcheck source=tests/install/bare_root.sh
. "$(dirname "$0")/bare_root.sh"

say "the .deb in a bare Debian $codename"
new_root debian man-db zsh fish
mkdir "$root/packages"
cp "$packages"/*_"$architecture".deb "$root/packages/"
cp -r "$tests/library" "$root/trial/findings"
inside 'dpkg-query -W -f "\${Package}\n" | sort' >"$folder/before"
quietly online 'apt-get install -y --no-install-recommends /packages/gh-advise_*.deb'
inside 'gh-advise --version; dpkg-query -W -f "\${Depends}\n" gh-advise'
inside 'gh-advise demo' | grep '^1\. '
inside 'gh-advise starved.sqlite --format json' | cmp - "$expected"
inside 'man gh-advise' | grep -q '^EXIT STATUS'
inside 'man -w gh-advise; ls -l /usr/share/doc/gh-advise/ /usr/share/gh-advise/; test -s /usr/share/gh-advise/gh.lua'
inside 'source /usr/share/bash-completion/completions/gh-advise; COMP_WORDS=(gh-advise explain unfused-n); COMP_CWORD=2; _gh_advise; echo "bash: ${COMPREPLY[*]}"' | grep -x 'bash: unfused-norm'
inside 'zsh -fc "autoload -Uz compinit && compinit -u -D; echo zsh: \$_comps[gh-advise]"' | grep -x 'zsh: _gh-advise'
inside 'fish -c "complete -C \"gh-advise explain unfused-n\""' | grep -x 'unfused-norm'

say "the library in the same root"
quietly online 'apt-get install -y --no-install-recommends /packages/libgh-advise-dev_*.deb g++ cmake ninja-build && cmake -G Ninja -S findings -B built && cmake --build built'
inside 'built/findings starved.sqlite' | tee "$folder/found"
grep -q '^error data-loader-starvation: ' "$folder/found"

say "both are gone after they are removed"
inside 'dpkg-query -L gh-advise libgh-advise-dev' | sort -u >"$folder/files"
quietly online 'apt-get purge -y gh-advise libgh-advise-dev g++ cmake ninja-build; apt-get autoremove -y --purge -o APT::AutoRemove::RecommendsImportant=false -o APT::AutoRemove::SuggestsImportant=false'
inside 'dpkg-query -W -f "\${Package}\n" | sort' | diff "$folder/before" -
while read -r file; do [ -d "$root$file" ] || [ ! -e "$root$file" ] || { echo "left behind: $file"; exit 1; }; done <"$folder/files"
# but for what this test put there, and man's own cache
left=$(find "$root" -xdev -iname '*gh-advise*' -not -path "$root/packages/*" -not -path "$root/trial/*" -not -path "$root/var/cache/man/*")
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
