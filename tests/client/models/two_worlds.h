// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "colltune/model/fitted/world_fits.h"
#include "literal_decisions.h"

namespace colltune::testing {

/// What sweeps of 2 and 4 ranks decided, from 1 to 64 KiB: one variant takes a step per rank, the
/// default a step per power of two.
inline std::vector<Decision> decisions_of_two_worlds() {
  constexpr std::uint64_t KiB = 1024;
  std::vector<Decision> decisions;
  for (const int ranks : {2, 4})
    for (std::uint64_t size = KiB; size <= 64 * KiB; size *= 4) {
      const auto ring = static_cast<int>(1000 * (ranks - 1) + size / 8);
      const auto base = static_cast<int>(3000 * ranks / 2 + size);
      Decision made = decision(test_key(size), {ranked("cpu.ring", ring, double(base) / ring),
                                                ranked("mpi.default", base, 1.0)});
      made.key.topology = *with_ranks_per_node(made.key.topology, ranks);
      made.verdict = Verdict::displaced;
      decisions.push_back(std::move(made));
    }
  return decisions;
}

/// The steps of these two.
inline std::optional<StepCount> counts_of(const TuningKey& key, const RankedVariant& variant) {
  const double ranks = key.topology.ranks;
  return StepCount{.steps = variant.is_baseline ? std::log2(ranks) : ranks - 1,
                   .bytes_per_rank = static_cast<double>(key.problem.message_size.value)};
}

}  // namespace colltune::testing
