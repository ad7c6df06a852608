#!/usr/bin/env bash
# SPDX-FileCopyrightText: The colltune authors
# SPDX-License-Identifier: Apache-2.0
# What a configuration says of a CUDA compiler that is too old: COLLTUNE_CUDA=ON fails for it, AUTO goes on without.
set -euo pipefail
source=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  cat "$folder/out"
  echo "old_cuda_test: $1" >&2
  exit 1
}
cat > "$folder/nvcc" << 'NVCC'
#!/bin/sh
[ "$*" = --version ] && echo "Cuda compilation tools, release 12.4, V12.4.131"
NVCC
chmod +x "$folder/nvcc"
configure() {
  CUDACXX=$folder/nvcc cmake -S "$source" -B "$folder/build" -DCOLLTUNE_TESTS=OFF -DCOLLTUNE_MPI=OFF \
    -DCOLLTUNE_GRPC=OFF -DCOLLTUNE_CUDA="$1" > "$folder/out" 2>&1
}
# says TEXT: in its lines, which CMake breaks.
says() { tr -s '\n ' ' ' < "$folder/out" | grep -qF -- "$1" || fail "it does not say '$1'"; }
! configure ON || fail "a configuration for CUDA came to an end without one"
says "COLLTUNE_CUDA=ON, but CUDA 13 or newer is needed, and $folder/nvcc is of 12.4"
configure AUTO || fail "it does not go on without CUDA"
says "building without CUDA: CUDA 13 or newer is needed, and $folder/nvcc is of 12.4"
echo "old_cuda_test: passed"
