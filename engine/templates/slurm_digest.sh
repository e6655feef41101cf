#!/bin/bash
#SBATCH --job-name=gh-advise-digest
#SBATCH --output=logs/digest-%A-%a.log
#SBATCH --requeue
# Digests this task's {{per_task}} of the reports listed in `todo`. The first argument is the number of the array's first task.
set -u
{{program}}mapfile -d '' -t todo < todo
first=$(( (SLURM_ARRAY_TASK_ID + ${1:-0}) * {{per_task}} )) failed=0
for (( i = first; i < first + {{per_task}} && 2 * i < ${#todo[@]}; ++i )); do
  report=${todo[2*i]} digest=digests/${todo[2*i+1]}.digest error=errors/${todo[2*i+1]}.err
  [ "$digest" -nt "$report" ] && continue  # this task already ran on a node that died
  mkdir -p "${digest%/*}" "${error%/*}"
  rm -f "$error"
  set -o noclobber  # create the file ourselves instead of following a link
  { printf '%s\n' "${SLURMD_NODENAME:-$HOSTNAME}" >&2; gh_advise digest "$report" --output "$PWD/$digest"{{arguments}}; } </dev/null 2> "$error"
  status=$?
  set +o noclobber
  if [ $status -eq 0 ]; then rm -f "$error"; else cat "$error" >&2; failed=1; fi
done
exit $failed
