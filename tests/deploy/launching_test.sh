#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# What a launch brings with it, with the real programs on two real ranks: settings that ranks have unlike, settings in
# files, other allocators, PID namespaces, standard input, two databases, a candidate that hangs, fresh processes.
#
# shellcheck source=tests/deploy/lib.sh
source "$(dirname "$0")/lib.sh"
export HOME=$work/home # the user's own files are not this test's
mkdir -p "$HOME/.openmpi"

cat >"$work/one.json" <<'JSON'
{"version": 1, "collectives": ["all_reduce"], "sizes": "1KiB", "budget_seconds": 60, "precision": 0.5, "passes": 1,
 "implementations": {"include": ["mpi.all_reduce"]}, "soak": {"runs": 5, "seconds": 0.1},
 "decision": {"most_kept_waiting": 1}}
JSON
options=(sweep --most-rounds 12 --allow-oversubscribe --quiet --config "$work/one.json")

# within SECONDS: the last command took no longer.
within() {
  checks=$((checks + 1))
  [ "$((SECONDS - begin))" -le "$1" ] || fail "took $((SECONDS - begin)) s, allowed are $1"
}
# unlike VARIABLE VALUE: a launch whose second rank alone has it.
unlike() {
  begin=$SECONDS
  expect_code 2 "${mpirun[@]}" -n 1 "$agent" "${options[@]}" --db "$work/unlike.db" : \
    -n 1 env "$1=$2" "$agent" "${options[@]}" --db "$work/unlike.db"
  expect_in err 'the ranks were launched with unlike settings'
  expect_in err "$1: .*'$2' on rank 1"
  within 40
}

# --- Ranks with unlike settings are refused with rank, variable and values, where they hung before.
unlike OMPI_MCA_coll_tuned_allreduce_algorithm 3
unlike OMPI_MCA_coll basic,libnbc,self
unlike MALLOC_TOP_PAD_ 1048576
unlike MALLOC_MMAP_THRESHOLD_ 131072
checks=$((checks + 1))
[ -e "$work/unlike.db" ] && fail 'a refused launch leaves a database'
begin=$SECONDS
expect_code 2 "$agent" supervise --db "$work/unlike.db" -- "${mpirun[@]}" -n 1 "$agent" "${options[@]}" --db "$work/unlike.db" : \
  -n 1 env MALLOC_TOP_PAD_=1048576 "$agent" "${options[@]}" --db "$work/unlike.db"
expect_in err 'unlike settings'
expect_not_in err 'launch 2 starts|quarantine'
within 40

# --- Ranks of a host in PID namespaces of their own are refused; nothing is quarantined.
if unshare -pf --mount-proc true 2>/dev/null; then
  apart=("${mpirun[@]}" -n 2 unshare -pf --mount-proc "$agent" "${options[@]}" --db "$work/apart.db")
  begin=$SECONDS
  expect_code 2 "${apart[@]}"
  expect_in err 'rank [01] on [^ ]+: this rank runs in a PID namespace of its own'
  within 40
  expect_code 2 "$agent" supervise --db "$work/apart.db" -- "${apart[@]}"
  expect_not_in err 'launch 2 starts|quarantine'
  expect_code 2 "${mpirun[@]}" -n 2 unshare -pf "$agent" "${options[@]}" --db "$work/apart.db"
  expect_in err 'PID namespace'
else
  echo 'no PID namespaces can be made here: left out'
fi

# --- Whatever changes numbers changes the digest: files of parameters, allocators, what the loader puts before.
# sweep NAME VARIABLE=VALUE…: into $work/digests.db in that environment; its digest goes to $work/NAME. Sweeps are listed as
# they were stored: a fast machine makes two in the second that `started_at` tells.
sweep() {
  local name=$1
  shift
  expect_code 0 env "$@" "${mpirun[@]}" -n 2 "$agent" "${options[@]}" --no-resume --db "$work/digests.db"
  expect_code 0 "$colltune" show sweeps --db "$work/digests.db" --json
  python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[-1]["environment_digest"])' \
    "$work/out" >"$work/$name"
}
differs() {
  checks=$((checks + 1))
  cmp -s "$work/$1" "$work/$2" && fail "$1 and $2 have one digest"
}
sweep plain A=1
echo 'btl_vader_eager_limit = 8192' >"$HOME/.openmpi/mca-params.conf"
sweep file A=1
rm "$HOME/.openmpi/mca-params.conf"
differs plain file
sweep preloaded LD_PRELOAD="$COLLTUNE_OTHER_MALLOC"
differs plain preloaded
sweep raised MALLOC_MMAP_THRESHOLD_=268435456 MALLOC_TRIM_THRESHOLD_=1073741824
differs plain raised
sweep again A=1
checks=$((checks + 1))
cmp -s "$work/plain" "$work/again" || fail 'one environment has two digests'
expect_code 0 "$colltune" show environments --db "$work/digests.db" --json
has() {
  expect_json "$1([$2 for e in data for e in [e['environment']]])"
}
has any "'btl_vader_eager_limit=8192' in e['mpi_transport']"
has '2 == sum' "e['malloc_settings'].endswith(' grown')"
has any "e['malloc_settings'].startswith('libother_malloc.so')"
has any "' raised ' in e['malloc_settings']"
has any "'LD_PRELOAD=' in (e.get('variables') or '')"

# --- Algorithms that are inert in the user's jobs stay so; his file of rules goes before what is forced.
echo 'coll_tuned_dynamic_rules_filename = /no/such/rules' >"$HOME/.openmpi/mca-params.conf"
plan=("${mpirun[@]}" -n 2 "$agent" sweep --allow-oversubscribe --dry-run --config "$work/forced.json")
sed 's/"mpi.all_reduce"/"mpi.all_reduce", "mpi.all_reduce_tuned"/' "$work/one.json" >"$work/forced.json"
expect_code 0 "${plan[@]}"
expect_not_in err '/no/such/rules'
expect_in out 'mpi\.all_reduce_tuned\{algorithm=ring'
printf '1\n2\n1\n2\n1\n0 1 0 0\n' >"$work/rules"
printf 'coll_tuned_use_dynamic_rules = 1\ncoll_tuned_dynamic_rules_filename = %s\n' "$work/rules" \
  >"$HOME/.openmpi/mca-params.conf"
expect_code 0 "${plan[@]}"
expect_in out 'file of rules is in force'
rm "$HOME/.openmpi/mca-params.conf"

# --- A regime of malloc that there is not.
expect_code 2 env COLLTUNE_MALLOC=pinned "${mpirun[@]}" -n 2 "$agent" "${options[@]}" --db "$work/none.db"
expect_in err "COLLTUNE_MALLOC: found 'pinned', allowed are grown .* and fresh"

# --- Fresh: a process for each key; the last one decides.
sed 's/"1KiB"/"1KiB,4KiB"/' "$work/one.json" >"$work/two.json"
fresh=(env COLLTUNE_MALLOC=fresh "${mpirun[@]}" -n 2 "$agent" sweep --most-rounds 12 --allow-oversubscribe --config "$work/two.json")
expect_code 2 "${fresh[@]}" --json "$work/fresh.jsonl"
expect_in err 'needs a database'
expect_code 4 "${fresh[@]}" --db "$work/fresh.db"
expect_in err '1 of 2 keys are left'
expect_code 0 "$agent" supervise --db "$work/fresh.db" -- "${fresh[@]}" --db "$work/fresh.db"
expect_code 0 "$colltune" show decisions --db "$work/fresh.db" --json
expect_json "{d['key']['problem']['message_size_bytes'] for d in data} == {1024, 4096}"
expect_code 0 "$colltune" show environments --db "$work/fresh.db" --json
expect_json "len(data) == 1 and data[0]['environment']['malloc_settings'].endswith(' fresh')"
rm "$work/fresh.db"
expect_code 0 "$agent" supervise --db "$work/fresh.db" -- "${fresh[@]}" --db "$work/fresh.db"
expect_code 0 "$colltune" show sweeps --db "$work/fresh.db" --json
expect_json "[s['state'] for s in data] == ['complete']"

# --- As a launch environment of a series: the report says what two variables would be worth.
fresh_environment='"launch_rounds": 1, "launch_environments": [{"name": "fresh", "variables": {"COLLTUNE_MALLOC": "fresh"}}]'
sed "s/\"version\": 1,/\"version\": 1, $fresh_environment,/" "$work/one.json" >"$work/series.json"
expect_code 0 "$agent" supervise --db "$work/series.db" -- "${mpirun[@]}" -n 2 "$agent" sweep --most-rounds 24 --allow-oversubscribe --quiet \
  --config "$work/series.json" --db "$work/series.db"
expect_code 0 "$colltune" report environments --db "$work/series.db"
expect_in out 'malloc_settings .* fresh'
expect_in out 'MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=67108864: worth up to [0-9.]+x \(all_reduce f32 sum 1KiB\)'

# --- What the caller reads is not for the launch.
checks=$((checks + 1))
lines=0
while read -r _; do
  lines=$((lines + 1))
  "$agent" supervise --db "$work/lines.db" -- "${mpirun[@]}" -n 2 "$agent" "${options[@]}" --no-resume --db "$work/lines.db" \
    >/dev/null 2>&1
  "$agent" confirm --db "$work/lines.db" --launches 1 -- "${mpirun[@]}" -n 2 "$agent" >/dev/null 2>&1
done < <(printf 'first\nsecond\n')
[ "$lines" -eq 2 ] || fail "a loop over 2 lines ran $lines time(s)"
checks=$((checks + 1))
mkdir -p "$work/deploy"
cp "$COLLTUNE_SOURCE/deploy/quickstart" "$work/deploy/"
printf '#!/bin/sh\ncat >/dev/null\nexit 1\n' >"$work/deploy/install_dependencies"
chmod +x "$work/deploy/install_dependencies"
lines=0
while read -r _; do
  lines=$((lines + 1))
  "$work/deploy/quickstart" >/dev/null 2>&1
done < <(printf 'first\nsecond\n')
[ "$lines" -eq 2 ] || fail "a loop around quickstart over 2 lines ran $lines time(s)"

# --- Two databases in one command.
for command in supervise confirm; do
  expect_code 2 "$agent" $command --db "$work/lines.db" -- "${mpirun[@]}" -n 2 "$agent" "${options[@]}" --db "$work/b.db"
  expect_in err "$command --db .*lines\.db: the sweep that it launches has --db .*b\.db"
done
expect_code 2 "$agent" supervise --db "$work/lines.db" -- "${mpirun[@]}" -n 2 "$agent" "${options[@]}" --json "$work/b.jsonl"
expect_in err 'has no --db'
before=$failures
(cd "$work" && expect_code 0 "$agent" supervise --db lines.db -- "${mpirun[@]}" -n 2 "$agent" "${options[@]}" --db "$work/lines.db"
 [ "$failures" -eq "$before" ]) || fail 'one database by two names is refused'

# --- Results and words do not run into each other: what follows the table waits until the launcher has taken it.
# shellcheck disable=SC2016 # the rank's shell expands them
expect_code 0 python3 -B "$COLLTUNE_SOURCE/tests/deploy/streams_in_order.py" "$work" "${mpirun[@]}" -n 2 sh -c \
  'if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then exec "$@" >"$RESULTS" 2>"$WORDS"; fi; exec "$@"' sh \
  "$agent" sweep --most-rounds 12 --allow-oversubscribe --config "$work/one.json" --db "$work/streams.db"

# --- What a hang costs fits what is measured: two failures of a rank that spins, and a quarantine.
cat >"$work/hang.json" <<'JSON'
{"version": 1, "collectives": ["all_reduce"], "sizes": "1KiB", "budget_seconds": 8, "precision": 0.5, "passes": 1,
 "implementations": {"include": ["mpi.all_reduce", "fault.spins"]}, "soak": {"runs": 5, "seconds": 0.1},
 "decision": {"most_kept_waiting": 1}}
JSON
begin=$SECONDS
expect_code 1 "$agent" supervise --db "$work/hang.db" -- "${mpirun[@]}" -n 2 "$agent" sweep --allow-oversubscribe --quiet \
  --config "$work/hang.json" --db "$work/hang.db" --plugin "$COLLTUNE_FAULTS"
expect_in err 'is quarantined for this key after 2 failure'
within 80 # 2 x 51 s before, and the sweep
finish
