#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# Reductions over a process mesh: measured, looked up by file and by server, explained, exported, measured again.
# shellcheck source=tests/deploy/lib.sh
source "$(dirname "$0")/lib.sh"

echo '{"version": 1, "meshes": [{"shape": "2x2", "reduce": "0:sum,1:avg"}], "sizes": "4KiB,64KiB", "passes": 2,
  "precision": 0.3, "decision": {"most_kept_waiting": 1}, "soak": {"runs": 10, "seconds": 1},
  "implementations": {"include": ["mpi.*", "cpu.*_low_latency", "cpu.*_flat"]}}' >"$work/mesh.json"
sweep=("$agent" sweep --most-rounds 24 --config "$work/mesh.json" --allow-oversubscribe --quiet)
question=(mesh_reduce --mesh 2x2 --reduce 0:sum,1:avg --bytes 4KiB --placement "$(
  [ "$(nproc)" -lt 4 ] && echo oversubscribed || echo dedicated)")

expect_code 0 "$agent" sweep --dry-run --config "$work/mesh.json"
expect_in out 'the mesh has 4 ranks, this world 1'
# The baseline, of the library's collectives, is slow by construction: on any machine something displaces it.
mpirun+=(-x "LD_PRELOAD=$COLLTUNE_SLOW_MPI")
expect_code 0 "${mpirun[@]}" -n 4 "${sweep[@]}" --db "$work/mesh.db"
expect_code 0 "$colltune" show decisions --db "$work/mesh.db" --json
expect_in out '"verdict":"displaced"'
expect_code 0 "$colltune" show measurements --db "$work/mesh.db" --json
expect_json '{m["variant"].split(".")[0] for m in data} == {"sequential", "merged", "hierarchical"}'
expect_json 'all(m["outcome"] == "ok" and m["ranks_ran"] == 4 and m["verified_calls"] > 0 for m in data)'
expect_json 'all(m["conditions"]["communicators_ns"] > 0 for m in data if m["variant"].startswith("sequential"))'
expect_json 'any(m["is_baseline"] and m["variant"].startswith("sequential.mesh_reduce{first=mpi.") for m in data)'

# The answer has the parts that all ranks run; a policy overrides what was measured.
expect_code 0 "$colltune" lookup "${question[@]}" --db "$work/mesh.db" --json
expect_json 'data["key"]["problem"]["mesh"]["shape"] == [2, 2] and data["key"]["problem"]["kind"] == "mesh_reduce"'
for form in sequential merged hierarchical; do
  expect_code 0 "$colltune" lookup "${question[@]}" --policy $form --db "$work/mesh.db"
  expect_in out "^winner       $form\.mesh_reduce\{"
done
expect_in out 'reduce_scatter in the groups of step [01] \([01]:(sum|avg)\): '
expect_code 0 "$colltune" lookup "${question[@]}" --policy measured --db "$work/mesh.db"
expect_code 0 "$colltune" explain "${question[@]}" --db "$work/mesh.db"
expect_in out '^  all ranks, (step 0 \(0:sum\)|all_reduce among all|reduce_scatter in the groups)'
expect_in out '^communicators are made once'
expect_code 0 "$colltune" explain "${question[@]}" --db "$work/mesh.db" --json
expect_json '{line["mode"] for line in data["modes"]["best"]} >= {"baseline", "merged", "hierarchical"}'

# What cannot be is refused with the reason.
refused() {
  local reason=$1
  shift
  expect_code 2 "$colltune" lookup "$@" --bytes 4KiB --db "$work/mesh.db"
  expect_in err "$reason"
}
refused 'needs --mesh' mesh_reduce
refused 'dimensions 0 to 1' mesh_reduce --mesh 2x2 --reduce 2:sum
refused 'operators of a mesh_reduce stand in --reduce' mesh_reduce --mesh 2x2 --reduce 0:sum --op sum
refused 'is for mesh_reduce, not for all_reduce' all_reduce --mesh 2x2
refused "'fused' is none; allowed are measured, sequential" mesh_reduce --mesh 2x2 --reduce 0:sum --policy fused
refused 'steps of unlike operators' mesh_reduce --mesh 2x2 --reduce 0:sum,1:max --policy merged
expect_code 3 "$colltune" lookup mesh_reduce --mesh 4x1 --reduce 0:sum --bytes 4KiB --db "$work/mesh.db"
expect_in err 'the closest differs in mesh or what is reduced over it'

# By server, and in the export.
start_daemon "unix:$work/s" "$work/mesh.db"
expect_code 0 "$colltune" lookup "${question[@]}" --policy merged --server "unix:$work/s"
expect_in out '^winner       merged\.mesh_reduce\{'
expect_code 2 "$colltune" lookup mesh_reduce --mesh 2x2 --reduce 0:sum,1:max --policy merged --bytes 4KiB \
  --server "unix:$work/s"
expect_in err 'steps of unlike operators'
expect_code 0 "$colltune" export json --db "$work/mesh.db"
expect_json 'all("mesh" in t["problem"] for t in data["tables"]) and len(data["compositions"]) > 0'

# Measured again in a fresh launch: in more than one where a stall used one up, or where another winner had to be confirmed.
expect_code 0 "$agent" confirm --launches 1 --seconds-per-key 0.2 --db "$work/mesh.db" -- "${mpirun[@]}" -n 4 "${sweep[@]}"
expect_code 0 "$colltune" show measurements --db "$work/mesh.db" --json
expect_json 'len({m["sweep_uuid"] for m in data}) >= 2'
finish
