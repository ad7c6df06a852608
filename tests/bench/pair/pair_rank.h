// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "colltune/vocabulary/bytes.h"

/// One of the two processes: it makes NCCL's calls by the product's entries of the catalogue, and
/// tells the process that started it what came of each, as one line of JSON.
namespace colltune {

struct PairRankOptions {
  int rank = 0;
  int arena = -1;   ///< make_process_arena()
  int report = -1;  ///< where the lines go
  double seconds = 120;
  Bytes message{1 << 20};
  std::chrono::milliseconds init_limit{60'000};  ///< NCCL takes seconds to make a communicator
  std::chrono::milliseconds call_limit{10'000};
  std::chrono::milliseconds held_limit{3'000};  ///< of a call that waits for a rank held back
};

/// Returns when all is done, or when the other process is lost; whatever happens is told.
void run_pair_rank(const PairRankOptions& options);

}  // namespace colltune
