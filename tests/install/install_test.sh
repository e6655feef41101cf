#!/usr/bin/env bash
# Installs the packages where nothing else is, tries what a user would, and takes them away again: install_test.sh PACKAGES BUILD-FOLDER
# Needs root, debootstrap and strace; for the arm64 packages mmdebstrap and qemu's user mode.
set -euo pipefail
tests=$(cd "$(dirname "$0")/.." && pwd) packages=$(realpath "$1") build=$(realpath "$2")
folder=$(mktemp -d)
clean_up() {
  local mounted
  for mounted in "$folder"/bare/{proc,dev}; do mountpoint -q "$mounted" && umount "$mounted"; done
  rm -rf --one-file-system "$folder"
}
trap clean_up EXIT
[ "$(id -u)" -eq 0 ] || { echo "install_test.sh: needs root" >&2; exit 2; }
# shellcheck disable=SC1091
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
machine=$(uname -m) architecture=$(dpkg --print-architecture)
report=$build/fixtures/starved.sqlite
expected=$folder/expected.json
(cd "$build/fixtures" && "$build/gh-advise" starved.sqlite --format json) >"$expected"

say() { printf '== %s\n' "$*"; }

say "the static program in a root that holds nothing else"
mkdir "$folder/empty"
tar -xzf "$packages"/gh-advise-*-linux-"$machine".tar.gz -C "$folder/empty" --strip-components=1
cp "$report" "$folder/empty/"
chroot "$folder/empty" /bin/gh-advise --version | tee "$folder/version"
grep -q "for $machine .* linked statically" "$folder/version"
chroot "$folder/empty" /bin/gh-advise starved.sqlite --format json | cmp - "$expected"

say "the same, every system call failing that Linux 4.17 of June 2018 did not have"
newer=io_pgetevents,rseq,pidfd_send_signal,io_uring_setup,io_uring_enter,io_uring_register,open_tree,move_mount,fsopen,fsconfig,fsmount,fspick,pidfd_open,clone3,close_range,openat2,pidfd_getfd,faccessat2,process_madvise,epoll_pwait2,mount_setattr,quotactl_fd,landlock_create_ruleset,landlock_add_rule,landlock_restrict_self,memfd_secret,process_mrelease,futex_waitv,set_mempolicy_home_node
(cd "$folder/empty" && strace -f -qq -o "$folder/calls" -e "trace=$newer" -e "inject=$newer:error=ENOSYS" bin/gh-advise starved.sqlite --format json) | cmp - "$expected"
echo "it had to do without: $(sed 's/^[0-9]* *//; s/(.*//' "$folder/calls" | sort | uniq -c | tr -s ' \n' ' ')"

say "every report, static and shared"
"$tests/bench/same_output.sh" "$folder/empty/bin/gh-advise" "$build/gh-advise" "$build/fixtures"

say "the .deb in a bare Debian $codename"
bare=$folder/bare
debootstrap --variant=minbase "$codename" "$bare" >"$folder/log" 2>&1 || { tail "$folder/log"; exit 1; }
mount -t proc proc "$bare/proc" && mount --bind /dev "$bare/dev"
printf '#!/bin/sh\nexit 101\n' >"$bare/usr/sbin/policy-rc.d" && chmod +x "$bare/usr/sbin/policy-rc.d"
mkdir "$bare/packages" "$bare/trial"
cp "$packages"/*_"$architecture".deb "$bare/packages/"
cp "$report" "$bare/trial/"
cp -r "$tests/library" "$bare/trial/findings"
# inside COMMAND: in the bare root, in the report's folder
inside() { chroot "$bare" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive bash -ec "cd /trial; $1"; }
quietly() { inside "$1" >"$folder/log" 2>&1 || { tail -50 "$folder/log"; exit 1; }; }
quietly 'apt-get update; apt-get install -y --no-install-recommends man-db zsh fish'
inside 'dpkg-query -W -f "\${Package}\n" | sort' >"$folder/before"
quietly 'apt-get install -y --no-install-recommends /packages/gh-advise_*.deb'
inside 'gh-advise --version; dpkg-query -W -f "\${Depends}\n" gh-advise'
inside 'gh-advise starved.sqlite --format json' | cmp - "$expected"
inside 'man gh-advise' | grep -q '^EXIT STATUS'
inside 'man -w gh-advise; ls -l /usr/share/doc/gh-advise/'
inside 'source /usr/share/bash-completion/completions/gh-advise; COMP_WORDS=(gh-advise explain unfused-n); COMP_CWORD=2; _gh_advise; echo "bash: ${COMPREPLY[*]}"' | grep -x 'bash: unfused-norm'
inside 'zsh -fc "autoload -Uz compinit && compinit -u -D; echo zsh: \$_comps[gh-advise]"' | grep -x 'zsh: _gh-advise'
inside 'fish -c "complete -C \"gh-advise explain unfused-n\""' | grep -x 'unfused-norm'

say "the library in the same root"
quietly 'apt-get install -y --no-install-recommends /packages/libgh-advise-dev_*.deb g++ cmake ninja-build && cmake -G Ninja -S findings -B built && cmake --build built'
inside 'built/findings starved.sqlite' | tee "$folder/found"
grep -q '^error data-loader-starvation: ' "$folder/found"

say "both are gone after they are removed"
inside 'dpkg-query -L gh-advise libgh-advise-dev' | sort -u >"$folder/files"
quietly 'apt-get purge -y gh-advise libgh-advise-dev g++ cmake ninja-build; apt-get autoremove -y --purge -o APT::AutoRemove::RecommendsImportant=false -o APT::AutoRemove::SuggestsImportant=false'
inside 'dpkg-query -W -f "\${Package}\n" | sort' | diff "$folder/before" -
while read -r file; do [ -d "$bare$file" ] || [ ! -e "$bare$file" ] || { echo "left behind: $file"; exit 1; }; done <"$folder/files"
# but for what this test put there, and man's own cache
left=$(find "$bare" -xdev -iname '*gh-advise*' -not -path "$bare/packages/*" -not -path "$bare/trial/*" -not -path "$bare/var/cache/man/*")
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }

if [ "$architecture" = amd64 ] && ls "$packages"/*_arm64.deb >/dev/null 2>&1; then
  say "arm64: the .deb beside what it depends on, and the static program, under qemu"
  depends=$(dpkg-deb -f "$packages"/gh-advise_*_arm64.deb Depends | sed 's/ *([^)]*)//g; s/, */,/g')
  mmdebstrap --quiet --variant=extract --architectures=arm64 --include="$depends" "$codename" "$folder/arm64"
  dpkg-deb -x "$packages"/gh-advise_*_arm64.deb "$folder/arm64"
  cat >"$folder/shared" <<END
#!/bin/sh
exec qemu-aarch64-static -L $folder/arm64 $folder/arm64/usr/bin/gh-advise "\$@"
END
  mkdir "$folder/empty-arm64"
  tar -xzf "$packages"/gh-advise-*-linux-aarch64.tar.gz -C "$folder/empty-arm64" --strip-components=1
  cp /usr/bin/qemu-aarch64-static "$report" "$folder/empty-arm64/"
  chmod +x "$folder/shared"
  "$folder/shared" --version
  chroot "$folder/empty-arm64" /qemu-aarch64-static /bin/gh-advise --version | grep 'for aarch64 .* linked statically'
  chroot "$folder/empty-arm64" /qemu-aarch64-static /bin/gh-advise starved.sqlite --format json | cmp - "$expected"
  "$tests/bench/same_output.sh" "$folder/shared" "$build/gh-advise" "$build/fixtures"
fi
say "all is well"
