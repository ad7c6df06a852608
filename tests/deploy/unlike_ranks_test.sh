#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# Launches whose ranks differ: rehearsed with --mask and --declare.
# shellcheck source=tests/deploy/lib.sh
source "$(dirname "$0")/lib.sh"

# No budget, which a loaded machine would spend before all is measured, and a bounded number of rounds, since ranks that share
# cores reach no precision.
echo '{"version": 1, "collectives": ["all_reduce"], "sizes": "1KiB", "passes": 1, "precision": 0.5,
  "decision": {"most_kept_waiting": 1}, "soak": {"runs": 10, "seconds": 0.1},
  "implementations": {"include": ["mpi.*", "cpu.*_flat", "cpu.*_one_shot", "cpu.*_low_latency"]}}' >"$work/small.json"
sweep=("$agent" sweep --config "$work/small.json" --allow-oversubscribe --quiet)
few=(--most-rounds 24)

# What a rank lacks nobody runs, and the result is another world's.
expect_code 0 "${mpirun[@]}" -n 2 "${sweep[@]}" "${few[@]}" --db "$work/masked.db" --mask '1:impl=cpu.*' --declare '0:leader'
expect_code 0 "$colltune" show decisions --db "$work/masked.db" --json
expect_json 'len(data) > 0 and all(d["key"]["topology"]["layout_digest"] != "uniform" for d in data)'
expect_json 'len(data[0]["alternatives"]) > 0'
expect_json 'not any("cpu." in json.dumps(v["variant"]) for d in data for v in d["alternatives"])'
expect_code 0 "$colltune" explain all_reduce --bytes 1KiB --dtype f32 --wide --db "$work/masked.db"
expect_in out 'masked by impl=cpu\.\* \(rank 1\); rank 0 has it'
expect_in out 'mpi\.all_reduce .*(what runs without colltune|it is what runs without colltune)'
expect_code 0 "$colltune" show sweeps --db "$work/masked.db" --json
expect_json '"mask 1:impl=cpu.*, declare 0:leader" in data[0]["launch"]'

# A sweep of other ranks is another sweep: it does not go on with this one.
expect_code 0 "${mpirun[@]}" -n 2 "${sweep[@]}" "${few[@]}" --db "$work/masked.db"
expect_code 0 "$colltune" show sweeps --db "$work/masked.db" --json
expect_json 'len(data) == 2 and sorted(";" in s["launch"] for s in data) == [False, True]'

# Winners are measured again among ranks that are as unlike. The library is slow by construction: something displaces it, once
# there are enough rounds that count. A rank that slept may reach the common start late, so half of them may not.
many=(--most-rounds 96)
slowly=("${mpirun[@]}" -x "LD_PRELOAD=$COLLTUNE_SLOW_MPI" -n 2)
expect_code 0 "${slowly[@]}" "${sweep[@]}" "${many[@]}" --db "$work/tagged.db" --declare '0:leader'
expect_code 0 "$colltune" show decisions --db "$work/tagged.db" --json
expect_in out '"verdict":"displaced"'
expect_code 0 "$agent" confirm --launches 1 --seconds-per-key 0.1 --db "$work/tagged.db" -- \
  "${slowly[@]}" "${sweep[@]}" "${many[@]}" --declare '0:leader'
expect_code 0 "$colltune" show measurements --db "$work/tagged.db" --json
expect_json 'len({m["sweep_uuid"] for m in data}) >= 2  # more where a launch was made up for'
expect_json 'len({m["key"]["topology"]["layout_digest"] for m in data}) == 1'

# Ranks that can do more than the others become a world of their own, here without rank 0, and so do those that lack it.
# Without a budget: a loaded machine would not come to all worlds within one.
echo '{"version": 1, "collectives": ["all_reduce"], "sizes": "1KiB", "passes": 1, "precision": 0.5, "partial_worlds": true,
  "implementations": {"include": ["mpi.all_reduce", "cpu.all_reduce_one_shot"]}}' >"$work/partial.json"
expect_code 0 "${mpirun[@]}" -n 4 "$agent" sweep --most-rounds 12 --config "$work/partial.json" --db "$work/partial.db" --allow-oversubscribe \
  --quiet --mask '0-1:impl=cpu.*'
expect_code 0 "$colltune" show measurements --db "$work/partial.db" --json
expect_json '{(m["key"]["topology"]["ranks"], m["family"]) for m in data} == {(4, "mpi"), (2, "mpi"), (2, "colltune")}'
expect_json 'all(m["outcome"] == "ok" and m["ranks_ran"] == m["key"]["topology"]["ranks"] for m in data)'
expect_json 'len({m["key"]["topology"]["layout_digest"] for m in data if m["ranks_ran"] == 2}) == 2'
expect_code 0 "$colltune" show decisions --db "$work/partial.db" --json
expect_json 'not any("cpu." in json.dumps(v["variant"]) for d in data if d["key"]["topology"]["ranks"] == 4 for v in d["alternatives"])'

# Ranks that lack variants run others of the same protocol, or do their part as a group; what wins is measured again.
echo '{"version": 1, "collectives": ["all_reduce", "all_to_all"], "sizes": "4KiB", "passes": 1, "precision": 0.3,
  "decision": {"most_kept_waiting": 1}, "soak": {"runs": 10, "seconds": 1},
  "implementations": {"exclude": ["mpi.*_tuned", "*ring*", "*tree*", "*recursive*", "*rabenseifner*"]}}' >"$work/composed.json"
composed=("$agent" sweep --most-rounds 24 --config "$work/composed.json" --allow-oversubscribe --quiet)
mask='2-3:impl=cpu.*{*stores=adaptive*}'
expect_code 0 "${mpirun[@]}" -n 4 "${composed[@]}" --db "$work/composed.db" --json "$work/composed.jsonl" --mask "$mask"
expect_code 0 "$colltune" show measurements --db "$work/composed.db" --json
expect_json 'all(m["outcome"] == "ok" and m["ranks_ran"] == 4 and m["verified_calls"] > 0 for m in data)'
expect_json '{m["key"]["problem"]["collective"] for m in data if "substituted." in json.dumps(m["variant"])} == {"all_reduce", "all_to_all"}'
expect_json '{m["key"]["problem"]["collective"] for m in data if "grouped." in json.dumps(m["variant"])} == {"all_reduce", "all_to_all"}'
expect_code 0 "$colltune" import "$work/composed.jsonl" --db "$work/imported.db"
for database in composed imported; do
  question=(all_reduce --bytes 4KiB --dtype f32 --placement oversubscribed --db "$work/$database.db")
  expect_code 0 "$colltune" explain "${question[@]}" --json
  expect_json '{"baseline", "single", "substituted", "grouped"} == {line["mode"] for line in data["modes"]["best"]}'
  expect_json 'len(data["executed_by"]) >= 2 and data["answer"]["members"] == "same"'
  # Who asks without saying for whom gets what any rank can run; who asks as these ranks, all.
  expect_code 0 "$colltune" lookup "${question[@]}" --json
  expect_json 'not any(v["variant"].startswith(("substituted.", "grouped.")) for v in data["alternatives"])'
  expect_code 0 "$colltune" show members --db "$work/$database.db" --json
  cp "$work/out" "$work/members.json"
  expect_code 0 "$colltune" lookup "${question[@]}" --members "$work/members.json" --json
  expect_json 'any(v["variant"].startswith("substituted.") for v in data["alternatives"])'
  cp "$work/out" "$work/$database.answer"
  # Who reads the export learns what each rank runs.
  expect_code 0 "$colltune" export json --db "$work/$database.db"
  expect_json 'any("parts=" in d["winner"] or any("parts=" in v["variant"] for v in d["alternatives"]) for d in data["decisions"])'
  expect_json '{p for c in data["compositions"].values() for part in c["parts"] for p in part["kinds"]} == set(data["kinds"])'
  expect_json '[w["kind_of_rank"] for w in data["worlds"]] in ([[0, 0, 1, 1]], [[1, 1, 0, 0]])'
done
# The daemon answers the same; and ranks that can do less than those that were measured get what any rank can run.
start_daemon "unix:$work/s" "$work/composed.db"
question=(all_reduce --bytes 4KiB --dtype f32 --placement oversubscribed --server "unix:$work/s")
sed 's/"without\.cpu\.\*{\*stores=adaptive\*}"/"without.cpu.*"/' "$work/members.json" >"$work/less.json"
expect_code 0 "$colltune" lookup "${question[@]}" --members "$work/less.json" --json
expect_json 'data["members"] == "unknown" and data["winner"] == "mpi.all_reduce" and data["alternatives"] == []'
expect_code 0 "$colltune" show members --db "$work/composed.db" --json
cp "$work/out" "$work/members.json"
expect_code 0 "$colltune" lookup "${question[@]}" --members "$work/members.json" --json
checks=$((checks + 1))
cmp -s "$work/out" "$work/composed.answer" || fail "the daemon and the file give unlike answers to the same members"
expect_code 0 "$agent" confirm --launches 1 --seconds-per-key 0.1 --db "$work/composed.db" -- \
  "${mpirun[@]}" -n 4 "${composed[@]}" --mask "$mask"

# Every collective in every mode.
echo '{"version": 1, "collectives": ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "gather",
  "scatter"], "sizes": "4KiB", "passes": 1, "precision": 0.5, "partial_worlds": true, "null_test": false,
  "soak": {"runs": 0, "seconds": 0}, "implementations": {"include": ["mpi.*", "cpu.*_flat", "cpu.all_reduce_one_shot",
  "cpu.*_low_latency"], "exclude": ["mpi.*_tuned"]}}' >"$work/modes.json"
expect_code 0 "${mpirun[@]}" -n 4 "$agent" sweep --most-rounds 12 --config "$work/modes.json" --db "$work/modes.db" --allow-oversubscribe \
  --quiet --mask "$mask" --mask '2-3:impl=cpu.*_low_latency'
expect_code 0 "$colltune" show measurements --db "$work/modes.db" --json
expect_json 'all(m["outcome"] == "ok" and m["ranks_ran"] == m["key"]["topology"]["ranks"] for m in data)'
expect_json 'len({(m["key"]["problem"]["collective"], "partial" if m["ranks_ran"] == 2 else "substituted" if
  m["variant"].startswith("substituted.") else "grouped" if m["variant"].startswith("grouped.") else "single")
  for m in data}) == 4 * 8'

# Ranks of unlike builds are refused at once, with who runs what; or each build does its part as a group, and the two
# meet in the MPI library alone.
other=("$COLLTUNE_OTHER_AGENT" "${composed[@]:1}")
expect_code 2 "${mpirun[@]}" -n 2 "${composed[@]}" --db "$work/builds.db" : -n 2 "${other[@]}" --db "$work/builds.db"
expect_in err 'the ranks run different builds; install one on all hosts, or let each do its part'
expect_in err '\(GNU .* of another host .*\), Open MPI .*  2-3 '
[ ! -e "$work/builds.db" ] || fail "a refused launch left a database"
group=(--db "$work/builds.db" --unlike-builds group)
expect_code 0 "${mpirun[@]}" -n 2 "${composed[@]}" "${group[@]}" : -n 2 "${other[@]}" "${group[@]}"
expect_code 0 "$colltune" show measurements --db "$work/builds.db" --json
expect_json 'all(m["outcome"] == "ok" and m["ranks_ran"] == 4 for m in data)'
expect_json 'all(m["variant"].startswith(("mpi.", "grouped.")) for m in data)'
expect_json 'any("inside=cpu." in m["variant"] for m in data)'
expect_json 'not any("bridge=cpu." in m["variant"] for m in data)'

# Ranks with and without wide vectors meet in the same calls, and all results are verified.
case $(uname -m) in
  x86_64) isa=avx ;;
  *) isa=neon ;;
esac
if grep -q -E "^(flags|Features).* (avx|asimd)( |$)" /proc/cpuinfo; then
  expect_code 0 "${mpirun[@]}" -n 2 "${sweep[@]}" "${few[@]}" --db "$work/isa.db" --mask "1:$isa"
  expect_in err 'ranks differ in cpu_features'
  expect_code 0 "$colltune" show measurements --db "$work/isa.db" --json
  expect_json 'len(data[0]["key"]["topology"]["architectures"]) == 2'
  expect_json 'all(m["outcome"] == "ok" and m["verified_calls"] > 0 for m in data)'
  expect_json 'sum(m["family"] == "colltune" for m in data) > 5'
fi

finish
