#!/bin/bash
#SBATCH --job-name=gh-advise-fleet
#SBATCH --output=logs/fleet-%j.log
#SBATCH --requeue
# Combines what could be digested, and lists what could not.
set -u
# This may start before jobs.json is written, or visible on this node.
for (( tries = 0; tries < 300; ++tries )); do
  [ -z "${SLURM_JOB_ID:-}" ] || grep -qs "\"merge\": \"$SLURM_JOB_ID\"" jobs.json && break
  sleep 1
done
{{program}}gh_advise slurm {{folder}} --work "$PWD" --status; failed=$?
gh_advise fleet "$PWD/digests" --work "$PWD" --output text="$PWD/fleet.txt"{{results}}{{arguments}} || failed=$?
exit $failed
