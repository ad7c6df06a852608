#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# deploy/gpu_check with programs that stand for the real ones and an nvidia-smi of its own: what it says of each step
# and of the whole; that it ends in time; which files it leaves; where it finds NCCL; what a pack holds and where that
# starts.
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
  mkdir -p "$(dirname "$folder/$1")"
  rm -f "$folder/$1"  # it may be a link
  printf '#!/bin/sh\n%s\n' "$2" > "$folder/$1"
  chmod +x "$folder/$1"
}
# expect CONDITION: in Python, of the summary `s`, its `status`, `findings` and `reason` by step, and the `results`.
expect() {
  python3 - "$folder/results" "$1" <<'PYTHON' || fail "not so: $1"
import json, sys
s, results = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("summary", "results"))
status = {step["step"]: step["status"] for step in s["steps"]}
findings = {step["step"]: step.get("findings", []) for step in s["steps"]}
reason = {step["step"]: step.get("reason", "") for step in s["steps"]}
if not eval(sys.argv[2]): sys.exit(json.dumps([s, results], indent=1))
PYTHON
}
# reported TEXT: it stands in the report.
reported() { grep -q -- "$1" "$folder/results/report.txt" || fail "the report does not say '$1'"; }
# last_lines TEXT…: the output ends with lines that begin so.
last_lines() {
  local text number=$#
  for text in "$@"; do
    [[ $(tail -n "$number" "$folder/out" | head -1) == "$text"* ]] || { cat "$folder/out"; fail "no '$text' at the end"; }
    number=$((number - 1))
  done
  cmp <(tail -n $# "$folder/out") <(tail -n $# "$folder/results/report.txt") || fail "the report ends with something else"
}

# A copy: nothing of a real build is near it.
mkdir -p "$folder/none" "$folder/bin" "$folder/deploy" "$folder/configs" "$folder/cuda/lib" "$folder/home"
cp "$source_check" "$(dirname "$source_check")"/gpu_check_*.sh "$folder/deploy/"
sed 's/"collectives": .*/"collectives": ["all_reduce", "broadcast"],/; s/"sizes": .*/"sizes": "8KiB,256KiB",/' \
  "$(dirname "$source_check")/../configs/gpu.json" > "$folder/configs/gpu.json"
check=$folder/deploy/gpu_check
with_programs=("$check" --programs "$folder" --results "$folder/results")

ends_with 2 "unknown argument '--now'; allowed are --results" "$check" --now
ends_with 2 "results needs a value" "$check" --results
ends_with 2 "exclude each other" "$check" --programs x --pack y
ends_with 2 "seconds needs a number from 20 on, not '9'" "$check" --seconds 9
ends_with 2 "there is no file 'nowhere'" "$check" --nccl nowhere
ends_with 2 "unknown step 'dance'; allowed are machine,conformance," "$check" --steps machine,dance

for tool in bash awk basename dirname env grep ldd mktemp paste rm tr; do ln -s "$(command -v $tool)" "$folder/none/"; done
ends_with 2 "holds no program kernels_cuda_device_test" "${with_programs[@]}"
program kernels_cuda_device_test 'echo conforms'
program gpu_bench :
program gpu_sweep :
ends_with 3 "no GPU: nvidia-smi is not there" env "PATH=$folder/none" bash "${with_programs[@]}"

# A machine of its own: no NCCL but what is planted.
# shellcheck disable=SC2016 # the program expands it
program bin/nvidia-smi 'case $1 in --query*) echo 9.0 ;; *) echo "one GPU" ;; esac'
program bin/compute-sanitizer 'echo "$@"'
program bin/cuobjdump :
program device_objects_check.py 'echo "$@"'
mkdir "$folder/lib"
touch "$folder/lib/libcolltune_kernels.so"
program bin/ldconfig :
program bin/python-of-system 'exit 1'
unset VIRTUAL_ENV CONDA_PREFIX LD_LIBRARY_PATH
real_python=$(command -v python3)
python3() { "$real_python" "$@"; }
export PATH=$folder/bin:$PATH CUDA_HOME=$folder/cuda HOME=$folder/home
ln -s python-of-system "$folder/bin/python3"

# bench OF_TARGETS OF_OTHERS: a gpu_bench that does this with the targets, and that with all else.
bench() {
  # shellcheck disable=SC2016 # the program expands it
  program gpu_bench 'echo "a table"; echo "$@"
for json; do :; done
case $1 in
  --targets) echo "{\"targets\": [{\"name\": \"ring\", \"reached\": true}]}" > "$json"; '"$1"' ;;
  *) case $* in *--json*) echo "{\"rows\": []}" > "$json" ;; esac; '"$2"' ;;
esac'
}
# In the place of a sweep's database: what the daemon and the command line answer.
answers() { printf '%s\n' "$2" > "$folder/answers_of_$1"; }
bench 'echo "TARGET REACHED: ring"' :
# shellcheck disable=SC2016 # the program expands it
program kernels_cuda_device_test 'echo "conforms for $COLLTUNE_SECONDS"; echo "{}" > "${1#*json:}"'
# shellcheck disable=SC2016 # the program expands it
program gpu_sweep 'echo "a sweep"; echo "$@"; for db; do :; done; echo rows > "$db"; echo "complete, 24 decisions"'
# shellcheck disable=SC2016 # the program expands it
program nccl_two_processes 'echo "$@"; echo "{\"forced\": 9}" > "$8"; exit "${NCCL_ENDS:-0}"'
echo tuner > "$folder/libnccl-tuner-colltune.so"
# shellcheck disable=SC2016 # the program expands it
program colltuned 'trap "exit 0" TERM; echo "listening on $4"; while :; do sleep 0.05; done'
# shellcheck disable=SC2016 # the program expands it
program colltune 'case "$*" in *--server*) of=server ;; *) of=file ;; esac
case $1 in
  export) cp "'"$folder"'/answers_of_$of" "$6" ;;
  lookup) [ "$2" != "${UNKNOWN:-}" ] && cat "'"$folder"'/answers_of_$of" ;;
esac'
answers server one
answers file one
touch "$folder/cuda/lib/libnccl.so.2"

# All is well.
ends_with 0 "all is well" "${with_programs[@]}"
expect 's["capability"] == "90" and s["exit"] == 0 and s["result"] == "all is well" and s["seconds"] < 60'
expect 'list(status) == ["machine", "conformance", "memcheck", "targets", "nccl", "sweep", "served", "speeds", "captured",
                         "objects", "synccheck"] and set(status.values()) == {"ok"}'
expect 's["held"] == list(status) and s["fell_short"] == s["skipped"] == []'
expect 's["acceptance"]["targets"][0]["reached"] is True'
expect 'results["conformance"] == {} and results["nccl"] == {"forced": 9} and results["speeds"] == {"rows": []}'
last_lines "TARGET REACHED: ring" "held: machine; conformance; " "fell short: nothing" "skipped: nothing" "all is well"
reported "ranks 4 --variants 8 --seconds 72 "
reported "conforms for 1[89]"
reported "config .*gpu.json"
reported "tool synccheck"
reported "cuobjdump $folder/bin/cuobjdump --arch sm_90 $folder/lib/libcolltune_kernels.so"
reported "tuner $folder/libnccl-tuner-colltune.so --library $folder/cuda/lib/libnccl.so.2 --seconds 72 --json"
reported "4 decisions are served as they are stored and exported"
[ "$(ls "$folder/results")" = "$(printf '%s\n' decisions.json report.txt results.json summary.json sweep.db)" ] ||
  fail "it leaves other files: $(ls "$folder/results")"

# What was skipped is a finding, and comes before no worse one.
mv "$folder/cuda/lib/libnccl.so.2" "$folder/nccl"
rm "$folder/colltuned" "$folder/device_objects_check.py"
ends_with 4 "something was skipped" "${with_programs[@]}"
expect 'status["objects"] == "skipped" and "hold no device_objects_check.py" in reason["objects"]'
program device_objects_check.py 'echo "$@"'
expect 's["exit"] == 4 and status["nccl"] == status["served"] == "skipped" and "hold no colltuned" in reason["served"]'
expect '"no libnccl.so.2 was found: not by the loader, in CUDA" in reason["nccl"]'
last_lines "held: machine; conformance; " "fell short: nothing" "skipped: nccl: no libnccl.so.2 was found: " \
  "something was skipped; results are in $folder/results"
program device_objects_check.py 'echo "it cannot be read"; exit 77'
ends_with 4 "skipped: objects: it cannot be read" "${with_programs[@]}" --steps objects
program device_objects_check.py 'echo "$@"'
ends_with 0 "all is well" "${with_programs[@]}" --steps machine,conformance,speeds
expect 'list(status) == ["machine", "conformance", "speeds"]'
last_lines "skipped: nothing" "asked for: machine,conformance,speeds" "all is well"
# shellcheck disable=SC2016 # the program expands it
program colltuned 'trap "exit 0" TERM; echo "listening on $4"; while :; do sleep 0.05; done'

# NCCL: where it is named, what the loader knows, and where Python packages keep it, which no package is imported for.
nccl_only=("${with_programs[@]}" --steps nccl)
found_at() {
  ends_with 0 "all is well" "${nccl_only[@]}"
  reported "library $1 --seconds"
}
ends_with 0 "all is well" "${nccl_only[@]}" --nccl "$folder/nccl"
reported "library $folder/nccl --seconds"
plant() { mkdir -p "$(dirname "$folder/$1")" && touch "$folder/$1"; }
plant home/.local/lib/python3.9/site-packages/nvidia/nccl/lib/libnccl.so.2
found_at "$folder/home/.local/lib/python3.9/site-packages/nvidia/nccl/lib/libnccl.so.2"
plant base/lib/python3.12/dist-packages/torch/lib/libnccl.so.2
program base/bin/python3.12 'exit 1'
mkdir -p "$folder/venv/bin"
ln -s ../../base/bin/python3.12 "$folder/venv/bin/python3"
ln -sf ../venv/bin/python3 "$folder/bin/python3"
found_at "$folder/base/lib/python3.12/dist-packages/torch/lib/libnccl.so.2"
plant venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2
found_at "$folder/venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2"
rm -r "$folder/home/.local"
program bin/python3 "echo $folder/venv/bin/python3"  # a script that starts another
found_at "$folder/venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2"
plant active/lib/python3.11/site-packages/nvidia/cu13/lib/libnccl.so.2
VIRTUAL_ENV=$folder/active found_at "$folder/active/lib/python3.11/site-packages/nvidia/cu13/lib/libnccl.so.2"
program bin/ldconfig "echo '	libnccl.so.2 (libc6,x86-64) => $folder/nccl'"
found_at "$folder/nccl"
plant first/libnccl.so.2
LD_LIBRARY_PATH=$folder/none:$folder/first found_at "$folder/first/libnccl.so.2"
NCCL_ENDS=5 ends_with 5 "a target was missed" "${nccl_only[@]}"
NCCL_ENDS=2 ends_with 1 "something is wrong" "${nccl_only[@]}"
rm "$folder/nccl_two_processes"
ends_with 4 "nccl: skipped: the programs hold no nccl_two_processes" "${nccl_only[@]}"
# shellcheck disable=SC2016 # the program expands it
program nccl_two_processes 'echo "$@"'

# What was not measured, or not reached, is found, and is not hidden behind what is worse.
bench : 'echo "NOT MEASURED: cuda.\"one\" 1KiB: 0 of 2 variants were timed"; exit 4'
ends_with 4 "something was not measured" "${with_programs[@]}"
expect 'status["speeds"] == "not measured" and status["targets"] == "ok" and s["exit"] == 4'
expect 'findings["speeds"] == ["NOT MEASURED: cuda.\"one\" 1KiB: 0 of 2 variants were timed"]'
last_lines "captured: NOT MEASURED: cuda." "held: machine; " "fell short: speeds (not measured); captured (not measured)" \
  "skipped: nothing" "something was not measured"
bench 'echo "TARGET MISSED: ring"; exit 5' 'exit 4'
ends_with 5 "a target was missed" "${with_programs[@]}"
expect 'status["targets"] == "target missed" and findings["targets"] == ["TARGET MISSED: ring"] and s["exit"] == 5'
program kernels_cuda_device_test 'echo "a kernel is wrong"; exit 1'
ends_with 1 "conformance: failed (exit 1" "${with_programs[@]}"
expect 's["exit"] == 1 and status["sweep"] == "ok" and status["targets"] == "target missed"'
expect 'results["conformance"] is None if "conformance" in results else True'
program kernels_cuda_device_test 'echo "[  SKIPPED ] OnAGpu.Memory (0 ms)"; echo "[  SKIPPED ] OnAGpu.Memory"'
ends_with 4 "NOT MEASURED: OnAGpu.Memory skipped itself" "${with_programs[@]}" --steps conformance
expect 'findings["conformance"] == ["NOT MEASURED: OnAGpu.Memory skipped itself"]'
program kernels_cuda_device_test 'echo "NOT MEASURED: cuda.x with 8 ranks: no time is left"'
ends_with 4 "conformance: not measured" "${with_programs[@]}" --steps conformance
program kernels_cuda_device_test 'echo conforms'
bench : :
program gpu_sweep 'echo "budget, 3 decisions"'
ends_with 4 "something was not measured" "${with_programs[@]}" --steps sweep,served
expect 'status["sweep"] == "not measured" and "did not come to all" in findings["sweep"][0]'
expect 'status["served"] == "skipped" and "no sweep" in reason["served"]'
# shellcheck disable=SC2016 # the program expands it
program gpu_sweep 'for db; do :; done; echo rows > "$db"; echo log > "$db-wal"; echo "complete, 24 decisions"'
program bin/compute-sanitizer 'exit 9'
ends_with 1 "memcheck: failed (exit 9" "${with_programs[@]}" --steps memcheck
program bin/compute-sanitizer 'echo "$@"'

# Decisions that are served otherwise than they are stored, or not at all.
served=("${with_programs[@]}" --steps sweep,served)
answers server two
ends_with 1 "WRONG: the daemon's export is another one" "${served[@]}"
expect 'any("the daemon says two, the file one" in one for one in findings["served"])'
[ -s "$folder/results/sweep.db-wal" ] || fail "what the database's file lacks was not kept"
answers server one
UNKNOWN=broadcast ends_with 4 "NOT MEASURED: broadcast 8KiB has no decision" "${served[@]}"
program colltuned 'exit 2'
ends_with 1 "WRONG: colltuned does not serve" "${served[@]}"

# The profile is made where it is asked for, and tells what it did not get.
program bin/ncu 'echo "$@"; echo "Registers Per Thread 128"'
ends_with 0 "all is well" "${with_programs[@]}" --profile --steps machine
expect 'status["profile"] == "ok"'
reported "clock-control none .*256MiB --only cuda.all_reduce_ring"
# One that hangs leaves the others their time, and does not speak for them.
program bin/ncu 'case "$*" in *cuda.all_reduce_ring*) exec sleep 100 ;; esac; echo "Registers Per Thread 128"'
ends_with 4 "NOT MEASURED: no profile of cuda.all_reduce_ring: it did not end in 2 s" "${with_programs[@]}" --seconds 20 \
  --steps profile
expect 'len(findings["profile"]) == 1'
program bin/ncu 'echo "==ERROR== ERR_NVGPUCTRPERM"'
ends_with 4 "NOT MEASURED: no profile of cuda.all_reduce_one_shot: ==ERROR== ERR_NVGPUCTRPERM" \
  "${with_programs[@]}" --steps profile
rm "$folder/bin/ncu"
if ! command -v ncu > /dev/null && ! ls /opt/nvidia/nsight-compute/*/ncu > /dev/null 2>&1; then
  ends_with 4 "profile: skipped: Nsight Compute's ncu is not installed" "${with_programs[@]}" --steps profile
fi

# It ends in time, whatever hangs and does not want to be ended. Who had all of its time is at fault.
# shellcheck disable=SC2016 # the program expands it
program bin/nvidia-smi 'case $1 in --query*) echo 9.0 ;; *) exec sleep 100 ;; esac'
program kernels_cuda_device_test 'trap "" TERM; while :; do sleep 1; done'
begin=$SECONDS
ends_with 1 "machine: timed out" "${with_programs[@]}" --seconds 30
[ $((SECONDS - begin)) -le 31 ] || fail "it took $((SECONDS - begin)) s of 30"
expect 'status["machine"] == "timed out" and status["conformance"] == "not measured"'
expect '"of its 240 s only" in reason["conformance"] and status["targets"] == "not measured" and s["acceptance"] is None'
expect 'status["synccheck"] == "not measured" and reason["synccheck"] == "no time is left"'

# Ended from outside, it leaves what it has.
program bin/nvidia-smi 'echo 9.0'
program kernels_cuda_device_test 'kill -TERM "$(cat "'"$folder"'/pid")"; exec sleep 100'
# shellcheck disable=SC2016 # bash -c expands it
ends_with 1 "fell short: the rest (ended from outside)" bash -c 'echo $$ > "$0/pid"; exec "$@"' "$folder" "${with_programs[@]}"
expect 's["held"] == ["machine"] and s["exit"] == 1'
program kernels_cuda_device_test 'echo conforms'

program bin/nvidia-smi 'exit 9'
ends_with 3 "no GPU: nvidia-smi found none" "${with_programs[@]}"

# The build: configured in earnest where there is a compiler for it, its targets looked up, and then not built. What it
# would leave are programs with a library of the tree and others of the machine, linked as the build would.
if cuda=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null); then
  real=$(command -v cmake)
  cat > "$folder/bin/cmake" <<SCRIPT
#!/usr/bin/env bash
set -e
[ "\$1" = --build ] || exec "$real" "\$@"
ninja -C "\$2" -n "\${@:4}" > /dev/null
flags=\$(sed -n 's/^CMAKE_EXE_LINKER_FLAGS:[A-Z]*=//p' "\$2/CMakeCache.txt")
[ -z "\$WITH_FOREIGN_LIBRARY" ] || flags=
mkdir -p "\$2/lib" "\$2/tests/of_all"
echo 'int shared() { return 0; }' | c++ -shared -fPIC -x c++ - -o "\$2/lib/libpart.so"
for target in "\${@:4}"; do
  if [ "\$target" = colltune_nccl_tuner ]; then
    cp "\$2/lib/libpart.so" "\$2/lib/libnccl-tuner-colltune.so"
  else
    echo '#include <iostream>
      int shared(); int main() { std::cout << "starts" << std::endl; return shared(); }' |
      eval c++ -x c++ - -L"\$2/lib" -lpart -o "\$2/tests/of_all/\$target" \$flags
  fi
done
SCRIPT
  chmod +x "$folder/bin/cmake"
  unset CUDA_HOME
  rm "$folder/bin/python3"  # what is configured may look for one
  echo "configures with $cuda"
  ends_with 0 "packed into" env CUDAARCHS=90 "$source_check" --pack "$folder/pack.tgz" --build "$folder/build"
  grep -q "compiled for sm 90" "$folder/out" || fail "it was not compiled for what CUDAARCHS says"
  mkdir "$folder/unpacked"
  tar -C "$folder/unpacked" -xzf "$folder/pack.tgz"
  packed=$folder/unpacked/gpu_check
  for file in gpu_check gpu_check_steps.sh gpu.json pack.txt device_objects_check.py kernels_cuda_device_test gpu_bench gpu_sweep \
    libnccl-tuner-colltune.so colltune; do
    [ -s "$packed/$file" ] || fail "the pack holds no $file"
  done
  [[ -e $packed/lib/libpart.so && -e $packed/lib/libstdc++.so.6 ]] || fail "the pack lacks libraries"
  [ ! -e "$packed/lib/libc.so.6" ] || fail "the pack holds the machine's own library"
  # A dry run: everything starts with nothing but what was unpacked, and it ends for want of a GPU alone.
  mv "$folder/build" "$folder/built"
  for file in kernels_cuda_device_test gpu_bench gpu_sweep colltune; do
    ends_with 0 "starts" env -i "$packed/$file"
    ! env -i "$(command -v ldd)" "$packed/$file" | grep -q "not found" || fail "the pack's $file lacks libraries"
  done
  ends_with 3 "no GPU: nvidia-smi is not there" env -i "PATH=$folder/none" bash "$packed/gpu_check"
  mv "$packed/lib/libpart.so" "$folder/"
  ends_with 2 "kernels_cuda_device_test cannot start here: libpart.so => not found" "$packed/gpu_check"
  program bin/nvidia-smi 'echo 9.0'
  for file in kernels_cuda_device_test gpu_bench gpu_sweep colltune colltuned nccl_two_processes; do
    cp "$folder/$file" "$packed/"
  done
  cd "$folder/unpacked"
  ends_with 0 "all is well" gpu_check/gpu_check --results "$folder/results" --nccl "$folder/nccl" --steps nccl,sweep
  expect '"compiled for sm 90" in s["pack"]'
  cd "$folder"
  # Programs that would take a library from the machine that packs them are found out.
  mv "$folder/built" "$folder/build"
  WITH_FOREIGN_LIBRARY=1 ends_with 1 "the pack's .* \(lacks libraries\|takes libraries from outside\)" \
    env CUDAARCHS=90 "$source_check" --pack "$folder/other.tgz" --build "$folder/build"
else
  echo "no nvcc: neither configured nor packed"
fi
echo "gpu_check_test: passed"
