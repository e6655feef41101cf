# shellcheck shell=bash disable=SC2034
# What tests of packages share. Each is NAME_test.sh PACKAGES BUILD-FOLDER FOLDER and begins with reading this. FOLDER is for what tests make,
# such as the bare root that they copy; it is removed by whoever made it.
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) packages=$(realpath "$1") build=$(realpath "$2") folder=$(realpath "$3")
# shellcheck disable=SC1091
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
machine=$(uname -m) architecture=$(dpkg --print-architecture)
report=$build/fixtures/starved.sqlite
expected=$folder/expected.json  # what the program that was built says of it
[ -e "$expected" ] || (cd "$build/fixtures" && "$build/gh-advise" starved.sqlite --format json) >"$expected"

say() { printf '== %s\n' "$*"; }

# quietly COMMAND...: shows output only if the command fails
quietly() { "$@" >"$folder/log" 2>&1 || { tail -n 50 "$folder/log"; exit 1; }; }

# new_root NAME PACKAGE...: a bare Debian with these packages, as $root, with the report in its folder trial
new_root() {
  if [ ! -d "$folder/bare" ]; then
    quietly debootstrap --variant=minbase "$codename" "$folder/bare.part"
    printf '#!/bin/sh\nexit 101\n' >"$folder/bare.part/usr/sbin/policy-rc.d" && chmod +x "$folder/bare.part/usr/sbin/policy-rc.d"
    mv "$folder/bare.part" "$folder/bare"  # nothing is ever mounted in it, so that copies hold only what is in it
  fi
  root=$folder/$1
  trap remove_root EXIT
  cp -a --one-file-system "$folder/bare" "$root"
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  mkdir "$root/trial"
  cp "$report" "$root/trial/"
  quietly online 'apt-get update'
  [ $# -eq 1 ] || quietly online "apt-get install -y --no-install-recommends ${*:2}"
}

remove_root() {
  local mounted
  for mounted in "$root"/{proc,dev}; do if mountpoint -q "$mounted"; then umount "$mounted"; fi; done
  rm -rf --one-file-system "$root"
}

# inside COMMAND: in the folder trial of the root, without a network
inside() { unshare --net chroot "$root" "${environment[@]}" bash -ec "cd /trial; $1"; }
online() { chroot "$root" "${environment[@]}" bash -ec "cd /trial; $1"; }
environment=(env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive)
