#!/usr/bin/env bash
# The npm packages: pack.sh STAGE MACHINE VERSION OUT
# gh-advise is the same for all machines, and depends on the package of each, of which npm installs the one that fits.
set -euo pipefail
stage=$1 machine=$2 version=$3 out=$4
here=$(cd "$(dirname "$0")" && pwd)
case $machine in x86_64) cpu=x64 ;; aarch64) cpu=arm64 ;; *) echo "pack.sh: npm has no name for $machine" >&2; exit 2 ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
licences=("$stage"/share/doc/gh-advise/{LICENSE,libraries-copyright})

# pack FILE: what npm calls a package is an archive of a folder of that name
pack() { "$here/../archive.sh" "$work/package" package | gzip -9n >"$out/$1"; rm -r "$work/package"; }

mkdir "$work/package"
sed "s/@VERSION@/$version/" "$here/package.json" >"$work/package/package.json"
cp "$here"/{gh-advise.js,README.md} "${licences[0]}" "$work/package/"
pack "gh-advise-$version.tgz"

mkdir -p "$work/package/bin" "$work/package/share"
sed "s/@VERSION@/$version/; s/@CPU@/$cpu/" "$here/platform.json" >"$work/package/package.json"
install -m 755 "$stage/bin/gh-advise" "$work/package/bin/"
if [ -d "$stage/share/gh-advise" ]; then cp -r "$stage/share/gh-advise" "$work/package/share/"; fi
cp "${licences[@]}" "$work/package/"
pack "gh-advise-linux-$cpu-$version.tgz"
