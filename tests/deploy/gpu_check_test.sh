#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# deploy/gpu_check with programs that stand for the real ones and an nvidia-smi of its own: what it says of each step.
set -euo pipefail
check=$1
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

ends_with 2 "unknown argument '--now'; allowed are --results" "$check" --now
ends_with 2 "results needs a value" "$check" --results
ends_with 2 "exclude each other" "$check" --programs x --pack y

mkdir "$folder/none" "$folder/bin"
ln -s "$(command -v bash)" "$(command -v dirname)" "$(command -v env)" "$folder/none/"
ends_with 3 "no GPU: nvidia-smi is not there" env "PATH=$folder/none" bash "$check"

program bin/nvidia-smi 'case $1 in --query*) echo 9.0 ;; *) echo "one GPU" ;; esac'
PATH=$folder/bin:$PATH
ends_with 2 "holds no program kernels_cuda_device_test" "$check" --programs "$folder" --results "$folder/results"

program kernels_cuda_device_test 'echo conforms'
program gpu_bench 'echo "a table"; echo "$@"'
program gpu_sweep 'echo "a sweep"; echo "$@"'
ends_with 0 "a table" "$check" --programs "$folder" --results "$folder/results"
python3 - "$folder/results/summary.json" <<'PYTHON'
import json, sys
summary = json.load(open(sys.argv[1]))
status = {step["step"]: step["status"] for step in summary["steps"]}
assert summary["capability"] == "90", summary
assert all(status[step] == "ok" for step in ("machine", "conformance", "speeds", "captured", "sweep")), status
assert "sanitizer" in status, status
PYTHON
grep -q "ranks 4" "$folder/results/speeds.txt" || fail "the table's text was not kept"
grep -q -- "--captured" "$folder/results/captured.txt" || fail "captured calls were not measured as such"
grep -q "config .*gpu.json" "$folder/results/sweep.txt" || fail "the sweep got no configuration"

program kernels_cuda_device_test 'echo "a kernel is wrong"; exit 1'
ends_with 1 "conformance: failed (exit 1" "$check" --programs "$folder" --results "$folder/results"
grep -q '"step": "speeds", "status": "ok"' "$folder/results/summary.json" || fail "a failed step ended the others"

program bin/nvidia-smi 'exit 9'
ends_with 3 "no GPU: nvidia-smi found none" "$check" --programs "$folder" --results "$folder/results"
echo "gpu_check_test: passed"
