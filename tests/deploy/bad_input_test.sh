#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# Bad input to launches of several ranks: one clear error, not one of each rank; a non-zero exit of all ranks; nothing lost,
# nothing hung. Every kind of bad input, to single processes, is in bad_input_matrix_test.py.
# shellcheck source=tests/deploy/lib.sh
source "$(dirname "$0")/lib.sh"

good='{"version": 1, "collectives": ["all_reduce"], "sizes": "1KiB", "budget_seconds": 60, "precision": 0.5, "passes": 1}'
echo "$good" >"$work/good.json"

# refuse JSON PATTERN…: a 2-rank sweep with this configuration exits with 2 and says so, once, naming the file.
refuse() {
  echo "$1" >"$work/bad.json"
  shift
  expect_code 2 "${mpirun[@]}" -n 2 "$agent" sweep --config "$work/bad.json" --db "$work/never.db" --allow-oversubscribe
  for pattern in "$@"; do expect_in err "$pattern"; done
  checks=$((checks + 1))
  [ "$(grep -c '^colltune-agent:' "$work/err")" -eq 1 ] || fail "not exactly one message"
  checks=$((checks + 1))
  [ ! -e "$work/never.db" ] || fail "a database was made"
}
refuse '{"version": 1, "collectives": ["all_reduce"], "sizes": "1KiB", "colour": 1}' 'bad\.json' 'colour' 'budget_seconds'
refuse '{"version": 1, "collectives": ["all_reduce"], "sizes": "1KiB", "worlds": [{"nodes": 3, "ranks_per_node": 9}]}' '3' '9'

expect_code 2 "${mpirun[@]}" -n 2 "$agent" sweep --config "$work/absent.json" --db "$work/never.db"
expect_in err 'absent\.json'
expect_code 0 "$agent" --help
expect_in out 'mpirun'
# Started with nothing, each program says what to do next.
for program in "$agent" "$colltuned" "$colltune"; do
  expect_code 2 "$program"
  expect_in err "^$(basename "$program"): "
  expect_in err "$(basename "$program") .*--db tuning\.db"
  expect_in err "$(basename "$program") --help"
done

# A budget that is over before anything begins is no success.
echo '{"version": 1, "collectives": ["all_reduce"], "sizes": "1KiB", "budget_seconds": 0.001}' >"$work/short.json"
expect_code 3 "${mpirun[@]}" -n 2 "$agent" sweep --config "$work/short.json" --db "$work/short.db" --allow-oversubscribe
expect_in err 'nothing was measured: the budget of 0\.001 s'

# More ranks than cores.
expect_code 2 "${mpirun[@]}" -n $(($(nproc) + 2)) "$agent" sweep --config "$work/good.json" --db "$work/never.db"
expect_in err 'allow-oversubscribe'

# GPUs where there are none.
if ! command -v nvidia-smi >/dev/null; then
  expect_code 2 "${mpirun[@]}" -n 2 "$agent" sweep --gpus --config "$work/good.json" --db "$work/never.db"
  expect_in err '--gpus: (no GPU|this build has no CUDA)'
  # Whoever wants to share them is told the same, whatever hosts NCCL was told of.
  for host in '' NCCL_HOSTID=mine; do
    # shellcheck disable=SC2086 # no word at all where there is none
    expect_code 2 env $host "${mpirun[@]}" -n 2 "$agent" sweep --gpus --share-gpus --config "$work/good.json" --db "$work/never.db"
    expect_in err '--gpus: (no GPU|this build has no CUDA)'
  done
fi

# Rules about ranks: what is wrong with them, once, and nothing done.
refuse_rule() {
  expect_code 2 "${mpirun[@]}" -n 2 "$agent" sweep --config "$work/good.json" --db "$work/never.db" --allow-oversubscribe "$1" "$2"
  expect_in err "$3"
  checks=$((checks + 1))
  [ "$(grep -c '^colltune-agent:' "$work/err")" -eq 1 ] || fail "not exactly one message"
}
refuse_rule --mask '2:impl=cpu.*' 'there is no rank 2; the launch has 0 to 1'
refuse_rule --mask '1:nvlink' 'no such feature; it has .*memory\.bytes'
refuse_rule --mask '0:impl=gpu.*' "no implementation's name matches"
refuse_rule --declare '*:a b' 'is no tag'

# n separate worlds of one.
expect_code 2 env OMPI_COMM_WORLD_SIZE=4 "$agent" sweep --config "$work/good.json" --db "$work/never.db"
expect_in err '4'

# A results file is never overwritten.
echo precious >"$work/results.jsonl"
expect_code 2 "${mpirun[@]}" -n 2 "$agent" sweep --config "$work/good.json" --json "$work/results.jsonl" --allow-oversubscribe
expect_in err 'results\.jsonl'
checks=$((checks + 1))
[ "$(cat "$work/results.jsonl")" = precious ] || fail "the results file was overwritten"

# An address in use, and nobody there.
expect_code 0 "${mpirun[@]}" -n 2 "$agent" sweep --config "$work/good.json" --db "$work/t.db" --allow-oversubscribe --quiet
start_daemon "unix:$work/s" "$work/t.db"
expect_code 2 "$colltuned" --db "$work/t.db" --listen "unix:$work/s"
expect_in err 'in use|listens'
expect_code 3 "$colltune" lookup all_to_all --bytes 1K --dtype f32 --db "$work/t.db"
finish
