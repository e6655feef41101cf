#!/usr/bin/env bash
# Installs the packages where nothing else is, and tries what a user would: install_test.sh PACKAGES BUILD-FOLDER [NAME...]
# Without names, all of this folder's NAME_test.sh run. Needs root, debootstrap, strace, jq and buildah; for arm64 also mmdebstrap and qemu's
# user mode.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd) packages=$1 build=$2
shift 2
[ $# -gt 0 ] || set -- release static deb wheel npm container first_steps arm64
[ "$(id -u)" -eq 0 ] || { echo "install_test.sh: needs root" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf --one-file-system "$folder"' EXIT
for name in "$@"; do "$here/${name}_test.sh" "$packages" "$build" "$folder"; done
echo "== all is well"
