#!/usr/bin/env bash
# Checks that two builds of the program write the same bytes for every report, in every format:
# same_output.sh PROGRAM REFERENCE FOLDER-OF-REPORTS
set -euo pipefail
program=$(realpath "$1") reference=$(realpath "$2")
cd "$3"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export LC_ALL=C.UTF-8 COLUMNS=100

# write PROGRAM REPORT FOLDER
write() {
  mkdir -p "$3"
  "$1" check "$2" --output json="$3/json" --output text="$3/text" --output markdown="$3/markdown" --output sarif="$3/sarif" --output junit="$3/junit" --output trace="$3/trace" --output html="$3/html" --output github="$3/github" >"$3/out" 2>"$3/err" || echo "exit status $?" >>"$3/err"
  "$1" facts "$2" --format json >"$3/facts" 2>>"$3/err" || echo "exit status $?" >>"$3/err"
}

reports=0
for report in *; do
  [ -f "$report" ] || continue
  write "$reference" "$report" "$folder/reference"
  write "$program" "$report" "$folder/program"
  diff -r "$folder/reference" "$folder/program" | head -20
  [ -s "$folder/program/json" ] || { cat "$folder/program/err"; exit 1; }
  [ -z "$(diff -rq "$folder/reference" "$folder/program")" ] || { echo "$report: differs"; exit 1; }
  rm -r "$folder/program" "$folder/reference"
  reports=$((reports + 1))
done
[ "$reports" -gt 0 ]
echo "$reports reports: the same in every format"
