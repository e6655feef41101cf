#!/usr/bin/env bash
# The container image, as an OCI archive: pack.sh STAGE MACHINE VERSION OUT
# Nothing runs while it is built, so buildah needs no machine of that kind. But it sets owners, which takes root or subordinate ids.
set -euo pipefail
stage=$1 machine=$2 version=$3 out=$4
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v buildah >/dev/null; then echo "pack.sh: no container image, because buildah is not installed" >&2; exit 0; fi
if [ "$(id -u)" -ne 0 ] && ! grep -qs "^$(id -un):" /etc/subuid; then echo "pack.sh: no container image, because $(id -un) is not root and has no ids in /etc/subuid" >&2; exit 0; fi
case $machine in x86_64) platform=linux/amd64 ;; aarch64) platform=linux/arm64 ;; *) echo "pack.sh: containers have no name for $machine" >&2; exit 2 ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
storage=(buildah --storage-driver vfs --root "$work/root" --runroot "$work/run")
umask 022
mkdir "$work/context"
cp -r "$stage" "$work/context/image"
chmod -R u=rwX,go=rX "$work/context"
install -d -m 1777 "$work/context/image/tmp"  # what the program unpacks for a moment
"${storage[@]}" build --quiet --isolation chroot --platform "$platform" --timestamp "$SOURCE_DATE_EPOCH" --identity-label=false --build-arg VERSION="$version" \
  --file "$here/Containerfile" --tag "gh-advise:$version" "$work/context" >&2
"${storage[@]}" push --quiet "gh-advise:$version" "oci:$work/image:gh-advise:$version" >&2
"$here/../archive.sh" "$work/image" . >"$out/gh-advise-$version-linux-$machine.oci.tar"
