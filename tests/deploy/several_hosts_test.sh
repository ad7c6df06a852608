#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# Launches over several hosts that only a network connects (deploy/lab): nodes as the ranks find them, not as a test pretends
# them.
# shellcheck source=tests/deploy/lib.sh
source "$(dirname "$0")/lib.sh"
export GTEST_COLOR=no
lab=("$COLLTUNE_SOURCE/deploy/lab" run --share "$work")
"${lab[@]}" --hosts 2 -- true
case $? in
  0) ;;
  77) exit 77 ;;
  *) fail "the hosts do not come up" ;;
esac

# Every implementation of the catalogue is right, those by levels and by messages among them.
expect_code 0 "${lab[@]}" --hosts 2 -- "${mpirun[@]}" -n 4 "$COLLTUNE_CONFORMANCE" --gtest_filter=ConformanceOverMpi.EveryImplementationIsRight
expect_in out 'PASSED.* 1 test'
checks=$((checks + 1))
"${lab[@]}" --hosts 3 --slots 1 --time-limit 120 -- "${mpirun[@]}" -n 3 "$COLLTUNE_CONFORMANCE" \
  --gtest_filter=ConformanceOverMpi.EveryImplementationIsRight >"$work/out" 2>"$work/err" || fail "wrong on three hosts"

# A sweep finds the hosts, measures what only several have, and answers for them.
cat >"$work/hosts.json" <<'JSON'
{"version": 1, "collectives": ["all_reduce", "reduce_scatter", "all_gather", "broadcast"], "sizes": "4KiB", "passes": 1,
  "precision": 0.5, "null_test": false,
  "implementations": {"include": ["mpi.*", "cpu.*_hierarchical", "cpu.*_low_latency", "cpu.*_leaders", "cpu.*_double_tree"],
                      "exclude": ["mpi.*_tuned", "mpi.*_han"]},
  "parameters": {"cpu.*": {"access": ["staged"], "across": ["flat", "flat_pull", "one_shot"], "inside": ["flat", "flat_pull"],
                           "gather": ["flat_pull"], "up": ["flat"], "down": ["flat_pull"], "chunk": [16384],
                           "format": ["line"], "taken_back": ["cleared"]}}}
JSON
expect_code 0 "${lab[@]}" --hosts 2 -- "${mpirun[@]}" -n 4 "$agent" sweep --most-rounds 12 --config "$work/hosts.json" --db "$work/hosts.db" --quiet
expect_code 0 "$colltune" show measurements --db "$work/hosts.db" --json
expect_json 'len(data) > 0 and all(m["outcome"] == "ok" and m["ranks_ran"] == 4 and m["verified_calls"] > 0 for m in data)'
expect_json '{(t["nodes"], t["ranks_per_node"], t["interconnect"]) for t in (m["key"]["topology"] for m in data)} == {(2, 2, "network")}'
expect_json '{c + kind for c in ("all_reduce", "reduce_scatter", "all_gather") for kind in ("_hierarchical", "_hierarchical_low_latency")} <= {m["variant"].split("{")[0].removeprefix("cpu.") for m in data}'
expect_json '{"cpu.all_reduce_leaders", "cpu.broadcast_leaders", "cpu.broadcast_double_tree"} <= {m["variant"].split("{")[0] for m in data}'
expect_json 'not any("_low_latency" in m["variant"] and "hierarchical" not in m["variant"] for m in data)'
for collective in all_reduce reduce_scatter all_gather broadcast; do
  expect_code 0 "$colltune" lookup "$collective" --bytes 4096 --nodes 2 --ranks-per-node 2 --db "$work/hosts.db" --json
  expect_json 'data["winner"] != ""'
done
# They are no answer for ranks of one host.
expect_code 3 "$colltune" lookup all_reduce --bytes 4096 --nodes 1 --ranks-per-node 4 --db "$work/hosts.db"

# Programs that know nothing of colltune run what wins among these hosts, where a table says so.
if [ -n "${COLLTUNE_COMPONENT:-}" ]; then
  component=(--mca mca_base_component_path "$COLLTUNE_COMPONENT:SYSTEM_DEFAULT:USER_DEFAULT" -x COLLTUNE_REPORT=1)
  expect_code 0 "$COLLTUNE_PLANTED_TABLE" "$work/planted.ctt" 3 2x2 1x2 2x1
  # All that ranks need reaches them on the other host, too.
  expect_code 0 env OMPI_MCA_coll_colltune_patience=0 "${lab[@]}" --hosts 2 -- "$colltune" run --table "$work/planted.ctt" --files "$work/launch" -- \
    "${mpirun[@]}" -n 4 "$COLLTUNE_RANDOM_PROGRAM" 400 1 without-windows
  expect_in out '400 calls, right'
  expect_in err ' calls, .*cpu\.[a-z_]*_hierarchical'
  # One host lacks the table: the library's own run everywhere.
  expect_code 0 "${lab[@]}" --hosts 2 -- "${mpirun[@]}" -n 2 --host lab0:2 "${component[@]}" -x COLLTUNE_TABLE="$work/planted.ctt" \
    "$COLLTUNE_RANDOM_PROGRAM" 100 1 without-windows : -n 2 --host lab1:2 "$COLLTUNE_RANDOM_PROGRAM" 100 1 without-windows
  expect_in out '100 calls, right'
  expect_in err 'not all ranks of a communicator run with colltune'
fi
finish
