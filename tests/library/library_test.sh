#!/usr/bin/env bash
# Builds the example against the installed library, as a user would: library_test.sh BUILD-FOLDER REPORT PROGRAM [CMAKE-OPTION...]
# Every installed header has to stand alone, and the example has to find what the program finds.
set -euo pipefail
build=$1 report=$2 program=$3
shift 3
source=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$build" --component library --prefix "$folder/prefix" >/dev/null
cp -r "$source" "$folder/example"
(cd "$folder/prefix/include/gh-advise" && find . -name '*.hpp') | while read -r header; do
  echo "#include <gh-advise/${header#./}>" >"$folder/example/$(echo "${header#./}" | tr / _)_alone.cpp"
done
cat >>"$folder/example/CMakeLists.txt" <<'END'
file(GLOB alone *_alone.cpp)
add_library(alone OBJECT ${alone})
target_link_libraries(alone PRIVATE gh-advise::engine)
get_target_property(emulator findings CROSSCOMPILING_EMULATOR)
if(NOT emulator)
  set(emulator "")
endif()
add_custom_target(run COMMAND ${emulator} $<TARGET_FILE:findings> ${REPORT} > found.txt)
END
cmake -G Ninja -S "$folder/example" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/prefix" -DCMAKE_FIND_ROOT_PATH="$folder/prefix" -DREPORT="$report" "$@" >"$folder/log" &&
  cmake --build "$folder/build" >>"$folder/log" && cmake --build "$folder/build" --target run >>"$folder/log" || { cat "$folder/log"; exit 1; }
cat "$folder/build/found.txt"
grep -q '^step: [0-9.]* ms$' "$folder/build/found.txt"
diff <("$program" "$report" --format json | jq -r '.reports[].findings[] | .severity + " " + .rule') <(sed -n '2,$s/:.*//p' "$folder/build/found.txt")
