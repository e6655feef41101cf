#!/usr/bin/env bash
# The npm packages: that of this machine's programs, and the one that starts it.
set -euo pipefail
# shellcheck source=tests/install/bare_root.sh
. "$(dirname "$0")/bare_root.sh"

say "the npm packages in a bare Debian $codename, without a network"
new_root node nodejs npm
case $machine in x86_64) cpu=x64 ;; aarch64) cpu=arm64 ;; esac
cp "$packages"/gh-advise-{[0-9],linux-"$cpu"-}*.tgz "$root/trial/"
environment+=(npm_config_fetch_retries=0)  # npm would wait a minute for the package of other machines
inside 'npm i --no-audit --no-fund ./gh-advise-*.tgz && npx gh-advise demo' | grep '^1\. '
inside 'npx gh-advise starved.sqlite --format json' | cmp - "$expected"

# fails STATUS MESSAGE COMMAND
fails() {
  local status=0
  inside "$3" >"$folder/said" 2>&1 || status=$?
  if [ "$status" -ne "$1" ] || ! grep "$2" "$folder/said"; then echo "status $status and this, instead of $1 and '$2', from: $3"; cat "$folder/said"; exit 1; fi
}

say "exit status and signals are the program's"
fails 2 'missing.sqlite: no such file' 'npx gh-advise missing.sqlite'
start=node_modules/gh-advise/gh-advise.js program=node_modules/@gh-advise/linux-$cpu/bin/gh-advise
printf '#!/bin/sh\nkill -KILL $$\n' >"$root/trial/$program"
fails 137 'Killed' "node $start"
printf '#!/bin/sh\ntrap "kill \$!; echo had TERM; exit 7" TERM\nsleep 9 &\ntouch started\nwait\n' >"$root/trial/$program"
fails 7 'had TERM' "node $start & while [ ! -e started ]; do sleep 0.1; done; kill -TERM \$!; wait \$!"

say "what is missing is named"
rm -r "$root/trial/node_modules/@gh-advise"
fails 2 "the package @gh-advise/linux-$cpu is missing: npm install @gh-advise/linux-$cpu@[0-9]" "node $start"
fails 2 'there is no program for linux-s390x' "node -e 'Object.defineProperty(process, \"arch\", {value: \"s390x\"}); require(\"./$start\")'"
