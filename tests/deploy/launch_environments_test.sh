#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# A series of launches in several environments, with the real programs on two real ranks and a parameter that Open MPI
# reads once per process: what is launched, recorded, taken up again after a kill, confirmed, reported and served.
#
# shellcheck source=tests/deploy/lib.sh
source "$(dirname "$0")/lib.sh"
limit=OMPI_MCA_btl_vader_eager_limit

cat >"$work/knobs.json" <<JSON
{"version": 1, "collectives": ["all_reduce"], "sizes": "32KiB,64KiB", "budget_seconds": 20, "precision": 0.3, "passes": 2,
 "implementations": {"include": ["mpi.all_reduce"]}, "soak": {"runs": 5, "seconds": 0.1},
 "decision": {"most_kept_waiting": 1}, "launch_rounds": 2,
 "launch_environments": [{"name": "eager_128k", "variables": {"$limit": "131072"}}]}
JSON
launch=("${mpirun[@]}" -n 2 "$agent")
sweep=("${launch[@]}" sweep --allow-oversubscribe --quiet --config "$work/knobs.json" --db "$work/a.db")

# await_sweeps NUMBER: until so many sweeps of the database have ended.
await_sweeps() {
  for _ in $(seq 600); do
    [ "$("$colltune" show sweeps --db "$work/a.db" --json 2>/dev/null | grep -c '"state": *"complete"')" -ge "$1" ] && return
    sleep 0.1
  done
  fail "no $1 sweeps end"
}

# --- A launch by itself says that it is alone, and measures all the same.
expect_code 0 "${launch[@]}" sweep --allow-oversubscribe --dry-run --config "$work/knobs.json"
expect_in err 'names 1 launch environment.*colltune-agent supervise'

# --- What could not be told apart is refused before anything is measured.
expect_code 2 "${launch[@]}" sweep --config "$work/knobs.json" --db "$work/a.db" --variable LD_LIBRARY_PATH=/x
expect_in err 'LD_LIBRARY_PATH: the environment.s digest does not record it'
expect_code 2 "${launch[@]}" sweep --config "$work/knobs.json" --db "$work/a.db" --variable NCCL_BUFFSIZE
expect_in err 'write NAME=value'
expect_code 2 env "$limit=4096" "${launch[@]}" sweep --config "$work/knobs.json" --db "$work/a.db" --variable "$limit=4096"
expect_in err 'has these values already'
expect_code 2 "${launch[@]}" sweep --config "$work/knobs.json" --db "$work/a.db" --share-gpus
expect_in err 'share-gpus requires --gpus'
sed 's/btl_vader_eager_limit/rmaps_base_verbose/' "$work/knobs.json" >"$work/launchers.json"
expect_code 2 "$agent" supervise --db "$work/a.db" -- "${launch[@]}" sweep --config "$work/launchers.json" --db "$work/a.db"
expect_in err 'give it to the launcher'
checks=$((checks + 1))
[ -e "$work/a.db" ] && fail 'a refused sweep leaves a database'

# --- Killed -9 behind the second launch: the same command waits for what is left of that, and goes on with what is missing.
"$agent" supervise --db "$work/a.db" -- "${sweep[@]}" >"$work/out" 2>"$work/err" &
supervisor=$!
daemons+=("$supervisor")
await_sweeps 2
kill -9 "$supervisor"
wait "$supervisor" 2>/dev/null
expect_code 0 "$agent" supervise --db "$work/a.db" -- "${sweep[@]}"
expect_in err 'continuing series .*: [23] of its launches are stored already'
expect_code 0 "$colltune" show sweeps --db "$work/a.db" --json
expect_json "len([s for s in data if s['state'] == 'complete']) == 4 and len(data) == 4"
expect_json "sorted(__import__('collections').Counter(s['environment_digest'] for s in data).values()) == [2, 2]"

# --- Each launch's rows are of its own environment, and the report has them side by side.
expect_code 0 "$colltune" show environments --db "$work/a.db"
expect_in out 'mpi_transport .*btl_vader_eager_limit=131072'
expect_code 0 "$colltune" report environments --wide --db "$work/a.db"
expect_in out '4 launches in 2 environments'
expect_in out 'all_reduce f32 sum 32KiB .*eager_128k'
expect_code 0 "$colltune" report environments --db "$work/a.db" --json
expect_json "[e['name'] for e in data['environments']] == ['unchanged', 'eager_128k']"
expect_json "'131072' in data['environments'][1]['differs_in']['mpi_transport']"
expect_json "all(len(e['speedups']) == 2 and e['time_ns'] > 0 for k in data['keys'] for e in k['environments'])"
expect_json "data['environments'][1]['means']['all']['keys'] == 2"
digest=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["environments"][1]["digest"])' "$work/out")

# --- Winners are confirmed in launches of their own environment: low latency beside the default, in one round.
sed 's/"mpi.all_reduce"/"mpi.all_reduce", "cpu.all_reduce_low_latency"/; s/"launch_rounds": 2/"launch_rounds": 1/' \
  "$work/knobs.json" >"$work/winners.json"
winners=("${launch[@]}" sweep --allow-oversubscribe --quiet --config "$work/winners.json" --db "$work/b.db")
expect_code 0 "$agent" supervise --confirm 1 --db "$work/b.db" -- "${winners[@]}"
expect_in err "environment 'unchanged':"
expect_in err "environment 'eager_128k':"
expect_not_in err 'decided in another environment'
expect_code 0 "$colltune" show sweeps --db "$work/b.db" --json
expect_json "all(s['environment_digest'] in {c['environment_digest'] for c in data if c['purpose'] == 'choose'} for s in data)"
expect_json "len({s['environment_digest'] for s in data if s['purpose'] == 'confirm'}) == 2"

# --- A lookup that names none says which it chose, one that names one is answered from that.
expect_code 0 "$colltune" lookup all_reduce --bytes 32KiB --db "$work/a.db"
expect_in err 'environment [0-9a-f]{32} of 2 was chosen.*--environment names another'
expect_code 0 "$colltune" lookup all_reduce --bytes 32KiB --db "$work/a.db" --environment "$digest" --json
expect_json "data['key']['environment_digest'] == '$digest'"
finish
