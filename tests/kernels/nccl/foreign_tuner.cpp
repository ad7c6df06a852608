// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// A tuner of somebody else's, of which nothing but the symbol is looked at.

extern "C" {
__attribute__((visibility("default"))) extern const int ncclTunerPlugin_v4;  // NOLINT: NCCL's name
const int ncclTunerPlugin_v4 = 1;                                            // NOLINT
}
