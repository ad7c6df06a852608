// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// An object with a logger and a version, by which a tuner finds out which NCCL calls it.

extern "C" {
#pragma GCC visibility push(default)

int versioned_nccl_version = 0;

int ncclGetVersion(int* version) {
  *version = versioned_nccl_version;
  return 0;
}
void versioned_nccl_log(int /*level*/, unsigned long /*flags*/, const char* /*file*/, int /*line*/,
                        const char* /*format*/, ...) {}

#pragma GCC visibility pop
}
