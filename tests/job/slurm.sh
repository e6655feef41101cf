#!/usr/bin/env bash
# slurm.sh PROGRAM FIXTURES STATE: tests `gh-advise slurm` with a real Slurm. Starts munged,
# slurmctld and three slurmd on this machine, writing only to the folder STATE, and stops them
# again.
set -euo pipefail
program=$(realpath "$1") fixtures=$(realpath "$2") state=$3
rm -rf "$state" && mkdir -p "$state"/{ctld,spool,log,munge} && state=$(realpath "$state")
chmod 700 "$state/munge"
export SLURM_CONF=$state/slurm.conf GH_TEST_STATE=$state
declare -A daemon

stop() {
  local status=$? name
  trap - EXIT
  scancel --user="$(id -un)" 2>/dev/null && sleep 1
  for name in n1 n2 n3 slurmctld munged; do [ -z "${daemon[$name]:-}" ] || kill "${daemon[$name]}" 2>/dev/null || true; done
  wait
  if [ $status -eq 0 ]; then rm -rf "$state"; else echo "FAILED; the daemons' logs are in $state/log" >&2; fi
  exit $status
}
trap stop EXIT
trap 'exit 130' INT TERM
trap 'echo "slurm.sh: line $LINENO: status $?: $BASH_COMMAND" >&2' ERR

fail() { echo "slurm.sh: line ${BASH_LINENO[0]}: $*" >&2; exit 1; }
expect() { grep -qF -- "$2" <<<"$1" || fail "there is no '$2' in: $1"; }
start_node() { slurmd -D -f "$SLURM_CONF" -N "$1" >/dev/null 2>&1 & daemon[$1]=$!; }
# Tries a command for five minutes: Slurm waits two before it runs a lost node's tasks again.
until_true() { local i; for i in $(seq 1500); do "$@" >/dev/null 2>&1 && return; sleep 0.2; done; fail "in vain: $*"; }
# Asks again if the controller was too busy to answer.
queue_is_empty() { local jobs; jobs=$(squeue --noheader) && [ -z "$jobs" ]; }
nodes_up() { [ "$(sinfo --noheader --states=idle,mixed,allocated --format=%D | paste -sd+ | bc)" = "$1" ]; }

# ---- a cluster of three nodes
host=$(hostname -s) user=$(id -un)
dd if=/dev/urandom of="$state/munge/key" bs=1024 count=1 status=none && chmod 600 "$state/munge/key"
cat > "$SLURM_CONF" <<CONF
ClusterName=gh-advise-test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=26100
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$state/munge/socket
CredType=cred/munge
StateSaveLocation=$state/ctld
SlurmdSpoolDir=$state/spool/%n
SlurmctldPidFile=$state/slurmctld.pid
SlurmdPidFile=$state/slurmd.%n.pid
SlurmctldLogFile=$state/log/slurmctld
SlurmdLogFile=$state/log/slurmd.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdTimeout=6
KillWait=1
MaxArraySize=3
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n[1-3] NodeHostname=$host NodeAddr=127.0.0.1 Port=[26101-26103] CPUs=1 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
munged --foreground --force --key-file="$state/munge/key" --socket="$state/munge/socket" --pid-file="$state/munge/pid" --seed-file="$state/munge/seed" --log-file="$state/log/munged" 2>/dev/null &
daemon[munged]=$!
until_true test -S "$state/munge/socket"
slurmctld -D -f "$SLURM_CONF" >/dev/null 2>&1 &
daemon[slurmctld]=$!
for n in n1 n2 n3; do start_node $n; done
until_true nodes_up 3
advise() { "$program" slurm "$@"; }

# ---- reports of a job, with unlikely names, one of them damaged
job="$state/it's a job"
mkdir -p "$job/node 1" "$job/-node2"
cp "$fixtures/ddp-straggler.sqlite" "$job/node 1/run \$(touch oops) & \"1\".sqlite"
cp "$fixtures/ddp-straggler.sqlite" "$job/-node2/-run.sqlite"
cp "$fixtures/ddp-straggler.sqlite" "$job/two
lines.sqlite"
for i in 3 4 5; do cp "$fixtures/ddp-straggler.sqlite" "$job/run$i.sqlite"; done
echo damaged > "$job/run6.sqlite"

echo "a dry run writes nothing"
out=$(advise "$job" --dry-run --partition main --sbatch=--comment=x) || fail "$out"
expect "$out" "7 reports in"
expect "$out" "--array=0-2 --comment=x"   # MaxArraySize is 3: three tasks of three
expect "$out" "--dependency=afterany:ARRAY1"
[ ! -e "$job/gh-advise" ] || fail "something was written"

echo "six of seven are digested and combined, the seventh is reported"
status=0; out=$(advise "$job" --wait) || status=$?
[ $status -eq 2 ] || fail "status $status: $out"
expect "$out" "6 of 7 reports digested, 1 failed"
expect "$out" "failed: run6.sqlite: $job/run6.sqlite: "
expect "$out" ", on n"
expect "$out" "result: $job/gh-advise/fleet.txt"
expect "$(cat "$job/gh-advise/fleet.txt")" "12 ranks"
grep -q "<title>gh-advise: 12 ranks</title>" "$job/gh-advise/fleet.html" || fail "there is no page"
expect "$(cat "$job"/gh-advise/logs/fleet-*.log)" "failed: run6.sqlite"
[ "$(find "$state" -name oops)" = "" ] || fail "a name was run as a command"

echo "only what failed is done again, and a terminal shows the progress"
find "$job/gh-advise/digests" -name '*.digest' -printf '%p %T@\n' | sort -z > "$state/before"
cp "$fixtures/ddp-straggler.sqlite" "$job/run6.sqlite"
out=$(script -qec "'$program' slurm \"$job\" --wait" /dev/null) || fail "$out"
expect "$out" "digests 1 report, 6 already done"
expect "$out" "6 of 7 reports digested, 1 "
expect "$out" "7 of 7 reports digested"
find "$job/gh-advise/digests" -name '*.digest' ! -name 'run6*' -printf '%p %T@\n' | sort -z | cmp - "$state/before" || fail "what was done was done again"
expect "$(cat "$job/gh-advise/fleet.json")" '"world_size": 14'

echo "nothing is done twice"
out=$(advise "$job" --wait) || fail "$out"
expect "$out" "all 7 reports are already digested"

echo "more tasks than an array may have make several arrays"
rm -r "$job/gh-advise"
out=$(advise "$job" --ntasks 7 --wait) || fail "$out"
expect "$out" "7 of 7 reports digested"
[ "$(grep -c '"id"' "$job/gh-advise/jobs.json")" = 3 ] || fail "$(cat "$job/gh-advise/jobs.json")"

echo "a refusal by sbatch is reported"
status=0; out=$(advise "$job" --partition nowhere 2>&1) || status=$?
[ $status -eq 2 ] || fail "status $status"
expect "$out" "sbatch refused: "
expect "$out" "Invalid partition"

# ---- a program that hangs once, on report run4, and records where
cat > "$state/hang" <<'HANG'
#!/bin/bash
if [ "$1" = digest ] && [[ $2 == *run4* ]] && mkdir "$GH_TEST_STATE/hung" 2>/dev/null; then
  echo "$SLURMD_NODENAME $(ps -o ppid= -p $PPID) $PPID $$" > "$GH_TEST_STATE/where.part" && mv "$GH_TEST_STATE/where.part" "$GH_TEST_STATE/where"
  sleep 600
fi
exec "$GH_TEST_PROGRAM" "$@"
HANG
chmod +x "$state/hang"
export GH_TEST_PROGRAM=$program
# Kills a node and everything on it, as a power failure would: from the top (the node's daemon, the
# step's daemon, its shell, the task), so that nothing survives to report a failure below it.
lose_the_node() {
  local node pids
  until_true test -e "$state/where"
  read -r node pids < "$state/where"
  kill -9 "${daemon[$node]}" && wait "${daemon[$node]}" 2>/dev/null || true
  # shellcheck disable=SC2086
  kill -9 $pids $(pgrep -P "${pids##* }") 2>/dev/null || true
  daemon[$node]= lost=$node
}
bring_it_back() { start_node "$lost"; until_true nodes_up 3; rm -rf "$state/hung" "$state/where"; }

echo "if a node dies, its task runs again on another"
rm -r "$job/gh-advise"
advise "$job" --program "$state/hang" >/dev/null
lose_the_node
status=0; out=$(advise "$job" 2>&1) || status=$?
[ $status -eq 2 ] || fail "status $status"
expect "$out" "is still running"
until_true nodes_up 2
until_true queue_is_empty
out=$(advise "$job" --status) || fail "$out"
expect "$out" "7 of 7 reports digested"
expect "$out" "fleet.txt"
bring_it_back

echo "without requeueing, its reports are listed, and only they are done again"
rm -r "$job/gh-advise"
advise "$job" --ntasks 3 --program "$state/hang" --sbatch=--no-requeue >/dev/null
lose_the_node
until_true nodes_up 2
until_true queue_is_empty
status=0; out=$(advise "$job" --status) || status=$?
[ $status -eq 2 ] || fail "status $status: $out"
expect "$out" "failed: run4.sqlite: its task ended with state NODE_FAIL, on $lost"
[ -s "$job/gh-advise/fleet.txt" ] || fail "the existing digests were not combined"
bring_it_back
out=$(advise "$job" --wait) || fail "$out"
expect "$out" "7 of 7 reports digested"

echo "from a container"
mkdir "$state/bin"
cat > "$state/bin/apptainer" <<'FAKE'
#!/bin/bash
printf '%s\n' "$*" >> "$GH_TEST_STATE/apptainer"
[ "$1 $2 $4 $6" = "exec --bind --bind $GH_TEST_STATE/an image.sif" ] && [ "$7" = gh-advise ] && exec "$GH_TEST_PROGRAM" "${@:8}"
FAKE
chmod +x "$state/bin/apptainer"
out=$(PATH="$state/bin:$PATH" advise "$job" --work "$state/elsewhere" --container "$state/an image.sif" --wait) || fail "$out"
expect "$out" "7 of 7 reports digested"
[ "$(grep -c 'gh-advise digest' "$state/apptainer")" = 7 ] || fail "$(cat "$state/apptainer")"
echo "passed"
