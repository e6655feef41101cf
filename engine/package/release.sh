#!/usr/bin/env bash
# Packs a release: release.sh VERSION OUT MACHINE=STAGE...
# OUT has its .deb files already. STAGE is where `cmake --install` put the static program of MACHINE (x86_64 or aarch64). SOURCE_DATE_EPOCH is
# the date of the release: the same programs give the same bytes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=$1 out=$2
shift 2
: "${SOURCE_DATE_EPOCH:?is the date of the release}"
umask 022
recipe=$out/meta.yaml
sed "s/@VERSION@/$version/" "$here/conda/meta.yaml" >"$recipe"
for machine_stage in "$@"; do
  machine=${machine_stage%%=*} stage=${machine_stage#*=}
  for kind in tarball python npm container; do "$here/$kind/pack.sh" "$stage" "$machine" "$version" "$out"; done
  sum=$(sha256sum <"$out/gh-advise-$version-linux-$machine.tar.gz")
  sed -i "s/@SHA256_$machine@/${sum%% *}/" "$recipe"
  cp "$stage"/share/doc/gh-advise/{LICENSE,libraries-copyright} "$out/"  # the same for all machines
done
if [ -f "$out/browser.html" ]; then cp /usr/share/doc/emscripten/copyright "$out/browser-copyright"; fi
# Of a machine that is not packed, the recipe has nothing.
for machine in x86_64 aarch64; do
  if grep -q "@SHA256_$machine@" "$recipe"; then sed -i "/$machine/d" "$recipe"; fi
done
sbom=gh-advise-$version.spdx.json
rm -f "$out/SHA256SUMS" "$out/$sbom"  # which are about all other files
contents=$("$here/sbom.py" "$version" "$out" "$@")
printf '%s\n' "$contents" >"$out/$sbom"
(cd "$out" && sha256sum -- * >SHA256SUMS)
