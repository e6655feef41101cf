#!/usr/bin/env bash
# The programs for arm64, under qemu.
set -euo pipefail
# shellcheck source=tests/install/bare_root.sh
. "$(dirname "$0")/bare_root.sh"

if [ "$architecture" != amd64 ] || ! ls "$packages"/*_arm64.deb >/dev/null 2>&1; then exit 0; fi
say "arm64: the .deb beside what it depends on, and the static program, under qemu"
depends=$(dpkg-deb -f "$packages"/gh-advise_*_arm64.deb Depends | sed 's/ *([^)]*)//g; s/, */,/g')
mmdebstrap --quiet --variant=extract --architectures=arm64 --include="$depends" "$codename" "$folder/arm64"
dpkg-deb -x "$packages"/gh-advise_*_arm64.deb "$folder/arm64"
cat >"$folder/shared" <<END
#!/bin/sh
exec qemu-aarch64-static -L $folder/arm64 $folder/arm64/usr/bin/gh-advise "\$@"
END
mkdir -p "$folder/empty-arm64/tmp"
tar -xzf "$packages"/gh-advise-*-linux-aarch64.tar.gz -C "$folder/empty-arm64" --strip-components=1
cp /usr/bin/qemu-aarch64-static "$report" "$folder/empty-arm64/"
chmod +x "$folder/shared"
"$folder/shared" --version
chroot "$folder/empty-arm64" /qemu-aarch64-static /bin/gh-advise --version | grep 'for aarch64 .* linked statically'
chroot "$folder/empty-arm64" /qemu-aarch64-static /bin/gh-advise demo | grep '^1\. '
chroot "$folder/empty-arm64" /qemu-aarch64-static /bin/gh-advise starved.sqlite --format json | cmp - "$expected"
"$tests/bench/same_output.sh" "$folder/shared" "$build/gh-advise" "$build/fixtures"
