// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The table file of NCCL's tuner.

#include <cstdlib>
#include <span>

#include "colltune/nccl_tuner/snapshot_file.h"
#include "colltune/nccl_tuner/snapshot_layout.h"
#include "colltune/vocabulary/error.h"
#include "fuzz_target.h"

namespace colltune::fuzz {

std::vector<std::string> seeds() {
  std::vector<std::string> texts;
  for (const int rules : {0, 1, 5}) {
    NcclSnapshot snapshot{.generation = 3, .rules = {}};
    for (int i = 0; i < rules; ++i)
      snapshot.rules.push_back({.function = nccl::Function::all_gather,
                                .ranks = 8 + i,
                                .nodes = 2,
                                .min_message = {1000},
                                .max_message = {2000},
                                .choice = {nccl::Algorithm::ring, nccl::Protocol::ll128, 8},
                                .time_us = 17.5F});
    const std::vector<std::byte> bytes = encode(snapshot);
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return texts;
}

void run(std::string_view input) {
  const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(input.data()),
                                     reinterpret_cast<const std::byte*>(input.data()) + input.size());
  (void)nccl::check_snapshot(bytes);
  try {
    const NcclSnapshot read = decode_nccl_snapshot(bytes);
    if (decode_nccl_snapshot(encode(read)) != read) std::abort();
  } catch (const Error&) {  // what is expected of bad input
  }
}

}  // namespace colltune::fuzz
