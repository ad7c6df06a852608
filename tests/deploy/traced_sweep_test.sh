#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# A sweep of the calls of a trace (`sweep --from`), with the real programs on two ranks: exactly these keys are decided,
# and a trace that cannot be measured leaves nothing behind.
#
# shellcheck source=tests/deploy/lib.sh
source "$(dirname "$0")/lib.sh"

# call WORLD OPERATION BYTES TIME MORE…: one kind of calls of a trace; MORE are further members of the call.
call() {
  printf '{"world": %s, "call": {"operation": "%s", "message_size_bytes": %s, "is_rounded": false, "counts": "equal"%s},
    "by_ranks": {"calls": 20, "time_ns": %s}}' "$1" "$2" "$3" "$5" "$4"
}
blocking=', "is_nonblocking": false'
sum_f64=$blocking', "data_type": "f64", "reduce_op": "sum"'

# trace CALLS…: of two ranks on one node; world 1 is one of four ranks.
trace() {
  local IFS=,
  printf '{"version": 1, "program": "./program", "mpi_library": "some MPI", "ranks": 4, "nodes": 1, "rank_time_ns": 1000000,
    "not_kept": {"calls": 0, "time_ns": 0},
    "worlds": [{"ranks": 2, "nodes": 1, "ranks_per_node": 2, "communicators": 1},
               {"ranks": 4, "nodes": 1, "ranks_per_node": 4, "communicators": 1}], "calls": [%s]}' "$*"
}

trace "$(call 0 all_reduce 4096 60000 "$sum_f64")" "$(call 0 all_reduce 4099 1000 "$sum_f64")" \
  "$(call 0 broadcast 1001 9000 "$blocking")" "$(call 0 all_gather 2048 20000 "$blocking")" \
  "$(call 0 barrier 0 6000 "$blocking")" "$(call 0 all_reduce 64 4000 ', "is_nonblocking": true')" >"$work/program.ctr"
trace "$(call 0 all_reduce 64 9 "$sum_f64")" "$(call 1 all_reduce 8192 7 "$sum_f64")" >"$work/larger.ctr"
trace "$(call 0 barrier 0 6000 "$blocking")" >"$work/barriers.ctr"
cat >"$work/how.json" <<'JSON'
{"version": 1, "collectives": ["gather"], "sizes": "8", "budget_seconds": 8, "precision": 0.5, "passes": 2,
 "soak": {"runs": 20, "seconds": 0.1}, "implementations": {"include": ["mpi.*"]}}
JSON
launch=("${mpirun[@]}" -n 2 "$agent" sweep --allow-oversubscribe)
keys="sorted((d['key']['problem']['collective'], d['key']['problem']['data_type'], d['key']['problem']['reduce_op'],
  d['key']['problem']['message_size_bytes'], d['key']['topology']['ranks']) for d in data)"
wanted="[('all_gather', 'f32', 'none', 2048, 2), ('all_reduce', 'f64', 'sum', 4096, 2), ('broadcast', 'u8', 'none', 1001, 2)]"

# --- Just the trace's calls are measured, the heaviest first; what is not is said, and what to do next.
expect_code 0 "${launch[@]}" --most-rounds 12 --from "$work/program.ctr" --config "$work/how.json" --db "$work/traced.db"
expect_in err '^trace of \./program \(4 ranks on 1 node\): 4 kinds of calls as 3 keys, 90\.0 % of .* are measured$'
expect_in err '^not measured: other operations 6\.0 %, nonblocking 4\.0 %$'
expect_in err "colltune show trace $work/program.ctr --db $work/traced.db\$"
expect_not_in err 'no --config'
expect_in err '^0 of 6 visits.*all_reduce f64 sum 4KiB'
expect_code 0 "$colltune" show decisions --db "$work/traced.db" --json
expect_json "$keys == $wanted"
expect_code 0 "$colltune" show sweeps --db "$work/traced.db" --json
expect_json "len(data) == 1"

# --- A call that the memory does not hold is left out and named; the others are measured.
# The largest that MPI counts by an int; its buffers take 128 GiB.
trace "$(call 0 all_reduce 4096 60000 "$sum_f64")" "$(call 0 reduce_scatter 34359738352 20000 "$sum_f64")" >"$work/huge.ctr"
if [ "$(awk '/^MemTotal:/ { print int($2 / 1048576) }' /proc/meminfo)" -lt 100 ]; then
  expect_code 0 "${launch[@]}" --most-rounds 12 --from "$work/huge.ctr" --config "$work/how.json" --db "$work/huge.db"
  expect_in err '^not measured, too large for the memory: 1 of 2 keys, 25\.0 % of their time: reduce_scatter f64 sum .* MiB are available there$'
  expect_code 0 "$colltune" show decisions --db "$work/huge.db" --json
  expect_json "[d['key']['problem']['message_size_bytes'] for d in data] == [4096]"
fi

# --- Quiet is quiet; without a configuration the budget follows from the calls.
expect_code 0 "${launch[@]}" --from "$work/program.ctr" --dry-run --quiet
expect_not_in err 'measured'
expect_in out 'budget 30 s'
expect_code 0 "${launch[@]}" --from "$work/program.ctr" --dry-run
expect_in err '^no --config: 30 s of budget for 3 key\(s\)$'

# --- An unfinished sweep goes on: its configuration is the same text again.
# A precision that is never reached: the sweep takes its whole budget.
sed 's/"budget_seconds": 8, "precision": 0.5/"budget_seconds": 8, "precision": 0.00001/' "$work/how.json" >"$work/long.json"
"${launch[@]}" --from "$work/program.ctr" --config "$work/long.json" --db "$work/resumed.db" >"$work/out" 2>"$work/first" &
sweep=$!
daemons+=("$sweep")
until grep -q -s '^.* of .* visits' "$work/first" || ! kill -0 "$sweep" 2>/dev/null; do sleep 0.1; done
kill -INT "$sweep"
wait "$sweep"
expect_code 0 "$colltune" show sweeps --db "$work/resumed.db" --json
expect_json "[s['state'] for s in data] == ['partial']"
expect_code 0 "$agent" supervise --confirm 1 --db "$work/resumed.db" -- "${launch[@]}" --most-rounds 12 --from "$work/program.ctr" \
  --config "$work/long.json" --db "$work/resumed.db"
expect_in err 'continuing sweep'
expect_in err 'confirmed [0-9]+ decisions'
expect_code 0 "$colltune" show sweeps --db "$work/resumed.db" --json
expect_json "[s['state'] for s in data if s['purpose'] == 'choose'] == ['complete']"

# --- What cannot be measured is refused before there is a database.
expect_code 2 "${launch[@]}" --from "$work/larger.ctr" --db "$work/none.db"
expect_in err 'all_reduce f64 sum 8KiB.*1 node.* with 4 rank.* each is larger than the launch, which has 2 rank'
expect_in err 'launch as the program was launched: at least 4 ranks'
expect_code 3 "${launch[@]}" --from "$work/barriers.ctr" --db "$work/none.db"
expect_in err 'barriers\.ctr: there is nothing to measure: .*other operations 100\.0 %'
expect_code 3 "$agent" supervise --db "$work/none.db" -- "${launch[@]}" --from "$work/barriers.ctr" --db "$work/none.db"
expect_in err 'barriers\.ctr: there is nothing to measure'
expect_code 2 "${launch[@]}" --from "$work/absent.ctr" --db "$work/none.db"
expect_in err 'absent\.ctr'
expect_code 2 "${launch[@]}" --from "$work/how.json" --db "$work/none.db"
expect_in err 'how\.json'
expect_code 2 "${launch[@]}" --db "$work/none.db"
expect_in err '^colltune-agent: --config FILE or --from TRACE is required'
expect_code 2 "${launch[@]}" --from "$work/program.ctr" --compat osu
expect_in err '^colltune-agent: --(from|compat) excludes --(from|compat)'
checks=$((checks + 1))
[ -z "$(find "$work" -name 'none.db' -o -name 'none.db-*' -o -name 'none.db.snapshot')" ] || fail "a database was made"

finish
