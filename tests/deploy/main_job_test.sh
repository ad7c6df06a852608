#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# The main job end to end: sweep on real ranks, show, lookup in the file and through the daemon, export, import.
# shellcheck source=tests/deploy/lib.sh
source "$(dirname "$0")/lib.sh"

cat >"$work/small.json" <<'JSON'
{"version": 1, "collectives": ["all_reduce", "broadcast", "all_to_all"], "sizes": "1KiB,64KiB", "budget_seconds": 90, "passes": 1,
 "precision": 0.5, "soak": {"runs": 20, "seconds": 0.1}, "implementations": {"include": ["mpi.*", "cpu.*_flat"], "exclude": ["mpi.*_tuned"]}}
JSON
db=$work/tuning.db
two_ranks=("${mpirun[@]}" -n 2 "$agent" sweep --most-rounds 24 --config "$work/small.json")
allow=()
placement=()
if [ "$(nproc)" -lt 2 ]; then
  allow=(--allow-oversubscribe)
  placement=(--placement oversubscribed)
fi
question=(all_reduce --bytes 64KiB --dtype f32 --op sum --nodes 1 --ranks-per-node 2 ${placement[@]+"${placement[@]}"})

expect_code 0 "$agent" sweep --dry-run --config "$work/small.json"
expect_in out 'all_reduce'
expect_code 0 "${two_ranks[@]}" --db "$db" --json "$work/results.jsonl" ${allow[@]+"${allow[@]}"}
expect_in out 'all_reduce'
expect_in out 'busbw'
expect_in err 'batch [0-9.]+ ?%'
expect_in err 'verification [0-9.]+ ?%'
expect_in err 'generation 1'

for what in sweeps decisions measurements environments; do
  expect_code 0 "$colltune" show "$what" --db "$db"
  expect_code 0 "$colltune" show "$what" --db "$db" --json
  expect_json 'len(data) > 0'
done
expect_code 0 "$colltune" show decisions --db "$db" --json
expect_json 'all(k in data[0] for k in ("key", "winner", "median_ns", "speedup_over_baseline", "generation", "alternatives"))'

expect_code 0 "$colltune" lookup "${question[@]}" --db "$db"
expect_code 0 "$colltune" lookup "${question[@]}" --db "$db" --json
expect_json 'data["source"] == "measured" and data["median_ns"] > 0'
expect_json 'data["key"]["problem"]["message_size_bytes"] == 65536'
cp "$work/out" "$work/from_file.json"

start_daemon "unix:$work/s" "$db"
expect_code 0 "$colltune" lookup "${question[@]}" --server "unix:$work/s" --json
checks=$((checks + 1))
cmp -s "$work/out" "$work/from_file.json" || fail "the daemon and the file give unlike answers"
expect_code 0 "$colltune" export json --server "unix:$work/s" -o "$work/by_server.json"
expect_code 0 "$colltune" export json --db "$db" -o "$work/by_file.json"
checks=$((checks + 1))
cmp -s "$work/by_server.json" "$work/by_file.json" || fail "the exports of daemon and file differ"
expect_code 0 "$colltune" lookup all_reduce --bytes 3000 --dtype f32 --nodes 1 --ranks-per-node 2 --server "unix:$work/s" --json \
  ${placement[@]+"${placement[@]}"}
expect_json 'data["source"] == "interpolated"'

# A second sweep into the same database: a new generation, which the running daemon notices by itself.
expect_code 0 "${two_ranks[@]}" --db "$db" --quiet ${allow[@]+"${allow[@]}"}
expect_not_in err '.'
noticed=no
for _ in $(seq 200); do
  "$colltune" lookup "${question[@]}" --server "unix:$work/s" --json >"$work/out" 2>"$work/err" &&
    grep -q '"number": *2' "$work/out" && noticed=yes && break
  sleep 0.1
done
[ "$noticed" = yes ] || fail "the daemon does not notice generation 2"

# A visit has the rounds that are allowed and no more, where no precision ends it before (12 are the fewest of any visit).
echo '{"version": 1, "collectives": ["all_reduce"], "sizes": "64KiB", "budget_seconds": 120, "passes": 2, "precision": 0,
 "soak": {"runs": 20, "seconds": 0.1}, "implementations": {"include": ["mpi.all_reduce", "cpu.all_reduce_one_shot"]},
 "parameters": {"cpu.*": {"access": ["staged"], "chunk": [65536], "stores": ["cached"]}}}' >"$work/rounds.json"
for most in 12 40; do
  expect_code 0 "${mpirun[@]}" -n 2 "$agent" sweep --most-rounds "$most" --config "$work/rounds.json" --db "$work/rounds.$most.db" --quiet \
    ${allow[@]+"${allow[@]}"}
  expect_code 0 "$colltune" show measurements --db "$work/rounds.$most.db" --json
  rounds="max(-(-len(row['samples_ns']) // row['samples_per_round']) for row in data)"
  expect_json "$rounds <= $most and ($rounds > 12) == ($most > 12)"
done

# A results file makes the same database elsewhere; twice is once.
expect_code 0 "$colltune" import "$work/results.jsonl" --db "$work/imported.db"
expect_code 0 "$colltune" lookup "${question[@]}" --db "$work/imported.db" --json
expect_json 'data["source"] == "measured"'
expect_code 0 "$colltune" import "$work/results.jsonl" --db "$work/imported.db"
expect_code 0 "$colltune" show sweeps --db "$work/imported.db" --json
expect_json 'len(data) == 1'
finish
