#!/usr/bin/env bash
# The tarball of a static program, which is unpacked into /usr/local or anywhere else: pack.sh STAGE MACHINE VERSION OUT
set -euo pipefail
stage=$1 machine=$2 version=$3 out=$4
name=gh-advise-$version-linux-$machine
"$(dirname "$0")/../archive.sh" "$stage" "$name" | gzip -9n >"$out/$name.tar.gz"
