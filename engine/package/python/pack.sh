#!/usr/bin/env bash
# The Python wheel: pack.sh STAGE MACHINE VERSION OUT
# It holds the package, and the program as a script, which pip puts on the PATH: so it starts without Python.
set -euo pipefail
stage=$1 machine=$2 version=$3 out=$(realpath "$4")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022  # a wheel stores permissions

# The package alone, as setuptools makes it, with the licences.
mkdir "$work/source"
cp -r "$here"/{gh_advise,pyproject.toml,README.md} "$stage"/share/doc/gh-advise/{LICENSE,libraries-copyright} "$work/source"
rm -rf "$work/source/gh_advise/__pycache__"
chmod -R u=rwX,go=rX "$work/source"
cd "$work"
/usr/bin/python3 -m pip --quiet --disable-pip-version-check wheel --no-index --no-deps --no-build-isolation --wheel-dir . ./source
/usr/bin/python3 -m wheel unpack "gh_advise-$version-py3-none-any.whl" >&2  # fails if the package is of another version

# The program, with the files that it looks for beside it. Linked statically, it runs with any libc.
data=gh_advise-$version/gh_advise-$version.data
mkdir -p "$data/scripts" "$data/data/share"
install -m 755 "$stage/bin/gh-advise" "$data/scripts/gh-advise"
for folder in gh-advise man; do
  if [ -d "$stage/share/$folder" ]; then cp -r "$stage/share/$folder" "$data/data/share/"; fi
done
chmod -R u=rwX,go=rX "$data"
tags=$(printf 'Tag: py3-none-%s\\n' "manylinux_2_17_$machine" "manylinux2014_$machine" "musllinux_1_1_$machine")
sed -i "s/^Tag: py3-none-any$/${tags%\\n}/" "gh_advise-$version/gh_advise-$version.dist-info/WHEEL"
/usr/bin/python3 -m wheel pack --dest-dir "$out" "gh_advise-$version" >&2
