#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# What a candidate or the machine does to a sweep: planted faults of every kind, kills at random moments, stopped ranks, a
# killed supervisor, a full disk, a second sweep on the same database. Counts and deadlines are small here; raise them:
#
#   COLLTUNE_KILLS=50 COLLTUNE_BIN=build/release/bin COLLTUNE_FAULTS=…/faults_plugin.so COLLTUNE_MPIRUN="mpirun …" \
#     tests/deploy/survival_test.sh
#
# shellcheck source=tests/deploy/lib.sh
source "$(dirname "$0")/lib.sh"
kills=${COLLTUNE_KILLS:-4}
faults=$COLLTUNE_FAULTS
export COLLTUNE_SURVIVAL_TEST=$work # in the environment of all that is started here: finds what is left over

# left_over: processes of this test that still run, besides its own shells.
left_over() {
  local pid
  grep -l -s -z "COLLTUNE_SURVIVAL_TEST=$work" /proc/[0-9]*/environ | cut -d/ -f3 | while read -r pid; do
    case $(readlink "/proc/$pid/exe") in "$agent" | *mpirun* | *orte* | *prte*) echo "$pid" ;; esac
  done
}

# expect_none_left SECONDS
expect_none_left() {
  checks=$((checks + 1))
  for _ in $(seq $(($1 * 10))); do
    [ -z "$(left_over)" ] && return
    sleep 0.1
  done
  fail "processes are left over: $(left_over | tr '\n' ' ')"
}

# configuration NAME SIZES BUDGET INCLUDED SOAK_RUNS: the precision is out of reach, so that the budget is spent.
configuration() {
  cat >"$work/$1.json" <<JSON
{"version": 1, "collectives": ["all_reduce"], "sizes": "$2", "budget_seconds": $3, "precision": 0.0001,
 "implementations": {"include": $4}, "soak": {"runs": $5, "seconds": 2}}
JSON
}
sweep=("${mpirun[@]}" -n 2 "$agent" sweep --allow-oversubscribe --call-limit 1)

# --- Wrong results: each is found, the evidence is kept, none is published, the good ones survive.
wrong=(changes_input fails stale writes_before writes_past wrong_element wrong_last wrong_rank wrong_type)
configuration wrong 4KiB 6 '["mpi.all_reduce", "fault.correct", "fault.w*", "fault.stale", "fault.fails", "fault.changes*"]' 5000
expect_code 1 "${sweep[@]}" --config "$work/wrong.json" --plugin "$faults" --db "$work/wrong.db" --quiet
for fault in "${wrong[@]}"; do expect_in out "(wrong|failed): fault\.$fault"; done
expect_not_in out '(wrong|failed): fault\.correct'
sed -n 's/^ *\(wrong\|failed\): \(fault[^ ]*\) of .*/\2/p' "$work/out" >"$work/disqualified"
expect_code 0 "$colltune" show decisions --db "$work/wrong.db" --json
expect_in out 'fault\.correct'
checks=$((checks + 1))
! grep -q -F -f "$work/disqualified" "$work/out" || fail "a variant that was wrong stands in a decision"

# --- A fault in 1 of 1,000 runs: found before it wins, where 5,000 runs fit into the soak.
configuration sometimes 4KiB 3 '["mpi.all_reduce", "fault.wrong_sometimes"]' 5000
expect_code 1 "${sweep[@]}" --config "$work/sometimes.json" --plugin "$faults" --db "$work/sometimes.db" --quiet
expect_in out 'wrong: fault\.wrong_sometimes'

# --- Candidates that crash, exit, spin, block, or leave a rank waiting: quarantined, the rest of the sweep is done.
for fault in crashes exits spins blocks leaves_one_waiting; do
  configuration "$fault" "4KiB,16KiB" 4 "[\"mpi.all_reduce\", \"fault.$fault\"]" 50
  database=$work/$fault.db
  expect_code 1 "$agent" supervise --db "$database" --failures 1 -- \
    "${sweep[@]}" --config "$work/$fault.json" --plugin "$faults" --db "$database"
  expect_in out '16384 .*mpi\.all_reduce'
  if [ "$fault" = leaves_one_waiting ]; then
    # Our own bounded wait finds it: no relaunch is needed.
    expect_in out '(wrong|timed_out): fault\.leaves_one_waiting.*rank 1'
    continue
  fi
  expect_in err "rank 1 .*fault\.$fault"
  expect_in err "fault\.$fault.* is quarantined"
  expect_code 0 "$colltune" show quarantines --db "$database" --json
  expect_json 'len({d["key"]["problem"]["message_size_bytes"] for d in data}) == 2'
  expect_code 0 "$colltune" show measurements --db "$database" --json
  expect_json 'len(data) == 2'
done
expect_none_left 5

# --- kill -9 of a random rank at random moments: nothing finished is lost, repeated or doubled.
configuration kill "64..4MiB x2" 20 '["mpi.all_reduce*", "cpu.all_reduce*"]' 50
database=$work/kill.db
trials=$("${mpirun[@]}" -n 2 "$agent" sweep --dry-run --config "$work/kill.json" 2>/dev/null | head -n 1 | cut -d' ' -f1)
"$agent" supervise --db "$database" --failures 1000 --launches 1000 -- "${sweep[@]}" --config "$work/kill.json" \
  --db "$database" >"$work/out" 2>"$work/err" &
supervisor=$!
daemons+=("$supervisor")
killed=0
for _ in $(seq $((kills * 50))); do
  if [ "$killed" -ge "$kills" ] || ! kill -0 "$supervisor" 2>/dev/null; then break; fi
  sleep "0.$((RANDOM % 90 + 10))"
  mapfile -t ranks < <(for pid in $(left_over); do
    tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -q '^OMPI_COMM_WORLD_RANK=' && echo "$pid"
  done)
  [ ${#ranks[@]} -gt 0 ] || continue
  kill -9 "${ranks[RANDOM % ${#ranks[@]}]}" 2>/dev/null && killed=$((killed + 1))
done
checks=$((checks + 2))
[ "$killed" -eq "$kills" ] || fail "only $killed of $kills kills found a rank before the sweep was complete"
wait "$supervisor"
code=$?
[ "$code" -eq 0 ] || fail "supervise ended with $code after $killed kills"
expect_code 0 "$colltune" show measurements --db "$database" --json
expect_json "len(data) == $trials"
expect_json 'len({(str(m["key"]), m["variant"]) for m in data}) == len(data)'
expect_code 0 "$colltune" show sweeps --db "$database" --json
expect_json 'len(data) == 1 and data[0]["state"] == "complete"'
expect_none_left 5

# --- A stopped rank, then a killed supervisor: no orphan, the database is whole, the sweep resumes.
configuration stop "64..4MiB x4" 10 '["mpi.all_reduce*", "cpu.all_reduce*"]' 50
database=$work/stop.db
start_supervised() {
  "$agent" supervise --db "$database" -- "${sweep[@]}" --config "$work/stop.json" --db "$database" \
    >"$work/out" 2>"$work/err" &
  supervisor=$!
  daemons+=("$supervisor")
  for _ in $(seq 300); do
    grep -q -s 'keys after' "$work/err" && return
    sleep 0.1
  done
  fail "the supervised sweep does not begin"
}
start_supervised
for pid in $(left_over); do
  tr '\0' '\n' <"/proc/$pid/environ" | grep -q '^OMPI_COMM_WORLD_RANK=1' && kill -STOP "$pid"
done
wait "$supervisor"
code=$?
checks=$((checks + 1))
[ "$code" -eq 0 ] || [ "$code" -eq 1 ] || fail "supervise ended with $code after a rank was stopped"
expect_in err 'timed_out: rank 1 '
expect_none_left 5
rm -f "$database"*
start_supervised
kill -9 "$supervisor"
wait "$supervisor" 2>/dev/null
expect_none_left 10
expect_code 0 "$agent" supervise --db "$database" -- "${sweep[@]}" --config "$work/stop.json" --db "$database"
expect_code 0 "$colltune" show sweeps --db "$database" --json
expect_json 'len(data) == 1 and data[0]["state"] == "complete"'

# --- Two sweeps on one database: the second is refused at once and says who holds it.
"${sweep[@]}" --config "$work/kill.json" --db "$work/two.db" >"$work/first.out" 2>"$work/first.err" &
first=$!
daemons+=("$first")
for _ in $(seq 300); do
  grep -q -s 'keys after' "$work/first.err" && break
  sleep 0.1
done
expect_code 2 "${sweep[@]}" --config "$work/kill.json" --db "$work/two.db"
expect_in err 'two\.db.*process [0-9]+'
wait "$first"
code=$?
checks=$((checks + 1))
[ "$code" -eq 0 ] || fail "the first of two sweeps ended with $code"

# --- A full disk in the middle: a clear end, nothing committed is lost, it resumes when there is room.
if [ "$(id -u)" -eq 0 ] && mkdir "$work/small" && mount -t tmpfs -o size=1m tmpfs "$work/small" 2>/dev/null; then
  configuration full "64,256,1KiB,4KiB,16KiB,64KiB" 6 '["mpi.all_reduce*", "cpu.*"]' 50
  database=$work/small/tuning.db
  expect_code 4 "${sweep[@]}" --config "$work/full.json" --db "$database"
  expect_in err 'tuning\.db.*(full|space|room)'
  mount -o remount,size=64m "$work/small"
  expect_code 0 "$colltune" show measurements --db "$database" --json
  cp "$work/out" "$work/before.json"
  expect_code 0 "${sweep[@]}" --config "$work/full.json" --db "$database"
  expect_code 0 "$colltune" show measurements --db "$database" --json
  expect_json "[m['variant'] for m in json.load(open('$work/before.json'))] == [m['variant'] for m in data][:len(json.load(open('$work/before.json')))]"
  expect_code 0 "$colltune" show sweeps --db "$database" --json
  expect_json 'len(data) == 1 and data[0]["state"] == "complete"'
  umount "$work/small"
else
  echo "not root, or no tmpfs may be mounted: the full disk is not tried" >&2
fi
finish
