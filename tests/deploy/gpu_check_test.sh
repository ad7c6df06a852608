#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# deploy/gpu_check with programs that stand for the real ones and an nvidia-smi of its own: what it says of each step
# and of the whole; that it ends in time; what a pack holds.
set -euo pipefail
source_check=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "gpu_check_test: $1" >&2
  exit 1
}
# ends_with CODE TEXT COMMAND…
ends_with() {
  local code=0 wanted=$1 text=$2
  shift 2
  "$@" > "$folder/out" 2>&1 || code=$?
  [ "$code" -eq "$wanted" ] || { cat "$folder/out"; fail "$* ended with $code, not $wanted"; }
  grep -q -- "$text" "$folder/out" || { cat "$folder/out"; fail "$* does not say '$text'"; }
}
# program NAME LINES: a program of the pack.
program() {
  printf '#!/bin/sh\n%s\n' "$2" > "$folder/$1"
  chmod +x "$folder/$1"
}
# expect CONDITION: in Python, of the summary `s`, its `status` by step and its `findings` by step.
expect() {
  python3 - "$folder/results/summary.json" "$1" <<'PYTHON' || fail "not so: $1"
import json, sys
s = json.load(open(sys.argv[1]))
status = {step["step"]: step["status"] for step in s["steps"]}
findings = {step["step"]: step.get("findings", []) for step in s["steps"]}
reason = {step["step"]: step.get("reason", "") for step in s["steps"]}
if not eval(sys.argv[2]): sys.exit(json.dumps(s, indent=1))
PYTHON
}

# A copy: no agent of a real build is near it.
mkdir -p "$folder/none" "$folder/bin" "$folder/deploy" "$folder/configs"
cp "$source_check" "$folder/deploy/"
cp "$(dirname "$source_check")/../configs/gpu.json" "$folder/configs/"
check=$folder/deploy/gpu_check
tried=(ends_with 0 "all is well" "$check" --programs "$folder" --results "$folder/results")

ends_with 2 "unknown argument '--now'; allowed are --results" "$check" --now
ends_with 2 "results needs a value" "$check" --results
ends_with 2 "exclude each other" "$check" --programs x --pack y
ends_with 2 "seconds needs a number from 20 on, not '9'" "$check" --seconds 9
ends_with 2 "there is no program 'nowhere'" "$check" --agent nowhere

ln -s "$(command -v bash)" "$(command -v dirname)" "$(command -v env)" "$(command -v mktemp)" "$(command -v rm)" \
  "$folder/none/"
ends_with 3 "no GPU: nvidia-smi is not there" env "PATH=$folder/none" bash "$check"

# shellcheck disable=SC2016 # the program expands it
program bin/nvidia-smi 'case $1 in --query*) echo 9.0 ;; *) echo "one GPU" ;; esac'
program bin/compute-sanitizer 'echo "$@"'
export PATH=$folder/bin:$PATH
ends_with 2 "holds no program kernels_cuda_device_test" "$check" --programs "$folder" --results "$folder/results"

# All is well.
# bench OF_TARGETS OF_OTHERS: a gpu_bench that does this with the targets, and that with all else.
bench() {
  # shellcheck disable=SC2016 # the program expands it
  program gpu_bench 'echo "a table"; echo "$@"
case $1 in
  --targets) echo "{\"targets\": [{\"name\": \"ring\", \"reached\": true}]}" > "$5"; '"$1"' ;;
  *) '"$2"' ;;
esac'
}
program kernels_cuda_device_test 'echo conforms'
bench : :
program gpu_sweep 'echo "a sweep"; echo "$@"; echo "complete, 24 decisions"'
"${tried[@]}"
expect 's["capability"] == "90" and s["exit"] == 0 and s["result"] == "all is well" and s["seconds"] < 60'
expect 'all(status[step] == "ok" for step in ("machine", "conformance", "targets", "memcheck", "racecheck", "synccheck",
            "speeds", "captured", "sweep"))'
expect 'list(status).index("targets") < min(list(status).index(step) for step in ("memcheck", "speeds", "sweep"))'
expect 's["acceptance"]["targets"][0]["reached"] is True'
expect 'status["nccl_forced"] == status["nccl_held_back"] == "skipped" and "no colltune-agent" in reason["nccl_forced"]'
grep -q "ranks 4 --variants 8 --seconds 64 " "$folder/results/speeds.txt" || fail "the table's text was not kept"
grep -q -- "--captured" "$folder/results/captured.txt" || fail "captured calls were not measured as such"
grep -q "config .*gpu.json" "$folder/results/sweep.txt" || fail "the sweep got no configuration"
grep -q -- "--tool racecheck" "$folder/results/racecheck.txt" || fail "racecheck was not run as such"

# What was not measured, or not reached, is found, and is not hidden behind what is worse.
bench : 'echo "NOT MEASURED: cuda.\"one\" 1KiB: 0 of 2 variants were timed"; exit 4'
ends_with 4 "something was not measured" "$check" --programs "$folder" --results "$folder/results"
expect 'status["speeds"] == "not measured" and status["targets"] == "ok" and s["exit"] == 4'
expect 'findings["speeds"] == ["NOT MEASURED: cuda.\"one\" 1KiB: 0 of 2 variants were timed"]'
bench 'echo "TARGET MISSED: ring"; exit 5' 'exit 4'
ends_with 5 "a target was missed" "$check" --programs "$folder" --results "$folder/results"
expect 'status["targets"] == "target missed" and findings["targets"] == ["TARGET MISSED: ring"] and s["exit"] == 5'
program kernels_cuda_device_test 'echo "a kernel is wrong"; exit 1'
ends_with 1 "conformance: failed (exit 1" "$check" --programs "$folder" --results "$folder/results"
expect 's["exit"] == 1 and status["sweep"] == "ok" and status["targets"] == "target missed"'
program kernels_cuda_device_test 'echo conforms'
bench : :
program gpu_sweep 'echo "budget, 3 decisions"'
ends_with 4 "something was not measured" "$check" --programs "$folder" --results "$folder/results"
expect 'status["sweep"] == "not measured" and "did not come to all" in findings["sweep"][0]'
program gpu_sweep 'echo "$@"; echo "complete, 24 decisions"'
program bin/compute-sanitizer 'exit 9'
ends_with 1 "memcheck: failed (exit 9" "$check" --programs "$folder" --results "$folder/results"
program bin/compute-sanitizer 'echo "$@"'

# NCCL between two processes: a launcher that starts both, and an agent whose results are literal.
# shellcheck disable=SC2016 # the program expands it
program bin/mpirun.openmpi 'shift 2
OMPI_COMM_WORLD_RANK=1 "$@" > /dev/null &
OMPI_COMM_WORLD_RANK=0 "$@" || exit $?
wait'
mkdir "$folder/agent"
# shellcheck disable=SC2016 # the program expands it
program agent/colltune-agent 'case "$*" in
  *--dry-run*) printf "Measured:\n  nccl.all_reduce_forced{algorithm=ring}\nSkipped:\n"; exit "${PLAN:-0}" ;;
esac
[ -z "$LAUNCH" ] || exit "$LAUNCH"
echo "sweep of $(cat "$7")"; echo "sweep x: complete, 10 trials"'
# shellcheck disable=SC2016 # the program expands it
program agent/colltune 'case "$*" in *nccl_forced.db) sweep=forced ;; *) sweep=held ;; esac
cat "'"$folder"'/$2.$sweep"'
# results FORCED HELD DECISIONS: what the two sweeps measured, as Python, and what the first one decided.
results() {
  python3 - "$folder" "$@" <<'PYTHON'
import json, sys
five = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce")
def key(collective):
    return {"problem": {"collective": collective, "message_size_bytes": 1048576},
            "topology": {"placement": "shared_device"}}
def forced(collective="all_reduce", settings="algorithm=ring,channels=2,protocol=ll", outcome="ok", detail="", calls=9,
           **conditions):
    if outcome == "ok" and not conditions: conditions = {"executed": settings + ",told_by=profiler"}
    return {"key": key(collective), "variant": "nccl.%s_forced{%s}" % (collective, settings), "outcome": outcome,
            "detail": detail, "verified_calls": calls, "conditions": conditions}
def won(one): return {"key": one["key"], "winner": one["variant"]}
all_five = [forced(collective) for collective in five]
late = forced(outcome="timed_out", detail="NCCL's all_reduce did not end in time")
anew = forced(executed="algorithm=ring,channels=2,protocol=ll", renewals=1)
values = [eval(text) for text in sys.argv[2:]]
names = ("measurements.forced", "measurements.held", "decisions.forced", "decisions.held")
for name, value in zip(names, values + [[]]):
    json.dump(value, open(sys.argv[1] + "/" + name, "w"))
PYTHON
}
with_agent=("$check" --programs "$folder" --results "$folder/results" --agent "$folder/agent/colltune-agent")
PLAN=2 ends_with 0 "nccl_forced: skipped: the agent's plan ended with 2" "${with_agent[@]}"
results 'all_five + [
  forced(settings="algorithm=tree,channels=0,protocol=simple", outcome="unavailable", detail="no tree"),
  forced(settings="algorithm=tree,channels=8,protocol=ll", executed_instead="algorithm=ring,channels=2,protocol=ll")]' \
  '[late, anew]' '[won(all_five[0])]'
ends_with 0 "variants: 5 ran as forced, 1 ran something else, which is not credited, 1 unavailable" "${with_agent[@]}"
expect 'status["nccl_forced"] == status["nccl_held_back"] == "ok"'
grep -q '"channels": \[0\]' "$folder/results/nccl_held_back.txt" || fail "the configuration did not come to the agent"
# found STEP STATUS TEXT…: each text is in a finding.
found() {
  local step=$1 text
  expect "status['$step'] == '$2'"
  for text in "${@:3}"; do expect "any('$text' in one for one in findings['$step'])"; done
}
results 'all_five + [forced(outcome="failed", detail="an error"), forced(outcome="timed_out", detail="late"),
  forced(outcome="unavailable"), forced(calls=0), forced(hand_over_ns=1),
  forced(executed="algorithm=ring,channels=1,protocol=ll,told_by=profiler"),
  forced(settings="algorithm=tree,channels=0,protocol=ll", executed_instead="algorithm=ring")]' \
  '[late, anew, forced(outcome="crashed", detail="gone")]' \
  '[won(forced(settings="algorithm=tree,channels=0,protocol=ll"))]'
ends_with 1 "something is wrong" "${with_agent[@]}"
found nccl_forced failed 'failed: an error' 'timed_out: late' 'unavailable for no reason' 'was not verified' \
  'what nobody told' 'channels=1,protocol=ll,told_by=profiler, and is credited' 'which ran something else'
found nccl_held_back failed 'crashed: gone'
results 'all_five[:4]' '[anew]' '[]'
ends_with 4 "something was not measured" "${with_agent[@]}"
found nccl_forced 'not measured' 'no forced variant of reduce ran'
found nccl_held_back 'not measured' 'no call was under way'
results all_five '[late, forced()]' '[]'
ends_with 4 "something was not measured" "${with_agent[@]}"
found nccl_held_back 'not measured' 'made anew after an abort'

# A launch that loses a rank ends with 4, which means something else here.
results all_five '[late, anew]' '[]'
LAUNCH=4 ends_with 1 "WRONG: the launch ended with 4" "${with_agent[@]}"
found nccl_forced failed 'the launch ended with 4'

# It ends in time, whatever hangs and does not want to be ended. Who had all of its time is at fault.
# shellcheck disable=SC2016 # the program expands it
program bin/nvidia-smi 'case $1 in --query*) echo 9.0 ;; *) exec sleep 100 ;; esac'
program kernels_cuda_device_test 'trap "" TERM; while :; do sleep 1; done'
begin=$SECONDS
ends_with 1 "machine: timed out" "$check" --programs "$folder" --results "$folder/results" --seconds 30
[ $((SECONDS - begin)) -le 31 ] || fail "it took $((SECONDS - begin)) s of 30"
expect 'status["machine"] == "timed out" and status["conformance"] == "not measured"'
expect '"of its 90 s only" in reason["conformance"] and status["targets"] == "not measured" and s["acceptance"] is None'
expect 'status["racecheck"] == "skipped" and reason["racecheck"] == "no time is left"'
program kernels_cuda_device_test 'echo conforms'

program bin/nvidia-smi 'exit 9'
ends_with 3 "no GPU: nvidia-smi found none" "$check" --programs "$folder" --results "$folder/results"

# The build: configured in earnest where there is a compiler for it, its targets looked up, and then not built. What it
# would leave is a program with libraries of its own.
if cuda=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null); then
  real=$(command -v cmake)
  cat > "$folder/bin/cmake" <<SCRIPT
#!/usr/bin/env bash
set -e
[ "\$1" = --build ] || exec "$real" "\$@"
ninja -C "\$2" -n "\${@:4}" > /dev/null
for target in "\${@:4}"; do
  mkdir -p "\$2/tests/of_\$target"
  cp "\$(readlink -f "$real")" "\$2/tests/of_\$target/\$target"
done
SCRIPT
  chmod +x "$folder/bin/cmake"
  echo "configures with $cuda"
  ends_with 0 "packed into" "$source_check" --pack "$folder/pack.tar.gz" --build "$folder/build"
  mkdir "$folder/unpacked"
  tar -C "$folder/unpacked" -xzf "$folder/pack.tar.gz"
  for file in gpu_check gpu.json kernels_cuda_device_test gpu_bench gpu_sweep; do
    [ -s "$folder/unpacked/gpu_check/$file" ] || fail "the pack holds no $file"
  done
  [ -n "$(ls "$folder/unpacked/gpu_check/lib")" ] || fail "the pack holds no libraries"
  [ ! -e "$folder/unpacked/gpu_check/lib/libc.so.6" ] || fail "the pack holds the machine's own library"
  program bin/nvidia-smi 'echo 9.0'
  for file in kernels_cuda_device_test gpu_bench gpu_sweep; do cp "$folder/$file" "$folder/unpacked/gpu_check/"; done
  cd "$folder/unpacked"
  ends_with 0 "all is well" gpu_check/gpu_check --programs gpu_check --results "$folder/results"
  grep -q "config gpu_check/gpu.json" "$folder/results/sweep.txt" || fail "the pack's configuration was not used"
else
  echo "no nvcc: neither configured nor packed"
fi
echo "gpu_check_test: passed"
