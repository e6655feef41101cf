#!/usr/bin/env bash
# The first commands of the README where nothing is installed, the machine's name and localhost not even known. They install what they need,
# and are never silent for ten seconds. What was built here is taken along, so that nothing is compiled again.
set -euo pipefail
# shellcheck source=tests/install/bare_root.sh
. "$(dirname "$0")/bare_root.sh"

say "a checkout in a bare Debian $codename"
new_root first
checkout=$(cd "$tests/.." && pwd)
[ ! -e "$root/etc/hosts" ]
mkdir -p "$root$checkout/build"
tar -c -C "$checkout" --exclude=./build --exclude=./.git . | tar -x -C "$root$checkout"
cp -a "$build" "$root$checkout/build/"

# never_silent COMMAND: in the checkout; fails where nothing is said for ten seconds
never_silent() {
  local line status
  online "cd '$checkout'; $1" </dev/null 2>&1 | while true; do
    status=0
    IFS= read -rt 10 line || status=$?
    if [ $status -gt 128 ]; then echo "silent for ten seconds, after: $line"; exit 1; fi
    if [ $status -ne 0 ]; then break; fi
    printf '%s\n' "$line"
  done
}

never_silent './dev demo' | tee "$folder/said"
grep -q '^1\. ' "$folder/said"
if grep '^\[.*Building CXX' "$folder/said"; then echo "what was built has been built again"; exit 1; fi

say "what asks for names of machines, where there are none"
quietly online 'apt-get install -y --no-install-recommends python3'
online "cd '$checkout'; python3 -B tests/cli/serve_test.py build/release/gh-advise build/release/fixtures"
