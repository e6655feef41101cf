#!/usr/bin/env bash
# A release as a whole: its files say the truth about each other, and packing again gives the same bytes.
set -euo pipefail
# shellcheck source=tests/install/bare_root.sh
. "$(dirname "$0")/bare_root.sh"

say "checksums, bill of materials and recipe"
(cd "$packages" && sha256sum --strict --check --quiet SHA256SUMS)
/usr/bin/python3 -B "$tests/install/release_test.py" "$packages"
/usr/bin/python3 -B "$tests/install/workflow_test.py"

say "packed again, by a user with other settings"
SOURCE_DATE_EPOCH=$(date -u -d "$(jq -r .creationInfo.created "$packages"/*.spdx.json)" +%s)
export SOURCE_DATE_EPOCH
version=$(jq -r '.packages[0].versionInfo' "$packages"/*.spdx.json)
again=$folder/again
mkdir "$again" "$folder/stages"
cp "$packages"/*.deb "$again/"
if [ -f "$packages/browser.html" ]; then cp "$packages/browser.html" "$again/"; fi
stages=()
for tarball in "$packages"/*-linux-*.tar.gz; do
  name=$(basename "$tarball" .tar.gz)
  tar -xzf "$tarball" -C "$folder/stages"
  stages+=("${name##*-linux-}=$folder/stages/$name")
done
find "$folder/stages" -exec touch {} +
(umask 077; export TZ=Asia/Tokyo LC_ALL=C.UTF-8; quietly "$tests/../engine/package/release.sh" "$version" "$again" "${stages[@]}")
diff -r "$packages" "$again"
rm -rf "$again"

say "the .deb files, packed again"
(umask 022; quietly cpack --config "$build/CPackConfig.cmake" -B "$again")
for deb in "$again"/*.deb; do cmp "$deb" "$packages/$(basename "$deb")"; done
rm -rf "$again" "$folder/stages"
