# shellcheck shell=bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by gpu_check: what some of its steps do, and where NCCL is. Wants: programs, work.

# Paths of the python3 on PATH, one a link, up to the program itself: a virtual environment's is a link to another's. At
# last where it says that it is: it may be a script.
pythons() {
  local file target
  file=$(command -v python3) || return 0
  while :; do
    echo "$file"
    [ -L "$file" ] || break
    target=$(readlink "$file")
    file=$(cd "$(dirname "$file")" && cd "$(dirname "$target")" && pwd)/$(basename "$target")
  done
  timeout 5 python3 -c 'import sys; print(sys.prefix + "/bin/python3")' 2> /dev/null || true
}
# The first libnccl of the machine: the loader's, CUDA's, a Python package's. No package is imported.
find_nccl() {
  local python folder file
  for file in ${LD_LIBRARY_PATH:+${LD_LIBRARY_PATH//:/\/libnccl.so.2 }/libnccl.so.2} \
    "$( (ldconfig -p || /sbin/ldconfig -p) 2> /dev/null | awk '$1 == "libnccl.so.2" { print $NF; exit }')" \
    "${CUDA_HOME:-/usr/local/cuda}"/lib{64,}/libnccl.so.2; do
    [ ! -f "$file" ] || { echo "$file"; return; }
  done
  {
    for folder in "${VIRTUAL_ENV:-}" "${CONDA_PREFIX:-}"; do [ -z "$folder" ] || echo "$folder/bin/python3"; done
    pythons
    [ -z "${HOME:-}" ] || echo "$HOME/.local/bin/python3"
  } > "$work/pythons"
  while read -r python; do
    folder=$(dirname "$(dirname "$python")")
    for file in "$folder"/{lib,lib64,local/lib}/python3*/{site,dist}-packages/{nvidia/nccl/lib,nvidia/cu1?/lib,torch/lib}/libnccl.so.2; do
      [ ! -f "$file" ] || { echo "$file"; return; }
    done
  done < "$work/pythons"
  return 1
}

# Serves the sweep's decisions and asks for each collective and size, of the daemon and of the file. Ends as gpu_bench
# does. Wants the sweep's configuration and ranks.
serve_decisions() {
  local code=0 answers=0 daemon address=unix:$work/socket collective size by_server by_file question key value
  # What was measured in one regime answers for that one alone.
  local regime=()
  for key in calling input; do
    value=$(sed -n "s/.*\"$key\": *\"\([^\"]*\)\".*/\1/p" "$configuration")
    [ -z "$value" ] || regime+=("--$key" "$value")
  done
  wrong() { echo "WRONG: $1"; code=1; }
  "$programs/colltuned" --db "$work/sweep.db" --listen "$address" > "$work/listening" &
  daemon=$!
  # shellcheck disable=SC2064 # this daemon
  trap "kill $daemon 2> /dev/null" EXIT
  until grep -q listening "$work/listening"; do
    kill -0 "$daemon" 2> /dev/null || { echo "WRONG: colltuned does not serve"; return 1; }
    sleep 0.05
  done
  "$programs/colltune" export json --db "$work/sweep.db" -o "$work/decisions.json" "${regime[@]}" \
    || wrong "no export from the file"
  "$programs/colltune" export json --server "$address" -o "$work/exported" "${regime[@]}" \
    || wrong "no export from the daemon"
  cmp "$work/decisions.json" "$work/exported" || wrong "the daemon's export is another one than the file's"
  for collective in $(sed -n 's/.*"collectives": *\[\(.*\)\].*/\1/p' "$configuration" | tr -d '",'); do
    for size in $(sed -n 's/.*"sizes": *"\([^"]*\)".*/\1/p' "$configuration" | tr ',' ' '); do
      question=(lookup "$collective" --bytes "$size" --registered --nodes 1 --ranks-per-node "$ranks"
        --placement shared_device "${regime[@]}" --json)
      by_server=$("$programs/colltune" "${question[@]}" --server "$address") || by_server=
      by_file=$("$programs/colltune" "${question[@]}" --db "$work/sweep.db") || by_file=
      if [ "$by_server" != "$by_file" ]; then
        wrong "$collective $size: the daemon says $by_server, the file $by_file"
      elif [ -n "$by_server" ]; then
        answers=$((answers + 1))
      else
        echo "NOT MEASURED: $collective $size has no decision"
        [ "$code" -ne 0 ] || code=4
      fi
    done
  done
  kill "$daemon"
  wait "$daemon" || wrong "colltuned ended with $?"
  echo "$answers decisions are served as they are stored and exported"
  [ "$answers" -gt 0 ] || [ "$code" -ne 0 ] || { echo "NOT MEASURED: no decision was served"; code=4; }
  return "$code"
}

# profile_kernels SECONDS: what Nsight Compute says of calls of three kernels: share of bandwidth, registers, stalls. Says
# nothing of whether they are right. Each has a third of the time, so that one that hangs leaves the others theirs. Wants:
# ncu.
profile_kernels() {
  local code=0 size only body text=$work/profile_of_one each=$(($1 / 3)) why
  while read -r size only body; do
    echo "== $only, $size"
    # By the body: the empty kernels of the zero line are run_ranks, too.
    timeout --kill-after=2 "$each" "$ncu" --clock-control none --target-processes all --kernel-name-base demangled \
      --kernel-name "regex:$body" --launch-count 2 --metrics dram__bytes_read.sum,dram__bytes_write.sum \
      --section SpeedOfLight --section MemoryWorkloadAnalysis --section LaunchStats \
      --section Occupancy --section WarpStateStats --print-details all \
      "$programs/gpu_bench" --ranks 4 --sizes "$size" --only "$only" --variants 2 --calls 1 > "$text" 2>&1 < /dev/null
    why=$?
    cat "$text"
    if ! grep -q 'Registers Per Thread' "$text"; then
      case $why in
        124 | 137) why="it did not end in $each s" ;;
        *) why=$(grep -m 1 -E '^==(ERROR|WARNING)==' "$text") || why="ncu gave no reason" ;;
      esac
      echo "NOT MEASURED: no profile of $only: $why"
      code=4
    fi
  done << 'KERNELS'
256MiB cuda.all_reduce_two_shot_push AllReduceTwoShot<
256MiB cuda.all_reduce_ring AllReduceRing<
8KiB cuda.all_reduce_one_shot AllReduceOneShot,
KERNELS
  return "$code"
}
