#!/usr/bin/env bash
# The container image: what it says of itself, and that it reads a folder that is mounted.
set -euo pipefail
# shellcheck source=tests/install/bare_root.sh
. "$(dirname "$0")/bare_root.sh"

image=$(find "$packages" -name "gh-advise-*-linux-$machine.oci.tar")
if [ -z "$image" ]; then say "no container image was built"; exit 0; fi
say "the container image"
container=$folder/container
mkdir -p "$container/reports"
cp "$report" "$container/reports/"
chmod -R a+rX "$container"
storage=(buildah --storage-driver vfs --root "$container/root" --runroot "$container/run")
"${storage[@]}" from --quiet --name trial "oci-archive:$image"
"${storage[@]}" inspect --type container trial | jq .OCIv1 >"$container/config"
jq -e '.config | .User == "65534:65534" and .Entrypoint == ["/bin/gh-advise"] and .WorkingDir == "/reports"' "$container/config"
jq -re '.config.Labels["org.opencontainers.image.version"]' "$container/config"
# run ARGUMENTS...: as the image says, but with the user's folder
run() { "${storage[@]}" run --isolation chroot --volume "$container/reports:/reports" trial -- /bin/gh-advise "$@"; }
run demo | grep '^1\. '
run starved.sqlite --format json | cmp - "$expected"
rm -rf --one-file-system "$container"
