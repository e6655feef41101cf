#!/usr/bin/env bash
# Lets the Model Context Protocol's own client call `gh-advise mcp`: client_test.sh PROGRAM FIXTURES FOLDER
# The client is installed into FOLDER, as package-lock.json says. Exits with 77 where that cannot be done.
set -euo pipefail
program=$(realpath "$1") fixtures=$(realpath "$2") folder=$3
source=$(cd "$(dirname "$0")" && pwd)

skip() {
  echo "skipped: $1"
  exit 77
}
for needed in node npm; do
  [ -n "$(command -v $needed)" ] || skip "$needed is missing: apt-get install $needed"
done
[ "$(node -p 'process.versions.node.split(".")[0] >= 20')" = true ] || skip "the client needs Node.js 20, and this is $(node --version)"

mkdir -p "$folder"
if ! cmp -s "$source/package-lock.json" "$folder/installed.json"; then
  cp "$source/package.json" "$source/package-lock.json" "$folder"
  if ! (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund) >"$folder/log" 2>&1; then
    # Without a network nothing can be installed; anything else is an error of ours.
    grep -qE 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT' "$folder/log" &&
      skip "npm cannot reach its registry"
    cat "$folder/log"
    exit 1
  fi
  cp "$source/package-lock.json" "$folder/installed.json"
fi
cp "$source/client.mjs" "$folder"  # it is to find the packages next to it
exec node "$folder/client.mjs" "$program" "$fixtures"
