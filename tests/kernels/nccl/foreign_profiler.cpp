// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// A profiler of somebody else's, of which nothing but the symbol is looked at.

extern "C" {
__attribute__((visibility("default"))) extern const int ncclProfiler_v2;  // NOLINT: NCCL's name
const int ncclProfiler_v2 = 1;                                            // NOLINT
}
