#!/usr/bin/env bash
# archive.sh FOLDER NAME: writes FOLDER to standard output as a tar archive of the folder NAME, whose bytes depend on nothing but the files
# and SOURCE_DATE_EPOCH.
set -euo pipefail
tar -C "$1" -c --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
  --transform="s,^\.,$2," .
