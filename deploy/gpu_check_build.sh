# shellcheck shell=bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by gpu_check: builds its programs and packs them with the libraries that they need. Wants: here, build, pack.

mkdir -p "$build"
build=$(cd "$build" && pwd)

# Nothing of the machine's libraries, and none of the build's places: a library of the pack is found beside its program,
# for the libraries that it needs itself as well (RPATH, not RUNPATH).
configure=(cmake -S "$here/.." -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCOLLTUNE_MPI=OFF -DCOLLTUNE_GRPC=AUTO
  -DCOLLTUNE_CUDA=ON -DCOLLTUNE_SHARED_KERNELS=ON -DCMAKE_SKIP_BUILD_RPATH=ON
  "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags,-rpath,'\$ORIGIN/lib'")

# Leaves in $targets what of the list this tree has.
find_targets() {
  local all target
  all=$(ninja -C "$build" -t targets all | sed -n 's/: phony$//p')
  targets=()
  while read -r target _; do
    ! grep -qx "$target" <<< "$all" || targets+=("$target")
  done < <(list_programs)
}
compile() { cmake --build "$build" --target "${targets[@]}"; }

# Leaves what was built in $programs, with the libraries that it needs.
collect_programs() {
  local target file found
  programs=$build/gpu_check
  rm -rf "$programs"
  mkdir -p "$programs/lib"
  while read -r target file _; do
    [[ " ${targets[*]} " == *" $target "* ]] || continue
    found=$(find "$build" -path "$programs" -prune -o -type f -name "$file" -print | head -1)
    [ -n "$found" ] || fail 1 "the build left no $file"
    cp "$found" "$programs/"
    LD_LIBRARY_PATH=$build/lib ldd "$programs/$file" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }'
  done < <(list_programs) | sort -u | { grep -Ev "$machines_own" || true; } |
    while read -r file; do cp -L "$file" "$programs/lib/"; done
  cp "$here"/../tests/kernels/device_objects{,_check}.py "$programs/"
}

# check_pack FOLDER: every program takes all its libraries from the pack or is to take them from the machine.
check_pack() {
  local file text
  for file in "$1"/*; do
    [[ -x $file && ! -d $file && $(head -c 4 "$file") == $'\x7fELF' ]] || continue
    text=$(env -u LD_LIBRARY_PATH ldd "$file")
    ! grep 'not found' <<< "$text" || fail 1 "the pack's $(basename "$file") lacks libraries"
    ! awk '$2 == "=>" { print $3 }' <<< "$text" | grep -v "^$1/lib/" | grep -Ev "$machines_own" ||
      fail 1 "the pack's $(basename "$file") takes libraries from outside"
  done
  ! find "$1" -name '*.so*' | grep -E "$machines_own" || fail 1 "the pack holds what must be the machine's own"
}

make_pack() {
  local bytes target file left_out=() unpacked
  collect_programs
  strip "$programs"/lib/* 2> /dev/null || true
  while read -r target file _; do
    if [ -f "$programs/$file" ]; then strip "$programs/$file"; else left_out+=("$file"); fi
  done < <(list_programs)
  cp "$here/gpu_check" "$here/gpu_check_steps.sh" "$here/../configs/gpu.json" "$programs/"
  {
    echo "commit $(git -C "$here" describe --always --dirty 2> /dev/null || echo unknown)"
    echo "compiled for sm $(sed -n 's/^CMAKE_CUDA_ARCHITECTURES:[A-Z]*=//p' "$build/CMakeCache.txt")"
    echo "needs $(cat "$programs"/lib/* "$programs"/* 2> /dev/null | grep -aoE 'GLIBC_2\.[0-9]+' | sort -uV | tail -1)"
    [ ${#left_out[@]} -eq 0 ] || echo "without ${left_out[*]}"
  } > "$programs/pack.txt"
  tar -C "$(dirname "$programs")" -czf "$pack" gpu_check
  bytes=$(stat -c %s "$pack")
  unpacked=$(mktemp -d)
  # shellcheck disable=SC2064 # this folder
  trap "rm -rf '$unpacked'" EXIT
  tar -C "$unpacked" -xzf "$pack"
  check_pack "$unpacked/gpu_check"
  [ "$bytes" -le "$most_bytes" ] || fail 1 "the pack has $bytes bytes; at most $most_bytes are allowed"
  sed 's/^/gpu_check: /' "$programs/pack.txt"
  echo "gpu_check: packed into $pack, $bytes bytes"
}
