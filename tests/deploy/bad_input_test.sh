#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# Bad input to real launches: one clear error with what, where and what is allowed; a non-zero exit of all ranks; nothing
# lost, nothing hung.
# shellcheck source=tests/deploy/lib.sh
source "$(dirname "$0")/lib.sh"

good='{"version": 1, "collectives": ["all_reduce"], "sizes": "1KiB", "budget_seconds": 1}'
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
refuse '{"version": 1, "collectives": ["all_reduces"], "sizes": "1KiB"}' 'all_reduces' 'all_gather'
refuse '{"version": 1, "collectives": ["all_reduce"], "types": ["f33"], "sizes": "1KiB"}' 'f33' 'bf16'
refuse '{"version": 1, "collectives": ["all_reduce"], "ops": ["summ"], "sizes": "1KiB"}' 'summ' 'prod'
refuse '{"version": 1, "collectives": ["all_reduce"], "sizes": "1KB"}' '1KB' 'KiB'
refuse '{"version": 1, "collectives": ["all_reduce"], "sizes": "1MiB..1KiB x2"}' '1MiB'
refuse '{"version": 1, "collectives": ["all_reduce"], "sizes": "1KiB", "worlds": [{"nodes": 3, "ranks_per_node": 9}]}' '3' '9'
refuse '{"version": 1, "collectives": ["all_reduce"], "sizes": "1KiB", "implementations": {"include": ["nothing*"]}}' 'nothing\*'
refuse '{"version": 9, "collectives": ["all_reduce"], "sizes": "1KiB"}' 'version'
refuse '{"version": 1, "collectives": ["all_reduce"], "sizes": "1KiB"' 'line'
refuse '' 'bad\.json'

expect_code 3 "${mpirun[@]}" -n 2 "$agent" sweep --config "$work/absent.json" --db "$work/never.db"
expect_in err 'absent\.json'
expect_code 2 "$agent" sweep --config "$work/good.json"
expect_in err '\-\-db'
expect_code 2 "$agent" sweep --config "$work/good.json" --db "$work/x.db" --colour
expect_in err 'colour'
expect_code 2 "$agent"
expect_code 0 "$agent" --help
expect_in out 'mpirun'

# More ranks than cores.
expect_code 2 "${mpirun[@]}" -n $(($(nproc) + 2)) "$agent" sweep --config "$work/good.json" --db "$work/never.db"
expect_in err 'allow-oversubscribe'

# n separate worlds of one.
expect_code 2 env OMPI_COMM_WORLD_SIZE=4 "$agent" sweep --config "$work/good.json" --db "$work/never.db"
expect_in err '4'

# A file that is not ours, or newer, stays as it was.
echo 'these are not the bytes you are looking for, and there are more than a few of them' >"$work/foreign.db"
cp "$work/foreign.db" "$work/foreign.copy"
expect_code 2 "${mpirun[@]}" -n 2 "$agent" sweep --config "$work/good.json" --db "$work/foreign.db" --allow-oversubscribe
expect_in err 'foreign\.db'
checks=$((checks + 1))
cmp -s "$work/foreign.db" "$work/foreign.copy" || fail "a foreign file was changed"
for command in "lookup all_reduce --bytes 1K --dtype f32 --db" "show sweeps --db" "export json --db"; do
  # shellcheck disable=SC2086
  expect_code 2 "$colltune" $command "$work/foreign.db"
  expect_in err 'foreign\.db'
  # shellcheck disable=SC2086
  expect_code 2 "$colltune" $command "$work/absent.db"
  expect_in err 'absent\.db'
done
expect_code 0 "${mpirun[@]}" -n 2 "$agent" sweep --config "$work/good.json" --db "$work/newer.db" --allow-oversubscribe --quiet
python3 - "$work/newer.db" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA user_version = 1000")
db.execute("UPDATE meta SET schema_version = 1000")
db.commit()
PY
expect_code 2 "${mpirun[@]}" -n 2 "$agent" sweep --config "$work/good.json" --db "$work/newer.db" --allow-oversubscribe
expect_in err 'newer'

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
expect_code 4 "$colltune" lookup all_reduce --bytes 1K --dtype f32 --server "unix:$work/nobody"
expect_in err 'nobody'
expect_code 2 "$colltune" lookup all_reduced --bytes 1K --dtype f32 --db "$work/t.db"
expect_in err 'all_reduced'
expect_code 3 "$colltune" lookup all_to_all --bytes 1K --dtype f32 --db "$work/t.db"
finish
