#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# Confirmation in fresh processes, with the real programs and planted truths (tests/bench/trust): a rival that is 3 times
# as fast as the baseline everywhere, and a trap, whose first operation in a process is slow: in a sweep it wins for the
# size that is measured second, in fresh launches it loses. One rank, so that a loaded machine changes nothing.
#
# shellcheck source=tests/deploy/lib.sh
source "$(dirname "$0")/lib.sh"
agent=$COLLTUNE_TRUST_AGENT
export COLLTUNE_CONFIRM_TEST=$work # in the environment of all that is started here: finds what is left over

# ranks: processes of this test that a launcher started.
ranks() {
  local pid
  grep -l -s -z "COLLTUNE_CONFIRM_TEST=$work" /proc/[0-9]*/environ | cut -d/ -f3 | while read -r pid; do
    { tr '\0' '\n' <"/proc/$pid/environ" | grep -q '^OMPI_COMM_WORLD_RANK=' && echo "$pid"; } 2>/dev/null
  done
}

# await_ranks DATABASE: until a rank of the background command has begun.
await_ranks() {
  for _ in $(seq 300); do
    [ -e "$1.in-flight" ] && [ -n "$(ranks)" ] && return
    sleep 0.1
  done
  fail "no launch begins"
}

expect_none_left() {
  checks=$((checks + 1))
  for _ in $(seq 100); do
    [ -z "$(ranks)" ] && return
    sleep 0.1
  done
  fail "ranks are left over: $(ranks | tr '\n' ' ')"
}

# await_code CODE PID
await_code() {
  local code
  checks=$((checks + 1))
  wait "$2"
  code=$?
  [ "$code" -eq "$1" ] || fail "exit code $code, wanted $1"
}

cat >"$work/two_sizes.json" <<'JSON'
{"version": 1, "collectives": ["all_reduce"], "sizes": "4KiB,64KiB", "budget_seconds": 60, "passes": 4, "precision": 0.1,
 "soak": {"runs": 20, "seconds": 0.2}, "decision": {"most_kept_waiting": 1}}
JSON
launch=("${mpirun[@]}" -n 1 "$agent")
sweep=("${launch[@]}" sweep --allow-oversubscribe --quiet --config "$work/two_sizes.json")

# expect_decisions DATABASE EXPRESSION: over `large`, the decisions for 64 KiB, and `data`, all of them.
expect_decisions() {
  expect_code 0 "$colltune" show decisions --db "$1" --json
  expect_json "(lambda large: $2)([d for d in data if d['key']['problem']['message_size_bytes'] == 65536])"
}
provisional="all(d['verdict'] == 'displaced' and d['status'] == 'provisional' for d in large)"

# --- A sweep's decisions are provisional, and the trap is among the winners.
export COLLTUNE_TRUST=trap
expect_code 0 "${sweep[@]}" --db "$work/trap.db"
expect_decisions "$work/trap.db" "large and $provisional"

# --- Wrong usage is refused with a text that helps.
expect_code 2 "$agent" confirm --db "$work/none.db" -- "${launch[@]}"
expect_in err 'none\.db'
checks=$((checks + 1))
[ -z "$(find "$work" -name 'none.db*')" ] || fail 'who finds no database leaves files'
expect_code 2 "$agent" confirm --db "$work/trap.db" -- "${launch[@]}" lookup
expect_in err "'lookup' follows the agent"
expect_code 2 "$agent" confirm --db "$work/trap.db" -- "${mpirun[@]}" -n 2 true
expect_in err 'does not name colltune-agent'
expect_code 2 "$agent" confirm --db "$work/trap.db" -- "${launch[@]}" sweep --quiet
expect_in err 'the sweep command: .*config'
expect_code 2 "$agent" confirm --db "$work/trap.db" -- "$work/no-launcher" "$agent"
expect_code 2 "$agent" confirm --db "$work/trap.db" --most-kept-waiting 1.5 -- "${launch[@]}"
expect_in err 'most-kept-waiting'
expect_decisions "$work/trap.db" "$provisional"

# --- A winner that this launch's agent does not have is listed and stays provisional.
expect_code 0 "$COLLTUNE_BIN/colltune-agent" confirm --db "$work/trap.db" --launches 1 -- "${mpirun[@]}" -n 1 \
  "$COLLTUNE_BIN/colltune-agent"
expect_in err 'stays provisional: all_reduce f32 sum 64KiB .*trust\.all_reduce'
expect_decisions "$work/trap.db" "$provisional"

# --- Interrupted: nothing is published, no process is left.
"$agent" confirm --db "$work/trap.db" --seconds-per-key 60 -- "${launch[@]}" >"$work/out" 2>"$work/err" &
confirm=$!
daemons+=("$confirm")
await_ranks "$work/trap.db"
kill -INT "$confirm"
await_code 130 "$confirm"
expect_none_left
expect_decisions "$work/trap.db" "$provisional"

# --- A killed rank: its launch is repeated, and the trap is vetoed all the same.
"$agent" confirm --db "$work/trap.db" --most-kept-waiting 1 -- "${launch[@]}" >"$work/out" 2>"$work/err" &
confirm=$!
daemons+=("$confirm")
until grep -q 'launch 2 starts' "$work/err" || ! kill -0 "$confirm" 2>/dev/null; do
  for pid in $(ranks); do kill -9 "$pid" 2>/dev/null; done
done
await_code 0 "$confirm"
expect_in err 'launch 2 starts'
expect_in err 'all_reduce f32 sum 64KiB .*trust\.all_reduce was vetoed: 0\..* in 5 fresh launches .*the baseline stays'
expect_none_left
expect_decisions "$work/trap.db" "all(d['verdict'] == 'kept' and d['status'] == 'confirmed' and
  d['winner'] == 'mpi.all_reduce' and d['confirmation']['launches'] == 5 for d in large)"
expect_code 0 "$colltune" show sweeps --db "$work/trap.db" --json
expect_json "[s['state'] for s in data if s['purpose'] == 'confirm'].count('complete') >= 5"
expect_json "len([s for s in data if s['purpose'] == 'choose' and not s['confirmation']]) == 1"

# --- Nothing is left to confirm: no launch, no new generation.
expect_code 0 "$agent" confirm --db "$work/trap.db" --most-kept-waiting 1 -- "${launch[@]}"
expect_in err '^colltune-agent: confirmed 0 decisions'
expect_not_in err '(published|set 1)'

# --- A launch that a stall uses up is made up for by a further one.
export COLLTUNE_TRUST=delay:200
expect_code 0 "${sweep[@]}" --db "$work/stall.db"
cp "$work/stall.db" "$work/five.db"
COLLTUNE_TRUST=stall:$work/stalled expect_code 0 "$agent" confirm --db "$work/stall.db" -- "${sweep[@]}"
expect_in err '1 more launch\(es\)'
expect_not_in err 'vetoed'
expect_decisions "$work/stall.db" "large and all(d['verdict'] == 'displaced' and d['status'] == 'confirmed' and
  d['confirmation']['launches'] in (5, 6) for d in large)"

# --- If that cannot be launched, what the others measured is published all the same.
cat >"$work/five_launches" <<EOF
#!/bin/sh
[ "\$(wc -l <"$work/launches")" -lt 5 ] || exit 2
echo >>"$work/launches"
exec "\$@"
EOF
chmod +x "$work/five_launches"
touch "$work/launches"
COLLTUNE_TRUST=stall:$work/stalled_again expect_code 4 "$agent" confirm --db "$work/five.db" -- "$work/five_launches" "${launch[@]}"
expect_in err 'launch 6 could not be made \(exit code 2\): the set goes by the 5 before it'
expect_in err 'confirmed [1-9][0-9]* decisions .*, [1-9][0-9]* stay provisional; published generation 2'

# --- What is as fast in fresh launches is confirmed, here right after a supervised sweep.
expect_code 0 "$agent" supervise --confirm 5 --db "$work/fast.db" -- "${sweep[@]}" --db "$work/fast.db"
expect_not_in err 'vetoed'
expect_decisions "$work/fast.db" "all(d['verdict'] == 'displaced' and d['status'] == 'confirmed' and
  d['confirmation']['launches'] == 5 and 1.5 < d['confirmation']['speedup'] < 6 for d in large)"
finish
