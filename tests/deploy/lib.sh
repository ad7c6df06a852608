# shellcheck shell=bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by the end-to-end tests. Wants: COLLTUNE_BIN (programs), COLLTUNE_SOURCE (the tree), COLLTUNE_MPIRUN.
set -uo pipefail
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
agent=$COLLTUNE_BIN/colltune-agent
colltuned=$COLLTUNE_BIN/colltuned
colltune=$COLLTUNE_BIN/colltune
read -r -a mpirun <<<"$COLLTUNE_MPIRUN"
work=$(mktemp -d)
daemons=()
failures=0
checks=0

leave() {
  for pid in ${daemons[@]+"${daemons[@]}"}; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
  rm -rf "$work"
}
trap leave EXIT

fail() {
  failures=$((failures + 1))
  printf 'FAILED: %s\n' "$1" >&2
  [ -f "$work/out" ] && cut -c 1-300 "$work/out" | sed "s/^/  stdout: /" | head -n 30 >&2
  [ -f "$work/err" ] && cut -c 1-1000 "$work/err" | sed "s/^/  stderr: /" | head -n 30 >&2
  return 0
}

# expect_code CODE COMMAND…: runs it with stdout in $work/out and stderr in $work/err. Whatever hangs fails.
expect_code() {
  local wanted=$1 code
  shift
  checks=$((checks + 1))
  timeout 300 "$@" >"$work/out" 2>"$work/err" </dev/null
  code=$?
  [ "$code" -eq "$wanted" ] || fail "exit code $code, wanted $wanted: $*"
}

# expect_in FILE PATTERN: the last command's out or err has a line that matches.
expect_in() {
  checks=$((checks + 1))
  grep -q -E -- "$2" "$work/$1" || fail "no line matches '$2' in $1"
}

expect_not_in() {
  checks=$((checks + 1))
  ! grep -q -E -- "$2" "$work/$1" || fail "a line matches '$2' in $1"
}

# expect_json JQ-LIKE: a python expression over `data`, the JSON on the last command's stdout, is true. Where it is not, it
# says of rows what they came to, since a whole database is too long to be read.
expect_json() {
  checks=$((checks + 1))
  python3 -c '
import collections, json, sys
data = json.load(open(sys.argv[1]))
if eval(sys.argv[2]): sys.exit(0)
rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
if isinstance(data, list): print(f"  {len(data)} rows", file=sys.stderr)
for field in ("outcome", "verdict", "status", "state", "confirmation", "ranks_ran"):
    if any(field in row for row in rows):
        print(f"  {field}:", dict(collections.Counter(str(row.get(field)) for row in rows)), file=sys.stderr)
for row in [row for row in rows if row.get("outcome", "ok") != "ok"][:5]:
    print("  not ok:", row.get("variant"), row["outcome"], row.get("detail"), file=sys.stderr)
sys.exit(1)' "$work/out" "$1" || fail "not so: $1"
}

# start_daemon LISTEN DATABASE: returns when it says that it listens.
start_daemon() {
  "$colltuned" --db "$2" --listen "$1" >"$work/daemon.out" 2>"$work/daemon.err" &
  daemons+=($!)
  for _ in $(seq 600); do
    grep -q -s listening "$work/daemon.out" && return 0
    kill -0 "${daemons[-1]}" 2>/dev/null || break
    sleep 0.05
  done
  sed 's/^/  colltuned: /' "$work/daemon.err" >&2
  fail "colltuned does not listen on $1"
}

finish() {
  echo "$checks checks, $failures failed"
  [ "$failures" -eq 0 ]
}
